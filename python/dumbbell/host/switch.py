"""`enable` and `disable`: steps that change the default congestion control or socket buffers, performed and undone.

The drop-in, which records the previous settings, is written first and removed last, so that an interrupted change can
be undone. `steps` performs the steps, `boot_settings` has the file texts and finds other files that set the same keys.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from dumbbell.errors import LocalHostError
from dumbbell.host import boot_settings, kernel_modules
from dumbbell.host.boot_settings import (
    ALLOWED,
    BUFFERS_FILE,
    CONTROLLER,
    CONTROLLER_FILE,
    DROPIN,
    MODULES,
    QDISC,
    DropIn,
    Record,
)  # fmt: skip
from dumbbell.host.sources import LocalHost
from dumbbell.host.steps import Load, Remove, RemoveFolder, Route, Set, Step, Unload, Write, obstacle, perform
from dumbbell.host.tcp_settings import Path, buffers

__all__ = [
    "Change", "Done", "apply", "check_present", "disabling", "disabling_buffers", "enabling", "enabling_buffers",
    "initial_namespace",
]  # fmt: skip

_NAME = re.compile(r"[A-Za-z0-9_]{1,15}")
_SIZE = re.compile(r"sudo sysctl -w (?P<key>[a-z0-9_.]+)='?(?P<value>[0-9 ]+)'?")

NAMESPACE_NOTE = (
    "this is a separate network namespace (a container?): the setting applies only here and until it ends, and no "
    "file is written"
)


@dataclass(frozen=True)
class Change:
    """Steps in order, and notes for the user; `controller` is verified to be the default after the steps."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    controller: str | None = None
    strict: bool = True
    """Whether to undo the change if a new connection gets another congestion control; never when disabling."""
    undo: str = "dumbbell disable"
    """The command that undoes it."""


@dataclass(frozen=True)
class Done:
    """The change, notes for the user, and what a new connection got."""

    change: Change
    notes: tuple[str, ...]
    opened: kernel_modules.Opened | None = None


def enabling(host: LocalHost, name: str, qdisc: str | None = None, *, running: bool = True) -> Change:
    """The change that makes `name` the default of new connections, now (if `running`) and at each boot.

    In a separate network namespace only the setting: files in /etc are those of the host's initial namespace.
    Raises LocalHostError if the kernel lacks it, if our file was edited, or without permission.
    """
    for word in filter(None, (name, qdisc)):
        if not _NAME.fullmatch(word):
            raise LocalHostError(
                f"invalid name of a congestion control or qdisc, got {word!r}; use a name like bbr or fq"
            )
    presence = _presence(host, name, running=running)
    initial = initial_namespace(host) if running else True
    allowed = host.sysctl(ALLOWED).fields() if running else []
    if not initial:
        _refuse_in_namespace(name, qdisc, allowed)
        undo = f"sysctl -w {CONTROLLER}={host.sysctl(CONTROLLER).first()}"
        return _permitted(host, Change((Set(CONTROLLER, name),), (NAMESPACE_NOTE,), name, undo=undo))
    queue_notes = _queue_notes(host, qdisc) if running and qdisc else []
    old = _record(host, CONTROLLER_FILE) or Record({})
    sets = old.sets | {CONTROLLER: name} | ({QDISC: qdisc} if qdisc else {})
    before = {key: host.sysctl(key).first() if running else None for key in sets} | old.before
    module = f"tcp_{name}"
    new = Record(
        sets,
        before,
        _earlier(old, sets),
        allowed=_with(old.allowed, name, running and name not in allowed),
        loaded=_with(old.loaded, module, running and presence.kind == "loadable"),
        folders=old.folders or _missing(host, presence),
    )
    is_module = presence.kind in ("loaded", "loadable")
    steps: list[Step] = [
        Write(DROPIN, boot_settings.composed(new)),
        *_module_steps(host, module if is_module else None),
    ]
    if running:
        steps += [Load(module)] if presence.kind == "loadable" else []
        steps += [Set(key, sets[key]) for key in (QDISC, CONTROLLER) if key in sets]
    notes = [*_notes(host, sets), *queue_notes, *_scope_notes(presence, running=running)]
    return _permitted(host, Change(tuple(steps), tuple(notes), name if running else None))


def disabling(host: LocalHost, *, running: bool = True, force: bool = False) -> Change:
    """The change that undoes `enabling`: restores the previous values and removes our files.

    `force` also removes an edited drop-in, keeping a copy under a name that sysctl ignores.
    Raises LocalHostError if nothing was enabled, if a file was edited, or without permission.
    """
    if running and not initial_namespace(host):
        raise LocalHostError(
            f"this is a separate network namespace (a container?), where 'dumbbell enable' writes no file; {DROPIN} "
            f"would have the previous settings of the host's initial namespace. Set this one's default by: sysctl -w "
            f"{CONTROLLER}=NAME"
        )
    if host.file(DROPIN).text is None:
        raise LocalHostError(f"nothing to undo: {DROPIN} doesn't exist; 'dumbbell enable' writes it")
    return _undone(host, CONTROLLER_FILE, running=running, force=force, module=_module_steps(host, None))


def enabling_buffers(host: LocalHost, path: Path) -> Change:
    """The change that lets one connection fill the path: the sizes that `doctor --rate --rtt` names.

    Buffers only grow: a value that is enough stays. A drop-in of its own records the previous values.
    Raises LocalHostError if our file was edited, if a size can't be read, or without permission.
    """
    if path.bdp_bytes is None:
        raise LocalHostError("enable buffers needs the path: add --rate and --rtt, such as --rate 1gbit --rtt 80ms")
    findings = list(buffers(host, path))
    unknown = [finding for finding in findings if finding.mark == "unknown"]
    if unknown and host.live:
        raise LocalHostError(f"{unknown[0].source}: {unknown[0].meaning}; nothing was changed")
    changes = [_SIZE.fullmatch(command) for finding in findings for command in finding.change]
    wanted = {found["key"]: found["value"] for found in changes if found}
    old = _record(host, BUFFERS_FILE) or Record({})
    if not wanted:
        return Change((), ("the buffers are enough for this path",))
    if host.live and not initial_namespace(host):
        own = {key: value for key, value in wanted.items() if host.sysctl(key).text is not None}
        undo = "; ".join(f"sysctl -w {key}='{_value(host, key)}'" for key in own)
        note = "this is a separate network namespace (a container?): the sizes apply only here, and no file is written"
        return _permitted(host, Change(tuple(Set(key, value) for key, value in own.items()), (note,), undo=undo))
    sets = old.sets | wanted
    before = {key: _value(host, key) if host.live else None for key in sets} | old.before
    steps: list[Step] = [Write(BUFFERS_FILE.path, boot_settings.composed(Record(sets, before), BUFFERS_FILE))]
    steps += [Set(key, value) for key, value in wanted.items() if host.live]
    return _permitted(host, Change(tuple(steps)))


def disabling_buffers(host: LocalHost, *, force: bool = False) -> Change:
    """The change that undoes `enabling_buffers`, with `force` as `disabling`."""
    return _undone(host, BUFFERS_FILE, running=host.live, force=force)


def _undone(host: LocalHost, file: DropIn, *, running: bool, force: bool, module: Sequence[Step] = ()) -> Change:
    """The change that restores what a drop-in records, and removes it."""
    text = host.file(file.path).text or ""
    try:
        record = boot_settings.read(text, file)
    except boot_settings.EditedFileError as error:
        if not force:
            raise LocalHostError(
                f"{file.path}: {error}; the previous {file.what} are uncertain, so nothing was changed. Remove the "
                f"file yourself, or with: dumbbell disable --force (keeps a copy, {file.path}.edited, and the current "
                "values)"
            ) from error
        return _permitted(host, Change((Write(f"{file.path}.edited", text), *module, Remove(file.path)), strict=False))
    sets, notes = _restore_steps(host, record) if running else ([], [])
    steps: list[Step] = [*sets, *module, *(Unload(module) for module in record.loaded if running)]
    steps += [Remove(file.path), *(RemoveFolder(folder) for folder in reversed(record.folders))]
    controller = next((step.value for step in sets if step.key == CONTROLLER), None)
    return _permitted(host, Change(tuple(steps), tuple(notes), controller, strict=False))


def apply(host: LocalHost, change: Change, *, verify: bool = True) -> Done:
    """Perform the steps, then verify with a new connection; on any failure, restore the previous state.

    The caller holds `steps.locked` from before the change was computed.
    Raises LocalHostError with the step that failed.
    """
    # The current state as steps, to undo the change after a failure or Ctrl-C.
    restore = [_restoring_steps(host, step) for step in change.steps]
    notes = list(change.notes)
    begun = 0
    try:
        for step in change.steps:
            begun += 1
            notes += filter(None, [perform(host, step)])
        opened = _verified(change.controller, strict=change.strict) if verify and change.controller else None
    except BaseException as error:
        _undo(host, restore[:begun], error)
        raise
    return Done(change, tuple(notes), opened)


def _undo(host: LocalHost, restore: list[tuple[Step, ...]], error: BaseException) -> None:
    """Undo the started steps in reverse order; failures are added to the error as notes."""
    for step in (one for several in reversed(restore) for one in several):
        try:
            perform(host, step)
        except LocalHostError as other:
            error.add_note(f"and not undone: {other}")


def check_present(host: LocalHost, name: str) -> None:
    """Raise LocalHostError if this kernel lacks the congestion control, or has not loaded it."""
    if not _NAME.fullmatch(name):
        raise LocalHostError(f"invalid name of a congestion control, got {name!r}; use a name like bbr")
    if _presence(host, name, running=True).kind == "loadable":
        raise LocalHostError(f"the module tcp_{name} is not loaded; sudo modprobe tcp_{name}")


def initial_namespace(host: LocalHost) -> bool:
    """Whether this is the host's initial network namespace.

    Sysctls that are not per namespace are visible only there (`net_core_table`, net/core/sysctl_net_core.c).
    """
    return host.sysctl(QDISC).text is not None


def _presence(host: LocalHost, name: str, *, running: bool) -> kernel_modules.Presence:
    presence = kernel_modules.presence(host, name) if running else kernel_modules.images(host, name)
    if presence.kind == "absent":
        version = kernel_modules.release(host) if running else PurePosixPath(presence.source).parts[3]
        available = f" (it has: {', '.join(host.sysctl(kernel_modules.AVAILABLE).fields())})" if running else ""
        raise LocalHostError(
            f"Linux {version} has no congestion control '{name}'{available} and no module tcp_{name} "
            f"in /lib/modules/{version}; it needs CONFIG_TCP_CONG_{name.upper()}: install the distribution's package "
            "with all modules (Debian: linux-image-amd64, Ubuntu: linux-modules-extra-…), or a kernel built with it"
        )
    if presence.kind == "unknown" and running:
        raise LocalHostError(f"can't determine whether this kernel has '{name}': {presence.source}: {presence.why}")
    return presence


def _queue_notes(host: LocalHost, qdisc: str) -> list[str]:
    """Raises LocalHostError if the kernel lacks the qdisc; returns a note if that can't be determined."""
    presence = kernel_modules.queue_presence(host, qdisc)
    if presence.kind == "absent":
        version = kernel_modules.release(host)
        raise LocalHostError(
            f"Linux {version} has no qdisc '{qdisc}' and no module sch_{qdisc} in /lib/modules/{version}; it needs "
            f"{presence.source}: install the distribution's package with all modules, or remove --qdisc"
        )
    return [f"can't determine whether this kernel has the qdisc '{qdisc}': {presence.why}"] * (
        presence.kind == "unknown"
    )


def _refuse_in_namespace(name: str, qdisc: str | None, allowed: list[str]) -> None:
    if qdisc:
        raise LocalHostError(
            f"{QDISC} is a host-wide setting and not visible in this network namespace (a container?); "
            "run this on the host itself, or remove --qdisc"
        )
    if name not in allowed:
        raise LocalHostError(
            f"in a network namespace of its own (a container?) only allowed controllers can be the default, and "
            f"'{name}' is not one ({', '.join(allowed)}); "
            f"on the host itself: sysctl -w {ALLOWED}='{' '.join([*allowed, name])}'"
        )


def _record(host: LocalHost, file: DropIn) -> Record | None:
    """What a drop-in of ours records; None if there is none. Raises LocalHostError for one that was edited."""
    text = host.file(file.path).text
    if text is None:
        if host.path(file.path).is_symlink() or host.path(file.path).exists():
            raise LocalHostError(f"{file.path} can't be read; it should be a plain file")
        return None
    try:
        return boot_settings.read(text, file)
    except boot_settings.EditedFileError as error:
        raise LocalHostError(
            f"{file.path}: {error}, so it is not overwritten; move it away, or run: dumbbell disable --force"
        ) from error


def _module_steps(host: LocalHost, module: str | None) -> list[Step]:
    """Steps for our modules-load.d file; a foreign file of that name is left alone."""
    text = host.file(MODULES).text
    if text is not None and not boot_settings.is_modules_text(text):
        if module is None:
            return []
        raise LocalHostError(f"{MODULES} was not written by 'dumbbell enable', so it is not overwritten; move it away")
    if module is None:
        return [] if text is None else [Remove(MODULES)]
    return [Write(MODULES, boot_settings.modules_text(module))]


def _restore_steps(host: LocalHost, record: Record) -> tuple[list[Set], list[str]]:
    """Steps that restore settings which still have our value, and notes about the others."""
    steps: list[Set] = []
    notes = []
    for key, ours in record.sets.items():
        now, before = _value(host, key), record.before.get(key)
        if before is None:
            notes.append(f"{key} stays {now} until the next boot: the previous value was not recorded (--root)")
        elif now != before and (now == ours or f"{key} = {now}" in record.earlier):
            steps.append(Set(key, before))
        elif now != before:
            notes.append(f"{key} is {now}, changed since, and was not restored; the previous value was {before}")
    allowed = host.sysctl(ALLOWED).fields() if record.allowed else []
    kept = [name for name in allowed if name not in record.allowed]
    if kept != allowed:
        # After setting the default, because the kernel allows whatever becomes the default.
        steps.append(Set(ALLOWED, " ".join(kept)))
    return steps, notes


def _value(host: LocalHost, key: str) -> str | None:
    """A sysctl's value with single spaces between its words, as a file has it; None if it can't be read."""
    return " ".join(host.sysctl(key).fields()) or None


def _notes(host: LocalHost, sets: dict[str, str]) -> list[str]:
    """Notes about files that set the same keys to other values later at boot."""
    return [
        f"{line.file}, line {line.line}, sets {line.key} = {line.value} later at boot and overrides this; remove it"
        for key in sets
        for line in boot_settings.later(host, DROPIN, key)
        if line.value != sets[key]
    ]


def _scope_notes(presence: kernel_modules.Presence, *, running: bool) -> list[str]:
    if running:
        return []
    notes_before = (
        [f"can't determine whether its kernel has the congestion control: {presence.why}"]
        if presence.kind == "unknown"
        else []
    )
    return [*notes_before, "nothing is applied or verified: --root names a folder, not the running host"]


def _missing(host: LocalHost, presence: kernel_modules.Presence) -> tuple[str, ...]:
    folders = ["/etc/sysctl.d"] + (["/etc/modules-load.d"] if presence.kind in ("loaded", "loadable") else [])
    return tuple(folder for folder in folders if not host.path(folder).exists())


def _permitted(host: LocalHost, change: Change) -> Change:
    """The change without steps that change nothing. Raises LocalHostError if one lacks permission."""
    obstacles = list(dict.fromkeys(filter(None, (obstacle(host, step) for step in change.steps))))
    if obstacles:
        raise LocalHostError(
            f"{'; '.join(obstacles)}; nothing was changed. This needs root (sudo); for a container, set it at start "
            "(docker run --sysctl net.ipv4.tcp_congestion_control=…)"
        )
    same = {step for step in change.steps if _restoring_steps(host, step) == (step,)}
    return replace(change, steps=tuple(step for step in change.steps if step not in same))


def _restoring_steps(host: LocalHost, step: Step) -> tuple[Step, ...]:
    """The steps that restore the current state."""
    match step:
        case Write() | Remove():
            text = host.file(step.path).text
            if text is not None:
                return (Write(step.path, text),)
            folder = str(PurePosixPath(step.path).parent)
            return (Remove(step.path),) if host.path(folder).exists() else (Remove(step.path), RemoveFolder(folder))
        case Set():
            return _restoring_sets(host, step)
        case Load() | Unload():
            return (Unload(step.module) if isinstance(step, Load) else Load(step.module),)
        case Route():
            return (Route(step.inverse, step.command),)
        case RemoveFolder():
            return ()


def _restoring_sets(host: LocalHost, step: Set) -> tuple[Set, ...]:
    now, allowed = host.sysctl(step.key).first(), host.sysctl(ALLOWED).first()
    if now is None:
        return ()
    # The kernel allows what becomes the default; only the initial namespace can undo that.
    if allowed and step.key == CONTROLLER and now != step.value and initial_namespace(host):
        return Set(step.key, now), Set(ALLOWED, allowed)
    return (Set(step.key, now),)


def _verified(name: str, *, strict: bool) -> kernel_modules.Opened | None:
    try:
        opened = kernel_modules.opened()
    except OSError as error:
        if not strict:
            return None
        raise LocalHostError(
            f"can't verify the change, so the previous settings were restored: can't open a socket: {error}"
        ) from error
    if strict and set(opened.controllers) != {name}:
        got = ", ".join(dict.fromkeys(opened.controllers))
        raise LocalHostError(
            f"a new connection got {got}, not {name}, so the previous settings were restored; "
            "a BPF program of a control group may override it"
        )
    return opened


def _earlier(old: Record, sets: dict[str, str]) -> tuple[str, ...]:
    """Values set by earlier calls of `enable`: they stay in force if this one is killed before it sets new ones."""
    settings = [f"{key} = {value}" for key, value in old.sets.items() if value != sets[key]]
    return tuple(dict.fromkeys([*old.earlier, *settings]))


def _with(names: tuple[str, ...], name: str, add: bool) -> tuple[str, ...]:
    return (*names, name) if add and name not in names else names
