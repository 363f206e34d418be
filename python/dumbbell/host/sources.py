"""Read a host's files and the output of its commands; a failure has its reason. Findings refer to them.

`LocalHost()` is this host. `LocalHost(root=DIR)` is a folder with a host's file system (an image, a recording, a test):
its files are read below DIR, and the running kernel isn't queried.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "GROUPS",
    "HERE",
    "ROUTES",
    "Finding",
    "LocalHost",
    "Mark",
    "Reading",
    "as_json",
    "number",
    "rows",
    "sysctl_path",
    "unknown",
    "word",
]


HERE = Path("/")
COMMAND_LIMIT_S = 10
MOST_BYTES = 64 * 2**20
"""Size limit of a file, since a root may be untrusted; the largest file that we read is /proc/kallsyms (15 MB)."""
PIECE_BYTES = 2**16

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Reading:
    """The content of a file or the output of a command, or the reason why there is none."""

    source: str
    text: str | None = None
    why: str = ""

    def fields(self) -> list[str]:
        """The text split at white space."""
        return (self.text or "").split()

    def first(self) -> str | None:
        """The text without surrounding white space."""
        return None if self.text is None else self.text.strip()


@dataclass(frozen=True)
class LocalHost:
    """A host to read: this one, or a folder with a host's file system.

    `commands` has recorded output by command line; such commands are not run.
    """

    root: Path = HERE
    commands: Mapping[str, str] = field(default_factory=dict)
    cached: dict[str, Reading] | None = None
    """Cache of command output; None: commands run on every request."""

    @property
    def live(self) -> bool:
        """Whether this is the running host."""
        return self.root == HERE

    def path(self, name: str) -> Path:
        """The path of a file of the host, below the root."""
        return self.root / name.lstrip("/")

    def data(self, name: str) -> bytes:
        """A file's bytes, up to `MOST_BYTES`.

        Raises OSError.
        """
        with self.path(name).open("rb", buffering=0) as file:
            # In small pieces: files in /proc/sys allocate the requested size in the kernel, or fail.
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
        """The value of a sysctl; its source is the key."""
        read = self.file(str(sysctl_path(key)))
        return Reading(key, None if read.text is None else " ".join(read.text.split()), read.why)

    def at_one_time(self) -> "LocalHost":
        """The same host with command output cached, so that findings are consistent."""
        return replace(self, cached={})

    def command(self, *fields: str) -> Reading:
        """The output of a command; a folder runs none."""
        command_line = " ".join(fields)
        if self.cached is None:
            return self._output(fields, command_line)
        if command_line not in self.cached:
            self.cached[command_line] = self._output(fields, command_line)
        return self.cached[command_line]

    def _output(self, fields: Sequence[str], command_line: str) -> Reading:
        if (recorded := self.commands.get(command_line)) is not None:
            return Reading(command_line, recorded)
        if not self.live:
            return Reading(command_line, None, "not run: --root names a folder, not the running host")
        return _run_command(fields, command_line)


def sysctl_path(key: str) -> Path:
    """The file of a sysctl in /proc/sys."""
    return Path("/proc/sys", *key.split("."))


def _run_command(fields: Sequence[str], command_line: str) -> Reading:
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:{_PATH}", "LC_ALL": "C"}
    try:
        ran = subprocess.run(
            fields, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except FileNotFoundError:
        return Reading(command_line, None, f"'{fields[0]}' is not installed")
    except subprocess.TimeoutExpired:
        return Reading(command_line, None, f"'{fields[0]}' did not finish within {COMMAND_LIMIT_S} s")
    except OSError as error:
        return Reading(command_line, None, _why(error))
    if ran.returncode != 0:
        errors = ran.stderr.decode(errors="replace").strip().splitlines()
        return Reading(command_line, None, errors[0] if errors else f"exit status {ran.returncode}")
    return Reading(command_line, ran.stdout.decode(errors="replace"))


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


ROUTES = ("ip", "-j", "route", "show", "table", "all")

Row = dict[str, Any]


def rows(read: Reading) -> tuple[list[Row], str]:
    """The rows, and the reason if there are none because the output isn't a JSON list."""
    if read.text is None:
        return [], read.why
    if not read.text.strip():
        return [], ""
    try:
        value = json.loads(read.text)
    except (ValueError, RecursionError):
        return [], f"'{read.source}' printed no JSON"
    if not isinstance(value, list):
        return [], f"'{read.source}' printed no list"
    return [row for row in value if isinstance(row, dict)], ""


def word(row: Row, key: str) -> str:
    """A string of a row, empty if missing."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def number(row: Row, key: str) -> int | None:
    """An integer of a row."""
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


Mark = Literal["ok", "warning", "problem", "unknown"]
MARKS: tuple[Mark, ...] = ("problem", "warning", "unknown", "ok")

GROUPS = ("kernel", "controller", "queues", "buffers", "protocol", "connections")
"""In the order of output."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    `value` is for programs, `shown` for the terminal; `meaning` is a sentence; `change` are commands.
    """

    key: str
    group: str
    title: str
    mark: Mark
    value: Any
    shown: str
    source: str
    meaning: str
    change: tuple[str, ...] = ()


def unknown(key: str, group: str, title: str, source: str, why: str) -> Finding:
    """A finding for a value that can't be determined, with the reason."""
    return Finding(key, group, title, "unknown", None, "unknown", source, why[:1].upper() + why[1:])


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings, and the count of each mark."""
    marks = Counter(finding.mark for finding in findings)
    return {
        "marks": {mark: marks[mark] for mark in MARKS},
        "findings": [asdict(finding) | {"change": list(finding.change)} for finding in findings],
    }
