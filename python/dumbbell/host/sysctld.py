"""Which files set sysctls at boot, and in which order: the last one wins.

Sources: sysctl.d(5) of systemd (folders, masking, order by file name, globs), sysctl(8) of procps (`--system`, which
reads /etc/sysctl.conf last).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dumbbell.host.sources import LocalHost, Reading

__all__ = ["Assignment", "assignments", "later", "parsed"]

FOLDERS = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d")
"""An earlier folder's file hides a later one's of the same name."""
OLD_FILE = "etc/sysctl.conf"
"""Read last by procps; read by systemd only through a link in sysctl.d."""
MOST_LINKS = 16


@dataclass(frozen=True)
class Assignment:
    """A line that sets a key, with its file and line number."""

    file: str
    line: int
    key: str
    value: str

    def sets(self, key: str) -> bool:
        """Whether it sets this key, by name or glob."""
        return self.key == key or fnmatchcase(key, self.key)


def assignments(host: LocalHost) -> Iterator[Assignment]:
    """All assignments at boot, in the order in which they are read."""
    chosen: dict[str, str] = {}
    for folder in FOLDERS:
        try:
            names = sorted(entry.name for entry in host.path(folder).iterdir())
        except OSError:
            continue
        for name in names:
            if name.endswith(".conf"):
                chosen.setdefault(name, f"/{folder}/{name}")
    for name in sorted(chosen):
        yield from parsed(_followed(host, chosen[name]), chosen[name])
    yield from parsed(_followed(host, f"/{OLD_FILE}"), f"/{OLD_FILE}")


def later(host: LocalHost, file: str, key: str) -> list[Assignment]:
    """Assignments of other files to a key that are read after `file`, and so override it."""
    name = Path(file).name
    return [
        line
        for line in assignments(host)
        if line.sets(key) and line.file != file and (line.file == f"/{OLD_FILE}" or Path(line.file).name > name)
    ]


def parsed(read: Reading, file: str) -> Iterator[Assignment]:
    """The assignments of a file, without comments, empty lines and exclusions."""
    for number, line in enumerate((read.text or "").splitlines(), start=1):
        text = line.strip()
        if not text or text[0] in "#;" or "=" not in text:
            continue
        key, value = (part.strip() for part in text.split("=", 1))
        yield Assignment(file, number, _dotted(key.removeprefix("-").strip()), value)


def _dotted(key: str) -> str:
    """A key with dots: if a slash comes first, slashes are separators, and dots represent slashes (sysctl.d(5))."""
    slash, dot = key.find("/"), key.find(".")
    if slash == -1 or -1 < dot < slash:
        return key
    return key.translate(str.maketrans("/.", "./"))


def _followed(host: LocalHost, name: str) -> Reading:
    """A file's text; links are resolved as on the host itself: absolute ones start at its root."""
    at = host.path(name)
    for _ in range(MOST_LINKS):
        if not at.is_symlink():
            break
        target = at.readlink()
        if target == Path("/dev/null"):
            return Reading(name, None, "masked")
        at = host.path(str(target)) if target.is_absolute() else at.parent / target
    try:
        return Reading(name, at.read_bytes().decode(errors="replace"))
    except OSError as error:
        return Reading(name, None, str(error.strerror))
