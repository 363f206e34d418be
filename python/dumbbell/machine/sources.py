"""Where readings come from: files below a root, and a few commands; what can't be read says why.

`Machine()` is this machine. `Machine(root=DIR)` is a folder laid out like one (an image, a recording, a test): its
files are read below DIR, and nothing is asked of the kernel that runs. What texts mean, the other modules here tell.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

__all__ = ["HERE", "Machine", "Reading", "sysctl_path"]

HERE = Path("/")
COMMAND_LIMIT_S = 10
MOST_BYTES = 64 * 2**20
"""Of one file: a root is anybody's folder, and /proc/kallsyms is the largest that is read (15 MB)."""
PIECE_BYTES = 2**16

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Reading:
    """What one file or command said, or why it said nothing."""

    source: str
    text: str | None = None
    why: str = ""

    def words(self) -> list[str]:
        """Its words; none where it said nothing."""
        return (self.text or "").split()

    def first(self) -> str | None:
        """Its text without the last line's end."""
        return None if self.text is None else self.text.strip()


@dataclass(frozen=True)
class Machine:
    """A machine to read: this one, or a folder that is laid out like one.

    `commands` are recorded answers, by the words of a command joined with spaces; a command that has one is not run.
    """

    root: Path = HERE
    commands: Mapping[str, str] = field(default_factory=dict)
    heard: dict[str, Reading] | None = None
    """What commands said so far, where each is to be run once; else each is run whenever it is asked for."""

    @property
    def live(self) -> bool:
        """Whether it is the machine that this runs on."""
        return self.root == HERE

    def path(self, name: str) -> Path:
        """Where a file of the machine is for us."""
        return self.root / name.lstrip("/")

    def data(self, name: str) -> bytes:
        """A file's bytes, up to `MOST_BYTES`.

        Raises OSError.
        """
        with self.path(name).open("rb", buffering=0) as file:
            # In small pieces: a file of /proc/sys makes room for all that is asked for, or says that it can't.
            read = bytearray()
            while len(read) < MOST_BYTES and (piece := file.read(PIECE_BYTES)):
                read += piece
            return bytes(read)

    def file(self, name: str) -> Reading:
        """A file's text."""
        try:
            data = self.data(name)
        except OSError as error:
            return Reading(name, None, _why(error))
        return Reading(name, data.decode(errors="replace"))

    def sysctl(self, key: str) -> Reading:
        """The value of a setting of the kernel; its source is the key."""
        read = self.file(str(sysctl_path(key)))
        return Reading(key, None if read.text is None else " ".join(read.text.split()), read.why)

    def at_one_time(self) -> "Machine":
        """The same, with each command run once: readings of one look agree with each other."""
        return replace(self, heard={})

    def command(self, *words: str) -> Reading:
        """What a command prints; none is run for a folder."""
        typed = " ".join(words)
        if self.heard is None:
            return self._said(words, typed)
        if typed not in self.heard:
            self.heard[typed] = self._said(words, typed)
        return self.heard[typed]

    def _said(self, words: Sequence[str], typed: str) -> Reading:
        if (recorded := self.commands.get(typed)) is not None:
            return Reading(typed, recorded)
        if not self.live:
            return Reading(typed, None, "not asked: this is a folder, not the machine that runs")
        return _ran(words, typed)


def sysctl_path(key: str) -> Path:
    """The file of a setting below /proc/sys."""
    return Path("/proc/sys", *key.split("."))


def _ran(words: Sequence[str], typed: str) -> Reading:
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:{_PATH}", "LC_ALL": "C"}
    try:
        ran = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except FileNotFoundError:
        return Reading(typed, None, f"'{words[0]}' is not on this machine")
    except subprocess.TimeoutExpired:
        return Reading(typed, None, f"'{words[0]}' said nothing for {COMMAND_LIMIT_S} s")
    except OSError as error:
        return Reading(typed, None, _why(error))
    if ran.returncode != 0:
        told = ran.stderr.decode(errors="replace").strip().splitlines()
        return Reading(typed, None, told[0] if told else f"it ended with status {ran.returncode}")
    return Reading(typed, ran.stdout.decode(errors="replace"))


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
