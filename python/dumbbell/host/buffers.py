"""`enable buffers`: socket buffers that a path needs, now and after each boot, and their way back.

The sizes are those that `doctor --rate --rtt` names. A drop-in of its own records the previous values; a checksum over
the other lines detects edits. Buffers only grow: a value that is enough stays.
"""

import hashlib
import re

from dumbbell.errors import LocalHostError
from dumbbell.host.sources import LocalHost
from dumbbell.host.steps import Remove, Set, Step, Write
from dumbbell.host.switch import Change, initial_namespace, permitted
from dumbbell.host.tcp_settings import Path, buffers

__all__ = ["DROPIN", "disabling_buffers", "enabling_buffers"]

DROPIN = "/etc/sysctl.d/91-dumbbell-buffers.conf"
"""After `DROPIN` of boot_settings, whose record stays as it is."""
_HEADER = (
    "# Written by 'dumbbell enable buffers'. 'dumbbell disable' restores the previous sizes and removes this file."
)
_CHANGE = re.compile(r"sudo sysctl -w (?P<key>[a-z0-9_.]+)='?(?P<value>[0-9 ]+)'?")
_BEFORE = re.compile(r"# before: (?P<key>[a-z0-9_.]+) = (?P<value>[0-9 ]+|unknown)")
_SETTING = re.compile(r"(?P<key>[a-z0-9_.]+) = (?P<value>[0-9 ]+)")
_CHECKSUM = re.compile(r"# checksum: (?P<digest>[0-9a-f]{64})")
UNDO = "dumbbell disable"


def enabling_buffers(host: LocalHost, path: Path) -> Change:
    """The change that lets one connection fill the path.

    Raises `LocalHostError` if our file was edited, if a size can't be read, or without permission.
    """
    if path.bdp_bytes is None:
        raise LocalHostError("enable buffers needs the path: add --rate and --rtt, such as --rate 1gbit --rtt 80ms")
    findings = list(buffers(host, path))
    unknown = [finding for finding in findings if finding.mark == "unknown"]
    if unknown and host.live:
        raise LocalHostError(f"{unknown[0].source}: {unknown[0].meaning}; nothing was changed")
    wanted = {
        found["key"]: found["value"]
        for finding in findings
        for command in finding.change
        if (found := _CHANGE.fullmatch(command))
    }
    sets, before = _recorded(host)
    sets |= wanted
    if not wanted:
        return Change((), ("the buffers are enough for this path",), undo=UNDO)
    if host.live and not initial_namespace(host):
        own = {key: value for key, value in wanted.items() if host.sysctl(key).text is not None}
        undo = "; ".join(f"sysctl -w {key}='{_plain(host, key)}'" for key in own)
        note = "this is a separate network namespace (a container?): the sizes apply only here, and no file is written"
        return permitted(host, Change(tuple(Set(key, value) for key, value in own.items()), (note,), undo=undo))
    before = {key: _plain(host, key) if host.live else None for key in sets} | before
    steps: list[Step] = [Write(DROPIN, _composed(sets, before))]
    steps += [Set(key, value) for key, value in wanted.items() if host.live]
    return permitted(host, Change(tuple(steps), undo=UNDO))


def disabling_buffers(host: LocalHost, *, force: bool = False) -> Change | None:
    """The change that undoes `enabling_buffers`; None if nothing was enabled.

    Sizes that somebody changed since stay. `force` also removes an edited file, and keeps a copy.
    """
    text = host.file(DROPIN).text
    if text is None:
        return None
    try:
        sets, before = _read(text)
    except ValueError as error:
        if not force:
            raise LocalHostError(
                f"{DROPIN}: {error}, so nothing was changed; remove the file yourself, or with dumbbell disable --force"
            ) from error
        return permitted(host, Change((Write(f"{DROPIN}.edited", text), Remove(DROPIN)), strict=False))
    steps: list[Step] = []
    notes = []
    for key, value in sets.items() if host.live else ():
        now, old = _plain(host, key), before.get(key)
        if old is None:
            notes.append(f"{key} stays {now} until the next boot: the previous value was not recorded (--root)")
        elif now == value:
            steps.append(Set(key, old))
        elif now != old:
            notes.append(f"{key} is {now}, changed since, and was not restored; the previous value was {old}")
    return permitted(host, Change((*steps, Remove(DROPIN)), tuple(notes), strict=False))


def _recorded(host: LocalHost) -> tuple[dict[str, str], dict[str, str | None]]:
    text = host.file(DROPIN).text
    if text is None:
        return {}, {}
    try:
        return _read(text)
    except ValueError as error:
        raise LocalHostError(
            f"{DROPIN}: {error}, so it is not overwritten; move it away, or run: dumbbell disable --force"
        ) from error


def _composed(sets: dict[str, str], before: dict[str, str | None]) -> str:
    lines = [_HEADER]
    lines += [f"# before: {key} = {before[key] or 'unknown'}" for key in sorted(before)]
    lines += [f"{key} = {sets[key]}" for key in sorted(sets)]
    body = "\n".join(lines)
    return f"{body}\n# checksum: {hashlib.sha256(body.encode()).hexdigest()}\n"


def _read(text: str) -> tuple[dict[str, str], dict[str, str | None]]:
    """The settings and the previous values. Raises `ValueError` with the reason for another text."""
    lines = text.splitlines()
    if not lines or lines[0] != _HEADER:
        raise ValueError("it was not written by 'dumbbell enable buffers'")
    sets: dict[str, str] = {}
    before: dict[str, str | None] = {}
    for line in lines[1:-1]:
        if found := _BEFORE.fullmatch(line):
            before[found["key"]] = None if found["value"] == "unknown" else found["value"]
        elif found := _SETTING.fullmatch(line):
            sets[found["key"]] = found["value"]
    if _CHECKSUM.fullmatch(lines[-1]) is None or _composed(sets, before) != text:
        raise ValueError("it was edited since 'dumbbell enable buffers' wrote it")
    return sets, before


def _plain(host: LocalHost, key: str) -> str:
    """The value with single spaces between its numbers, as a file has it."""
    return " ".join(host.sysctl(key).fields())
