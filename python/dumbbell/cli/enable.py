"""`dumbbell enable` and `dumbbell disable`: the default controller of new connections, switched and put back."""
# ruff: noqa: PLC0415 — a slip in an option answers at once

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.console import Console

if TYPE_CHECKING:
    from dumbbell.machine.sources import Machine
    from dumbbell.machine.switch import Change, Done

__all__ = ["disable", "enable"]

out = Console(soft_wrap=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written and done, and do nothing.")]
Root = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="An image's folder: write its files; nothing is applied."),
]


def enable(
    controller: Annotated[str, typer.Argument(metavar="CONTROLLER", help="Such as bbr; any that the kernel has.")],
    qdisc: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also the queue of devices that come up from now on: fq.")
    ] = None,
    dry_run: DryRun = False,
    root: Root = None,
) -> None:
    """Make a controller the default of new connections, now and at each boot; needs root.

    Writes one drop-in in /etc/sysctl.d (and one in /etc/modules-load.d for a module), applies it, and opens a
    connection to see. 'dumbbell disable' puts back what was.
    """
    from dumbbell.machine import switch
    from dumbbell.machine.steps import locked

    machine = _machine(root)
    if dry_run:
        _would(switch.enabling(machine, controller, qdisc, running=machine.live))
        return
    with locked(machine):
        change = switch.enabling(machine, controller, qdisc, running=machine.live)
        done = switch.apply(machine, change, verify=machine.live)
    _told(done)
    if machine.live:
        _existing(machine, controller)
    out.print(f"undo with: dumbbell disable{f' --root {root}' if root else ''}")


def disable(
    dry_run: DryRun = False,
    root: Root = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take an edited drop-in away too; it is kept as ….edited.")
    ] = False,
) -> None:
    """Undo 'dumbbell enable': the values of before, and none of its files; needs root."""
    from dumbbell.machine import switch
    from dumbbell.machine.steps import locked

    machine = _machine(root)
    if dry_run:
        _would(switch.disabling(machine, running=machine.live, force=force))
        return
    with locked(machine):
        change = switch.disabling(machine, running=machine.live, force=force)
        done = switch.apply(machine, change, verify=machine.live)
    _told(done)
    if machine.live and change.wanted:
        _existing(machine, change.wanted)


def _machine(root: Path | None) -> "Machine":
    from dumbbell.errors import MachineError
    from dumbbell.machine.sources import HERE, Machine

    if root is None:
        return Machine()
    if not root.is_dir():
        raise MachineError(f"--root: no such folder, got '{root}'")
    if root.resolve() == HERE:
        raise MachineError("--root: '/' is this machine; leave --root out")
    return Machine(root)


def _would(change: "Change") -> None:
    from dumbbell.machine.steps import Write

    if not change.steps:
        out.print("nothing to do: it is so already")
    for step in change.steps:
        out.print(f"would {step.told()}" if isinstance(step, Write) else f"would run: {step.told()}")
        if isinstance(step, Write):
            for line in step.text.splitlines():
                out.print(f"    {line}")
    _noted(change.notes)


def _told(done: "Done") -> None:
    if not done.change.steps:
        out.print("nothing to do: it was so already")
    for step in done.change.steps:
        out.print(f"done: {step.told()}")
    if done.opened is not None:
        got = done.opened.controllers[0]
        how = (
            "a connection over loopback was opened, and both its ends have" if done.opened.connected else "a socket has"
        )
        out.print(f"verified: {how} {got}")
        if done.opened.why:
            out.print(f"note: {done.opened.why}")
    _noted(done.notes)


def _noted(notes: tuple[str, ...]) -> None:
    for note in notes:
        out.print(f"note: {note}")


def _existing(machine: "Machine", controller: str) -> None:
    """Connections that are open keep the controller that they have."""
    from dumbbell.machine.inuse import in_use

    used = in_use(machine)
    if used.counts is None:
        out.print(f"connections that are open keep their controllers (which, is not known: {used.why})")
        return
    others = Counter({name: count for name, count in used.counts.items() if name != controller})
    if not others:
        out.print(f"no open connection has another controller than {controller}")
        return
    told = ", ".join(f"{count} × {name}" for name, count in others.most_common())
    out.print(f"connections that are open keep theirs until they are opened anew: {told}")
