"""The text of the two files that `enable` writes: a sysctl.d drop-in and a modules-load.d file.

The drop-in records the previous settings as comments, so that one rename installs the setting and the data to undo it.
A checksum over all other lines detects edits. `switch` writes the files.
"""

import hashlib
import re
from dataclasses import dataclass, field

__all__ = [
    "ALLOWED",
    "CONTROLLER",
    "DROPIN",
    "MODULES",
    "QDISC",
    "EditedFileError",
    "Record",
    "composed",
    "is_modules_text",
    "modules_text",
    "read",
]

CONTROLLER = "net.ipv4.tcp_congestion_control"
ALLOWED = "net.ipv4.tcp_allowed_congestion_control"
QDISC = "net.core.default_qdisc"
KEYS = (CONTROLLER, ALLOWED, QDISC)

DROPIN = "/etc/sysctl.d/90-dumbbell.conf"
MODULES = "/etc/modules-load.d/dumbbell.conf"

_HEADER = "# Written by 'dumbbell enable'. 'dumbbell disable' restores the previous settings and removes this file."
_UNKNOWN = "unknown"
_BEFORE = re.compile(r"# before: (?P<key>[a-z0-9_.]+) = (?P<value>\S.*)")
_LISTS = {
    "earlier": re.compile(r"# earlier: (?P<name>[a-z0-9_.]+ = [A-Za-z0-9_]+)"),
    "allowed": re.compile(r"# before: (?P<name>[A-Za-z0-9_]+) was not allowed"),
    "loaded": re.compile(r"# before: module (?P<name>tcp_[A-Za-z0-9_]+) was not loaded"),
    "folders": re.compile(r"# before: no folder (?P<name>/etc(?:/(?:sysctl|modules-load)\.d)?)"),
}
_CHECKSUM = re.compile(r"# checksum: (?P<digest>[0-9a-f]{64})")
_SETTING = re.compile(r"(?P<key>[a-z0-9_.]+) = (?P<value>[A-Za-z0-9_]+)")
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


def composed(record: Record) -> str:
    """The drop-in's text."""
    lines = [_HEADER]
    lines += [f"# before: {key} = {record.before[key] or _UNKNOWN}" for key in KEYS if key in record.before]
    lines += [f"# earlier: {setting}" for setting in record.earlier]
    lines += [f"# before: {name} was not allowed" for name in record.allowed]
    lines += [f"# before: module {name} was not loaded" for name in record.loaded]
    lines += [f"# before: no folder {name}" for name in record.folders]
    lines += [f"{key} = {record.sets[key]}" for key in KEYS if key in record.sets]
    body = "\n".join(lines)
    return f"{body}\n# checksum: {_digest(body)}\n"


def read(text: str) -> Record:
    """The record in a drop-in's text.

    Raises EditedFileError if it differs from what `composed` writes.
    """
    lines = text.splitlines()
    if not lines or lines[0] != _HEADER:
        raise EditedFileError("it was not written by 'dumbbell enable'")
    found = _CHECKSUM.fullmatch(lines[-1])
    if found is None or found["digest"] != _digest("\n".join(lines[:-1])):
        raise EditedFileError("it was edited since 'dumbbell enable' wrote it")
    sets: dict[str, str] = {}
    before: dict[str, str | None] = {}
    lists: dict[str, list[str]] = {name: [] for name in _LISTS}
    for line in lines[1:-1]:
        if match := _BEFORE.fullmatch(line):
            before[match["key"]] = None if match["value"] == _UNKNOWN else match["value"]
        elif match := _SETTING.fullmatch(line):
            sets[match["key"]] = match["value"]
        else:
            _add_to_list(lists, line)
    record = Record(sets, before, **{name: tuple(items) for name, items in lists.items()})
    # A checksum is no signature: an editor may have recomputed it.
    if composed(record) != text or CONTROLLER not in sets:
        raise EditedFileError("it differs from what 'dumbbell enable' writes")
    return record


def _add_to_list(lists: dict[str, list[str]], line: str) -> None:
    for name, pattern in _LISTS.items():
        if match := pattern.fullmatch(line):
            lists[name].append(match["name"])
            return
    raise EditedFileError(f"it has a line that 'dumbbell enable' never writes: {line[:60]!r}")


def modules_text(module: str) -> str:
    """The text of the file that loads a module at boot."""
    return f"# Written by 'dumbbell enable'. 'dumbbell disable' removes this file.\n{module}\n"


def is_modules_text(text: str) -> bool:
    """Whether a modules-load.d file was written by `modules_text`, for any module."""
    return _MODULES.fullmatch(text) is not None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
