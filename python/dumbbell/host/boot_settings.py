"""Sysctls and modules set at boot: which file wins, and the two files that `enable` writes.

Sources: sysctl.d(5) of systemd (folders, masking, order by file name, globs), sysctl(8) of procps (`--system`, which
reads /etc/sysctl.conf last).

The drop-in records the previous settings as comments, so that one rename installs the setting and the data to undo it.
A checksum over all other lines detects edits. `switch` writes the files.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from dumbbell.host.sources import LocalHost, Reading

__all__ = [
    "ALLOWED",
    "BUFFERS_FILE",
    "CONTROLLER",
    "CONTROLLER_FILE",
    "DROPIN",
    "MODULES",
    "QDISC",
    "Assignment",
    "DropIn",
    "EditedFileError",
    "Record",
    "assignments",
    "composed",
    "in_force",
    "is_modules_text",
    "later",
    "modules_text",
    "parsed",
    "read",
]


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
        return self.names(key) or fnmatchcase(key, self.key)

    def names(self, key: str) -> bool:
        """Whether it sets this key by name, which overrides globs wherever they are (sysctl.d(5))."""
        return self.key == key


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


def in_force(host: LocalHost, key: str) -> Assignment | None:
    """The assignment of a key that wins at boot: the last one by name, else the last glob; None without any."""
    lines = [line for line in assignments(host) if line.sets(key)]
    return next(iter(reversed([line for line in lines if line.names(key)] or lines)), None)


def later(host: LocalHost, file: str, key: str) -> list[Assignment]:
    """Assignments of other files to a key by name that are read after `file`, and so override it."""
    name = Path(file).name
    return [
        line
        for line in assignments(host)
        if line.names(key) and line.file != file and (line.file == f"/{OLD_FILE}" or Path(line.file).name > name)
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


CONTROLLER = "net.ipv4.tcp_congestion_control"
ALLOWED = "net.ipv4.tcp_allowed_congestion_control"
QDISC = "net.core.default_qdisc"
KEYS = (CONTROLLER, ALLOWED, QDISC)

DROPIN = "/etc/sysctl.d/90-dumbbell.conf"
MODULES = "/etc/modules-load.d/dumbbell.conf"


@dataclass(frozen=True)
class DropIn:
    """A kind of file that sets sysctls at boot and records what they were."""

    path: str
    command: str
    """The command that writes it; `dumbbell disable` undoes each."""
    what: str
    required: str = ""
    """A key that each such file sets."""

    @property
    def header(self) -> str:
        """Its first line."""
        undo = f"'dumbbell disable' restores the previous {self.what} and removes this file."
        return f"# Written by '{self.command}'. {undo}"


CONTROLLER_FILE = DropIn(DROPIN, "dumbbell enable", "settings", CONTROLLER)
BUFFERS_FILE = DropIn("/etc/sysctl.d/91-dumbbell-buffers.conf", "dumbbell enable buffers", "sizes")
"""After the other, whose record stays as it is."""
_UNKNOWN = "unknown"
_BEFORE = re.compile(r"# before: (?P<key>[a-z0-9_.]+) = (?P<value>\S.*)")
_LISTS = {
    "earlier": re.compile(r"# earlier: (?P<name>[a-z0-9_.]+ = [A-Za-z0-9_]+)"),
    "allowed": re.compile(r"# before: (?P<name>[A-Za-z0-9_]+) was not allowed"),
    "loaded": re.compile(r"# before: module (?P<name>tcp_[A-Za-z0-9_]+) was not loaded"),
    "folders": re.compile(r"# before: no folder (?P<name>/etc(?:/(?:sysctl|modules-load)\.d)?)"),
}
_CHECKSUM = re.compile(r"# checksum: (?P<digest>[0-9a-f]{64})")
_SETTING = re.compile(r"(?P<key>[a-z0-9_.]+) = (?P<value>[A-Za-z0-9_][A-Za-z0-9_ ]*)")
_MODULES = re.compile(r"# Written by 'dumbbell enable'\.[^\n]*\ntcp_[A-Za-z0-9_]+\n")


class EditedFileError(ValueError):
    """A file that `enable` didn't write, or that was edited since; the message has the reason."""


@dataclass(frozen=True)
class Record:
    """The settings of a drop-in, and the previous values; None if unknown (with --root)."""

    sets: dict[str, str]
    before: dict[str, str | None] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    """`key = value` set by an earlier `enable`: if such a value is in force, it is ours."""
    allowed: tuple[str, ...] = ()
    """Congestion controls that users were not allowed to choose: making one the default allows it (tcp_cong.c)."""
    loaded: tuple[str, ...] = ()
    """Modules that were not loaded."""
    folders: tuple[str, ...] = ()
    """Folders that didn't exist."""


def composed(record: Record, file: DropIn = CONTROLLER_FILE) -> str:
    """The drop-in's text."""
    lines = [file.header]
    lines += [f"# before: {key} = {record.before[key] or _UNKNOWN}" for key in _ordered(record.before)]
    lines += [f"# earlier: {setting}" for setting in record.earlier]
    lines += [f"# before: {name} was not allowed" for name in record.allowed]
    lines += [f"# before: module {name} was not loaded" for name in record.loaded]
    lines += [f"# before: no folder {name}" for name in record.folders]
    lines += [f"{key} = {record.sets[key]}" for key in _ordered(record.sets)]
    body = "\n".join(lines)
    return f"{body}\n# checksum: {_digest(body)}\n"


def _ordered(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (KEYS.index(key) if key in KEYS else len(KEYS), key))


def read(text: str, file: DropIn = CONTROLLER_FILE) -> Record:
    """The record in a drop-in's text.

    Raises EditedFileError if it differs from what `composed` writes.
    """
    lines = text.splitlines()
    if not lines or lines[0] != file.header:
        raise EditedFileError(f"it was not written by '{file.command}'")
    found = _CHECKSUM.fullmatch(lines[-1])
    if found is None or found["digest"] != _digest("\n".join(lines[:-1])):
        raise EditedFileError(f"it was edited since '{file.command}' wrote it")
    sets: dict[str, str] = {}
    before: dict[str, str | None] = {}
    lists: dict[str, list[str]] = {name: [] for name in _LISTS}
    for line in lines[1:-1]:
        if match := _BEFORE.fullmatch(line):
            before[match["key"]] = None if match["value"] == _UNKNOWN else match["value"]
        elif match := _SETTING.fullmatch(line):
            sets[match["key"]] = match["value"]
        else:
            _add_to_list(lists, line, file)
    record = Record(sets, before, **{name: tuple(items) for name, items in lists.items()})
    # A checksum is no signature: an editor may have recomputed it.
    if composed(record, file) != text or (file.required and file.required not in sets):
        raise EditedFileError(f"it differs from what '{file.command}' writes")
    return record


def _add_to_list(lists: dict[str, list[str]], line: str, file: DropIn) -> None:
    for name, pattern in _LISTS.items():
        if match := pattern.fullmatch(line):
            lists[name].append(match["name"])
            return
    raise EditedFileError(f"it has a line that '{file.command}' never writes: {line[:60]!r}")


def modules_text(module: str) -> str:
    """The text of the file that loads a module at boot."""
    return f"# Written by 'dumbbell enable'. 'dumbbell disable' removes this file.\n{module}\n"


def is_modules_text(text: str) -> bool:
    """Whether a modules-load.d file was written by `modules_text`, for any module."""
    return _MODULES.fullmatch(text) is not None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
