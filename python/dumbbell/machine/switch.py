"""`enable` and `disable`: from what a machine is to the steps that make a controller its default, and back.

The drop-in comes first and goes last, and holds what was before: whenever one is killed, what is on the disk can be
undone. Steps are done by `steps`, texts made by `dropin`; who else sets the same at boot is found by `sysctld`.
Speaking is the command's.
"""

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from dumbbell.errors import MachineError
from dumbbell.machine import dropin, modules, probe, sysctld
from dumbbell.machine.dropin import ALLOWED, CONTROLLER, DROPIN, MODULES, QDISC, Record
from dumbbell.machine.sources import Machine
from dumbbell.machine.steps import Load, Remove, RemoveFolder, Set, Step, Unload, Write, obstacle, perform

__all__ = ["Change", "Done", "apply", "disabling", "enabling", "initial_namespace"]

_NAME = re.compile(r"[A-Za-z0-9_]{1,15}")


@dataclass(frozen=True)
class Change:
    """Steps in their order, and what a person should know of them; `wanted` is verified when they are done."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    wanted: str | None = None
    strict: bool = True
    """Whether it is taken back where a new connection gets another controller; a way back never is."""


@dataclass(frozen=True)
class Done:
    """What was done, what to know, and what a new connection got."""

    change: Change
    notes: tuple[str, ...]
    opened: probe.Opened | None = None


def enabling(machine: Machine, name: str, qdisc: str | None = None, *, running: bool = True) -> Change:
    """What makes `name` the default of new connections, now (where `running`) and at each boot.

    Raises MachineError where the kernel lacks it, where a file of ours was edited, and where permission lacks.
    """
    for word in filter(None, (name, qdisc)):
        if not _NAME.fullmatch(word):
            raise MachineError(f"no controller and no queue has such a name, got {word!r}; names are such as bbr or fq")
    presence = _presence(machine, name, running=running)
    initial = initial_namespace(machine) if running else True
    allowed = machine.sysctl(ALLOWED).words() if running else []
    if not initial:
        _refuse_in_namespace(name, qdisc, allowed)
    queue_notes = _queue_notes(machine, qdisc) if running and qdisc else []
    old = _record(machine) or Record({})
    sets = old.sets | {CONTROLLER: name} | ({QDISC: qdisc} if qdisc else {})
    before = {key: machine.sysctl(key).first() if running else None for key in sets} | old.before
    module = f"tcp_{name}"
    new = Record(
        sets,
        before,
        _earlier(old, sets),
        allowed=_with(old.allowed, name, running and initial and name not in allowed),
        loaded=_with(old.loaded, module, running and presence.kind == "loadable"),
        folders=old.folders or _missing(machine, presence),
    )
    is_module = presence.kind in ("loaded", "loadable")
    steps: list[Step] = [Write(DROPIN, dropin.composed(new)), *_module_steps(machine, module if is_module else None)]
    if running:
        steps += [Load(module)] if presence.kind == "loadable" else []
        steps += [Set(key, sets[key]) for key in (QDISC, CONTROLLER) if key in sets]
    notes = [*_notes(machine, sets), *queue_notes, *_where(presence, running=running, initial=initial)]
    return _permitted(machine, Change(tuple(steps), tuple(notes), name if running else None))


def disabling(machine: Machine, *, running: bool = True, force: bool = False) -> Change:
    """What undoes `enabling`: values of before, and none of our files.

    `force` takes an edited drop-in away as well, keeping it beside under a name that nobody reads.
    Raises MachineError where nothing was enabled, where a file was edited, and where permission lacks.
    """
    text = machine.file(DROPIN).text
    if text is None:
        raise MachineError(f"there is nothing to undo: no {DROPIN}; 'dumbbell enable' would write it")
    try:
        record = dropin.read(text)
    except dropin.Foreign as error:
        if not force:
            raise MachineError(
                f"{DROPIN}: {error}; what was before is not certain, so nothing is changed. Take it away by hand, or "
                f"with: dumbbell disable --force (it is kept as {DROPIN}.edited, and the values in force stay)"
            ) from error
        kept = Write(f"{DROPIN}.edited", text)
        return _permitted(machine, Change((kept, *_module_steps(machine, None), Remove(DROPIN))))
    sets, notes = _way_back(machine, record) if running else ([], [])
    steps: list[Step] = [*sets, *_module_steps(machine, None)]
    steps += [Unload(module) for module in record.loaded if running]
    steps += [Remove(DROPIN), *(RemoveFolder(folder) for folder in reversed(record.folders))]
    wanted = next((step.value for step in sets if step.key == CONTROLLER), None)
    return _permitted(machine, Change(tuple(steps), tuple(notes), wanted, strict=False))


def apply(machine: Machine, change: Change, *, verify: bool = True) -> Done:
    """Do the steps, then open a connection and see; on any failure everything is as it was.

    Whoever calls holds `steps.locked` since before the change was made.
    Raises MachineError with the step that failed.
    """
    # What is there now, as steps: the way back when one of the steps fails, or when somebody presses ^C.
    back = [_as_it_is(machine, step) for step in change.steps]
    notes = list(change.notes)
    begun = 0
    try:
        for step in change.steps:
            begun += 1
            notes += filter(None, [perform(machine, step)])
        opened = _verified(change.wanted, strict=change.strict) if verify and change.wanted else None
    except BaseException as error:
        _taken_back(machine, back[:begun], error)
        raise
    return Done(change, tuple(notes), opened)


def _taken_back(machine: Machine, back: list[tuple[Step, ...]], error: BaseException) -> None:
    """Undo what was begun, the last first; what can't be undone is added to the error."""
    for step in (one for several in reversed(back) for one in several):
        try:
            perform(machine, step)
        except MachineError as other:
            error.add_note(f"and not taken back: {other}")


def initial_namespace(machine: Machine) -> bool:
    """Whether this is the network namespace that the machine booted with.

    Settings that no namespace has of its own are only seen there (`net_core_table`, net/core/sysctl_net_core.c).
    """
    return machine.sysctl(QDISC).text is not None


def _presence(machine: Machine, name: str, *, running: bool) -> modules.Presence:
    presence = modules.presence(machine, name) if running else modules.images(machine, name)
    if presence.kind == "absent":
        version = modules.release(machine) if running else PurePosixPath(presence.source).parts[3]
        available = f" (it has: {', '.join(machine.sysctl(modules.AVAILABLE).words())})" if running else ""
        raise MachineError(
            f"Linux {version} has no controller '{name}'{available} and no module tcp_{name} "
            f"in /lib/modules/{version}; it needs CONFIG_TCP_CONG_{name.upper()}: the distribution's package "
            "of all modules (Debian: linux-image-amd64, Ubuntu: linux-modules-extra-…), or a kernel built with it"
        )
    if presence.kind == "unknown" and running:
        raise MachineError(f"whether this kernel has '{name}' can't be known: {presence.source}: {presence.why}")
    return presence


def _queue_notes(machine: Machine, qdisc: str) -> list[str]:
    """Raises MachineError where the kernel lacks the queue; a note where that can't be known."""
    presence = modules.queue_presence(machine, qdisc)
    if presence.kind == "absent":
        version = modules.release(machine)
        raise MachineError(
            f"Linux {version} has no queue '{qdisc}' and no module sch_{qdisc} in /lib/modules/{version}; it needs "
            f"{presence.source}: the distribution's package of all modules, or leave --qdisc out"
        )
    return [f"whether this kernel has the queue '{qdisc}' is not known: {presence.why}"] * (presence.kind == "unknown")


def _refuse_in_namespace(name: str, qdisc: str | None, allowed: list[str]) -> None:
    if qdisc:
        raise MachineError(
            f"{QDISC} is the whole machine's and is not seen in this network namespace (a container?); "
            "run this on the machine itself, or leave --qdisc out"
        )
    if name not in allowed:
        raise MachineError(
            f"in a network namespace of its own (a container?) only allowed controllers can be the default, and "
            f"'{name}' is not one ({', '.join(allowed)}); "
            f"on the machine itself: sysctl -w {ALLOWED}='{' '.join([*allowed, name])}'"
        )


def _record(machine: Machine) -> Record | None:
    text = machine.file(DROPIN).text
    if text is None:
        if machine.path(DROPIN).is_symlink() or machine.path(DROPIN).exists():
            raise MachineError(f"{DROPIN} can't be read; it should be a plain file")
        return None
    try:
        return dropin.read(text)
    except dropin.Foreign as error:
        raise MachineError(
            f"{DROPIN}: {error}, and is not overwritten; move it away, or see: dumbbell disable --force"
        ) from error


def _module_steps(machine: Machine, module: str | None) -> list[Step]:
    """The file of modules-load.d as it should be; somebody else's of that name is left alone."""
    text = machine.file(MODULES).text
    if text is not None and not dropin.is_modules_text(text):
        if module is None:
            return []
        raise MachineError(f"{MODULES} is not as 'dumbbell enable' writes it, and is not overwritten; move it away")
    if module is None:
        return [] if text is None else [Remove(MODULES)]
    return [Write(MODULES, dropin.modules_text(module))]


def _way_back(machine: Machine, record: Record) -> tuple[list[Set], list[str]]:
    """Settings of before, for those that still are as we set them; of the others, why not."""
    steps: list[Set] = []
    notes = []
    for key in (CONTROLLER, QDISC):
        if key not in record.sets:
            continue
        now, before = machine.sysctl(key).first(), record.before.get(key)
        if before is None:
            notes.append(f"{key} stays {now} until the next boot: what it was before is not recorded (--root)")
        elif now != before and (now == record.sets[key] or f"{key} = {now}" in record.earlier):
            steps.append(Set(key, before))
        elif now != before:
            notes.append(f"{key} was changed since, to {now}, and stays so; before it was {before}")
    allowed = machine.sysctl(ALLOWED).words()
    kept = [name for name in allowed if name not in record.allowed]
    if record.allowed and kept != allowed and initial_namespace(machine):
        # After the default: the kernel allows whatever is made it.
        steps.append(Set(ALLOWED, " ".join(kept)))
    return steps, notes


def _notes(machine: Machine, sets: dict[str, str]) -> list[str]:
    """Who sets the same at boot, after us, to something else."""
    return [
        f"{line.file}, line {line.line}, sets {line.key} = {line.value} later at boot and wins; take that line away"
        for key in sets
        for line in sysctld.later(machine, DROPIN, key)
        if line.value != sets[key]
    ]


def _where(presence: modules.Presence, *, running: bool, initial: bool) -> list[str]:
    if not running:
        told = (
            [f"whether its kernel has the controller is not known: {presence.why}"]
            if presence.kind == "unknown"
            else []
        )
        return [*told, "nothing is applied or verified: a folder is not the machine that runs"]
    if initial:
        return []
    return [
        "this is a network namespace of its own (a container?): the setting is in force here only, and files in "
        "sysctl.d are applied when a machine boots, to its first namespace"
    ]


def _missing(machine: Machine, presence: modules.Presence) -> tuple[str, ...]:
    folders = ["/etc/sysctl.d"] + (["/etc/modules-load.d"] if presence.kind in ("loaded", "loadable") else [])
    return tuple(folder for folder in folders if not machine.path(folder).exists())


def _permitted(machine: Machine, change: Change) -> Change:
    obstacles = list(dict.fromkeys(filter(None, (obstacle(machine, step) for step in change.steps))))
    if obstacles:
        raise MachineError(
            f"{'; '.join(obstacles)}; nothing was changed. It needs root (sudo); in a container, whoever starts it "
            "must allow it (docker run --sysctl net.ipv4.tcp_congestion_control=…)"
        )
    same = {step for step in change.steps if _as_it_is(machine, step) == (step,)}
    return replace(change, steps=tuple(step for step in change.steps if step not in same))


def _as_it_is(machine: Machine, step: Step) -> tuple[Step, ...]:
    """The steps that bring about what is there now."""
    match step:
        case Write() | Remove():
            text = machine.file(step.path).text
            if text is not None:
                return (Write(step.path, text),)
            folder = str(PurePosixPath(step.path).parent)
            return (Remove(step.path),) if machine.path(folder).exists() else (Remove(step.path), RemoveFolder(folder))
        case Set():
            return _as_it_is_set(machine, step)
        case Load():
            return (Unload(step.module),)
        case Unload():
            return (Load(step.module),)
        case RemoveFolder():
            return ()


def _as_it_is_set(machine: Machine, step: Set) -> tuple[Set, ...]:
    now, allowed = machine.sysctl(step.key).first(), machine.sysctl(ALLOWED).first()
    if now is None:
        return ()
    # The kernel allows what is made the default; only the first namespace can take that back.
    if allowed and step.key == CONTROLLER and now != step.value and initial_namespace(machine):
        return Set(step.key, now), Set(ALLOWED, allowed)
    return (Set(step.key, now),)


def _verified(name: str, *, strict: bool) -> probe.Opened | None:
    try:
        opened = probe.opened()
    except OSError as error:
        if not strict:
            return None
        raise MachineError(
            f"it can't be verified, so everything is as before: no socket can be had: {error}"
        ) from error
    if strict and set(opened.controllers) != {name}:
        got = ", ".join(dict.fromkeys(opened.controllers))
        raise MachineError(
            f"a new connection got {got}, not {name}, so everything is as before; "
            "a BPF program of a control group may choose it"
        )
    return opened


def _earlier(old: Record, sets: dict[str, str]) -> tuple[str, ...]:
    """What was set by us until now: whoever is killed before the new values are in force leaves these."""
    settings = [f"{key} = {value}" for key, value in old.sets.items() if value != sets[key]]
    return tuple(dict.fromkeys([*old.earlier, *settings]))


def _with(names: tuple[str, ...], name: str, wanted: bool) -> tuple[str, ...]:
    return (*names, name) if wanted and name not in names else names
