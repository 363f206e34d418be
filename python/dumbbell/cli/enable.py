"""`dumbbell enable` and `dumbbell disable`: set and restore the default congestion control of this host."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.console import unwrapped_out
from dumbbell.cli.options import PATH

if TYPE_CHECKING:
    from dumbbell.host.sources import LocalHost
    from dumbbell.host.switch import Change, Done

__all__ = ["disable", "enable"]

dry_run_option = click.option("--dry-run", is_flag=True, help="Print the changes and exit.")
root_option = click.option(
    "--root", type=PATH, metavar="DIR", help="Write to the root file system in DIR; apply nothing."
)


@click.command("enable")
@click.argument("controller", metavar="CONTROLLER", help="Congestion control, such as bbr, that the kernel has.")
@click.option("--qdisc", metavar="NAME", help="Also set the default qdisc for new devices, such as fq.")
@dry_run_option
@root_option
def enable(
    controller: str,
    qdisc: str | None = None,
    dry_run: bool = False,
    root: Path | None = None,
) -> None:
    """Make a congestion control the default of this host.

    Applies to new connections, now and after each boot; needs root. Writes a drop-in to /etc/sysctl.d (and one to
    /etc/modules-load.d for a module), applies it, and opens a connection to verify. `dumbbell disable` restores the
    previous values.
    """
    from dumbbell.host import switch
    from dumbbell.host.steps import locked

    host = _host_of(root)
    if dry_run:
        _print_plan(switch.enabling(host, controller, qdisc, running=host.live))
        return
    with locked(host):
        change = switch.enabling(host, controller, qdisc, running=host.live)
        done = switch.apply(host, change, verify=host.live)
    _print_done(done)
    if host.live:
        _print_open_connections(host, controller)
    unwrapped_out.print(f"undo with: dumbbell disable{f' --root {root}' if root else ''}")


@click.command("disable")
@dry_run_option
@root_option
@click.option(
    "--force", is_flag=True, help="Remove the drop-in even if it was edited; keep a copy with suffix .edited."
)
def disable(
    dry_run: bool = False,
    root: Path | None = None,
    force: bool = False,
) -> None:
    """Undo `dumbbell enable`.

    Restores the previous values and removes the files; needs root.
    """
    from dumbbell.host import switch
    from dumbbell.host.steps import locked

    host = _host_of(root)
    if dry_run:
        _print_plan(switch.disabling(host, running=host.live, force=force))
        return
    with locked(host):
        change = switch.disabling(host, running=host.live, force=force)
        done = switch.apply(host, change, verify=host.live)
    _print_done(done)
    if host.live and change.controller:
        _print_open_connections(host, change.controller)


def _host_of(root: Path | None) -> "LocalHost":
    from dumbbell.errors import LocalHostError
    from dumbbell.host.sources import HERE, LocalHost

    if root is None:
        return LocalHost()
    if not root.is_dir():
        raise LocalHostError(f"--root: no such folder, got '{root}'")
    if root.resolve() == HERE:
        raise LocalHostError("--root: '/' is this host; leave --root out")
    return LocalHost(root)


def _print_plan(change: "Change") -> None:
    from dumbbell.host.steps import Write

    if not change.steps:
        unwrapped_out.print("nothing to do: the settings are in place")
    for step in change.steps:
        unwrapped_out.print(f"would {step.describe()}" if isinstance(step, Write) else f"would run: {step.describe()}")
        if isinstance(step, Write):
            for line in step.text.splitlines():
                unwrapped_out.print(f"    {line}")
    _print_notes(change.notes)


def _print_done(done: "Done") -> None:
    if not done.change.steps:
        unwrapped_out.print("nothing to do: the settings were in place")
    for step in done.change.steps:
        unwrapped_out.print(f"done: {step.describe()}")
    if done.opened is not None:
        got = done.opened.controllers[0]
        how = "both ends of a loopback connection use" if done.opened.connected else "a new socket uses"
        unwrapped_out.print(f"verified: {how} {got}")
        if done.opened.why:
            unwrapped_out.print(f"note: {done.opened.why}")
    _print_notes(done.notes)


def _print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        unwrapped_out.print(f"note: {note}")


def _print_open_connections(host: "LocalHost", controller: str) -> None:
    """Open connections keep their congestion control."""
    from dumbbell.host.controllers_in_use import controllers_in_use

    used = controllers_in_use(host)
    if used.counts is None:
        unwrapped_out.print(f"open connections keep their congestion control (unknown: {used.why})")
        return
    others = Counter({name: count for name, count in used.counts.items() if name != controller})
    if not others:
        unwrapped_out.print(f"all open connections use {controller}")
        return
    counted = ", ".join(f"{count} × {name}" for name, count in others.most_common())
    unwrapped_out.print(f"open connections keep their congestion control until they reconnect: {counted}")
