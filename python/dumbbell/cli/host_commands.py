"""`dumbbell doctor`, `enable` and `disable`: this host's TCP settings and its default congestion control."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from dumbbell.cli.console import out, print_json, unwrapped_out
from dumbbell.cli.options import PATH, json_option
from dumbbell.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dumbbell.host.sources import Finding, LocalHost, Mark
    from dumbbell.host.switch import Change, Done
    from dumbbell.host.tcp_settings import Path as NetworkPath

__all__ = ["disable", "doctor", "enable"]


SIGNS: dict["Mark", tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warning": ("warning", "yellow"),
    "problem": ("PROBLEM", "bold red"),
    "unknown": ("unknown", "magenta"),
}
MOST_COLUMNS = 100
"""Longer lines are hard to read."""


@click.command("doctor")
@click.option("--rate", metavar="RATE", help="Path rate, such as 1gbit, to check buffers against; needs --rtt.")
@click.option("--rtt", metavar="TIME", help="Path RTT, such as 80ms; needs --rate.")
@click.option(
    "--fail-on", type=click.Choice(["warning", "problem"]), help="Exit with 1 if a finding is at least this bad."
)
@click.option("--netns", metavar="NAME|PID", help="Network namespace to check, such as a container's; needs root.")
@json_option
def doctor(
    rate: str | None = None,
    rtt: str | None = None,
    fail_on: str | None = None,
    netns: str | None = None,
    as_json: bool = False,
) -> None:
    """Check this host's TCP settings: congestion control, BBR version, pacing, buffers.

    Reads only and needs no root. Each finding is ok, warning, PROBLEM, or unknown with the reason.
    """
    from dumbbell.host.findings import run_checks
    from dumbbell.host.sources import LocalHost
    from dumbbell.host.sources import as_json as parts

    path = _path_of(rate, rtt)
    if netns is not None:
        from dumbbell.host.namespaces import enter

        enter(netns)
    findings = run_checks(LocalHost(), path)
    if as_json:
        path_json = {"rate_bps": path.rate_bps, "rtt_ns": path.rtt_ns}
        print_json({"path": path_json, **parts(findings)})
    elif out.is_terminal:
        _show(findings)
    else:
        with out.capture() as captured:
            _show(findings)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    bad = {None: (), "problem": ("problem",), "warning": ("problem", "warning")}[fail_on]
    if any(finding.mark in bad for finding in findings):
        raise click.exceptions.Exit(ExitStatus.JUDGED_NEGATIVE)


def _path_of(rate: str | None, rtt: str | None) -> "NetworkPath":
    """The path of `--rate` and `--rtt`."""
    from dumbbell.host.tcp_settings import Path as NetworkPath

    if rate is None and rtt is None:
        return NetworkPath()
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, rate_bps

    return NetworkPath(
        None if rate is None else quantity("--rate", rate, rate_bps, "1bit"),
        None if rtt is None else quantity("--rtt", rtt, duration_ns, "1us"),
    )


def _show(findings: list["Finding"]) -> None:
    from dumbbell.host.sources import GROUPS

    width = min(out.width, MOST_COLUMNS)
    for group in GROUPS:
        out.print(group, style="bold")
        for finding in (finding for finding in findings if finding.group == group):
            out.print(_finding_row(finding), width=width)
            for command in finding.change:
                # Not wrapped, so that it can be copied.
                out.print(f"          $ {command}", style="cyan", soft_wrap=True)
        out.print()
    out.print(_summary_line(findings))


def _finding_row(finding: "Finding") -> Table:
    sign, style = SIGNS[finding.mark]
    meaning = (finding.meaning, "dim" if finding.mark == "ok" else "")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=7, justify="right")
    table.add_column(ratio=1)
    source = (f" [{finding.source}]" if finding.source else "", "dim")
    parts = Text.assemble((finding.title, "bold"), ": ", finding.shown, ". ", meaning, source)
    table.add_row(Text(sign, style=style), parts)
    return table


def _summary_line(findings: list["Finding"]) -> Text:
    from dumbbell.host.sources import MARKS

    parts = []
    for mark in MARKS:
        count = sum(finding.mark == mark for finding in findings)
        if count:
            parts.append(f"{count} {SIGNS[mark][0]}")
    return Text(", ".join(parts))


dry_run_option = click.option("--dry-run", is_flag=True, help="Print the changes and exit.")
root_option = click.option(
    "--root", type=PATH, metavar="DIR", help="Write to the root file system in DIR; apply nothing."
)


@click.command("enable")
@click.argument(
    "controller", metavar="CONTROLLER|buffers", help="Congestion control of the kernel, such as bbr; or buffers."
)
@click.option("--qdisc", metavar="NAME", help="Also set the default qdisc for new devices, such as fq.")
@click.option("--route", metavar="PREFIX", help="Only for connections to these addresses, such as 203.0.113.0/24.")
@click.option("--rate", metavar="RATE", help="With buffers: rate of the path that one connection shall fill.")
@click.option("--rtt", metavar="TIME", help="With buffers: RTT of that path.")
@dry_run_option
@root_option
@json_option
def enable(
    controller: str,
    qdisc: str | None = None,
    route: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    dry_run: bool = False,
    root: Path | None = None,
    as_json: bool = False,
) -> None:
    """Make a congestion control the default of this host, or of a route; or let buffers fit a path.

    Applies to new connections, now and after each boot; needs root. Writes a drop-in to /etc/sysctl.d (and one to
    /etc/modules-load.d for a module), applies it, and opens a connection to verify. `dumbbell disable` restores the
    previous values. In a separate network namespace (a container) it sets the namespace's default and writes no file.
    """
    from dumbbell.host import switch
    from dumbbell.host.boot_settings import CONTROLLER
    from dumbbell.host.route_controllers import route_change

    host = _host_of(root)
    _refuse_mixed(controller, {"--qdisc": qdisc, "--route": route, "--rate": rate, "--rtt": rtt}, root)
    if controller == BUFFERS:
        path = _path_of(rate, rtt)
        change = _changed(host, lambda: switch.enabling_buffers(host, path), dry_run=dry_run, as_json=as_json)
    elif route is not None:
        switch.check_present(host, controller)
        change = _changed(host, lambda: route_change(host, route, controller), dry_run=dry_run, as_json=as_json)
        if change.steps and not dry_run and not as_json:
            unwrapped_out.print("new connections to these addresses use it; routes last until the next boot")
    else:
        is_default = host.live and host.sysctl(CONTROLLER).text == controller
        change = _changed(
            host, lambda: switch.enabling(host, controller, qdisc, running=host.live),
            dry_run=dry_run, as_json=as_json, verify=host.live,
        )  # fmt: skip
        if dry_run and is_default and not as_json:
            unwrapped_out.print(f"note: {controller} is the default already; the file keeps it after each boot")
        if host.live and not dry_run and not as_json:
            _print_open_connections(host, controller)
    of_default = route is None and controller != BUFFERS
    if not dry_run and not as_json and (change.steps or (of_default and change.undo.startswith("dumbbell"))):
        unwrapped_out.print(f"undo with: {change.undo}{f' --root {root}' if root else ''}")


@click.command("disable")
@dry_run_option
@root_option
@click.option(
    "--force", is_flag=True, help="Remove the drop-in even if it was edited; keep a copy with suffix .edited."
)
@click.option("--route", metavar="PREFIX", help="Undo only `dumbbell enable CONTROLLER --route PREFIX`.")
@json_option
def disable(
    dry_run: bool = False,
    root: Path | None = None,
    force: bool = False,
    route: str | None = None,
    as_json: bool = False,
) -> None:
    """Undo `dumbbell enable`, also of buffers.

    Restores the previous values and removes the files; needs root.
    """
    from dumbbell.host import switch
    from dumbbell.host.boot_settings import BUFFERS_FILE, DROPIN
    from dumbbell.host.route_controllers import route_removal

    host = _host_of(root)
    if route is not None:
        _changed(host, lambda: route_removal(host, route), dry_run=dry_run, as_json=as_json)
        return
    own = host.file(DROPIN).text is not None
    if host.file(BUFFERS_FILE.path).text is not None:
        _changed(
            host, lambda: switch.disabling_buffers(host, force=force), dry_run=dry_run, as_json=as_json and not own
        )  # fmt: skip
        if not own:
            return
    change = _changed(
        host, lambda: switch.disabling(host, running=host.live, force=force),
        dry_run=dry_run, as_json=as_json, verify=host.live,
    )  # fmt: skip
    if host.live and change.controller and not dry_run and not as_json:
        _print_open_connections(host, change.controller)


BUFFERS = "buffers"


def _refuse_mixed(controller: str, given: "Mapping[str, str | None]", root: Path | None) -> None:
    """Refuse options that the other uses of `enable` have."""
    from dumbbell.errors import LocalHostError

    of_buffers = ("--rate", "--rtt")
    for name, value in given.items():
        if value is not None and (controller == BUFFERS) != (name in of_buffers):
            what = f"enable {BUFFERS}" if controller == BUFFERS else "a congestion control"
            raise LocalHostError(f"{name}: {what} takes no such option; leave it out")
    if given["--route"] is not None and (given["--qdisc"] is not None or root is not None):
        raise LocalHostError("--route: a route of the running kernel; leave --qdisc and --root out")


def _changed(
    host: "LocalHost", compute: "Callable[[], Change]", *, dry_run: bool, as_json: bool, verify: bool = False
) -> "Change":
    """Print the change, or make it and print what was done."""
    from dumbbell.host import switch
    from dumbbell.host.steps import locked

    if dry_run:
        change = compute()
        _print_plan(change, as_json=as_json)
        return change
    with locked(host):
        change = compute()
        done = switch.apply(host, change, verify=verify)
    _print_done(done, as_json=as_json)
    return change


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


def _print_plan(change: "Change", *, as_json: bool) -> None:
    from dumbbell.host.steps import Write

    if as_json:
        print_json({"done": False, **_as_json(change, change.notes)})
        return

    if not change.steps:
        unwrapped_out.print("nothing to do: the settings are in place")
    for step in change.steps:
        unwrapped_out.print(f"would {step.describe()}" if isinstance(step, Write) else f"would run: {step.describe()}")
        if isinstance(step, Write):
            for line in step.text.splitlines():
                unwrapped_out.print(f"    {line}")
    _print_notes(change.notes)


def _as_json(change: "Change", notes: tuple[str, ...]) -> dict[str, Any]:
    steps = [step.describe() for step in change.steps]
    return {"controller": change.controller, "steps": steps, "notes": list(notes), "undo": change.undo or None}


def _print_done(done: "Done", *, as_json: bool) -> None:
    if as_json:
        verified = None if done.opened is None else done.opened.controllers[0]
        print_json({"done": True, "verified": verified, **_as_json(done.change, done.notes)})
        return
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
    from dumbbell.host.tcp_connections import controllers_in_use

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
