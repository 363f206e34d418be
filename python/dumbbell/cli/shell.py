"""`dumbbell shell`: a shell on a host of an experiment; virtual time advances only while a command runs."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dumbbell.cli.options import (
    case_option,
    file_option,
    flows_option,
    kernel_option,
    out_option,
    scenario_argument,
    seed_option,
    server_option,
    set_option,
)
from dumbbell.cli.program_options import typed_request
from dumbbell.control_characters import visible_line

__all__ = ["shell"]

NAME = "shell"
CUT_OFF = 124
"""As timeout(1) returns: the experiment ended before the last command."""


@click.command("shell")
@scenario_argument
@click.option(
    "--on",
    default="sender",
    metavar="HOST",
    help="Host that runs the shell: sender, receiver, or another host of the plan.",
)
@server_option
@file_option
@click.option("--cc", metavar="NAME", help="Congestion control for the hosts that run the commands.")
@flows_option
@click.option("--start", metavar="TIME", help="Start the shell at this time.")
@click.option("--timeout", default="60min", metavar="TIME", help="Time limit per command, in virtual time.")
@click.option("--real-time", is_flag=True, help="Run in real time, also while no command runs.")
@case_option
@seed_option
@set_option
@out_option
@kernel_option
@click.option(
    "--wall-limit",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="Abort the guest if a command takes longer in real time.",
)
def shell(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: str,
    on: str = "sender",
    servers: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    cc: str | None = None,
    flows: bool = True,
    start: str | None = None,
    timeout: str = "60min",
    real_time: bool = False,
    case: str | None = None,
    seed: int | None = None,
    settings: tuple[str, ...] = (),
    folder: Path | None = None,
    kernel: str | None = None,
    wall_limit: float | None = None,
) -> None:
    """Open a shell on a host of a running experiment.

    Virtual time advances only while a command runs. Without a terminal the commands are read from standard input. The
    exit status is the shell's.
    """
    from dumbbell.cli.interrupt import Interrupted
    from dumbbell.cli.repl import Repl
    from dumbbell.engines.permissions import permitted
    from dumbbell.engines.requests import engine_called
    from dumbbell.engines.shell_session import COMMAND, Session
    from dumbbell.errors import ToolMissing
    from dumbbell.results import result
    from dumbbell.spec.typed import TypedCommand, quantity
    from dumbbell.spec.units import duration_ns

    timeout_ns = quantity("--timeout", timeout, duration_ns)
    typed_command = TypedCommand(COMMAND, on, servers, files, cc, start, None, flows, name=NAME)
    request, name = typed_request(scenario, settings, case, typed_command, seed, folder, "shell")
    if shutil.which("bash") is None:
        raise ToolMissing("bash", "to parse the commands", "bash")
    with Repl(on, request.case.experiment.duration, real_time=real_time) as repl:
        session = Session(name, repl, timeout_ns, real_time=real_time)
        try:
            engine = engine_called("kernel", kernel, allowed=permitted(kernels=[kernel]), wall_limit_s=wall_limit)
            engine.run(replace(request, session=session), lambda _seconds: None)
        except KeyboardInterrupt:
            raise Interrupted from None
    raise click.exceptions.Exit(_report(result.load(request.out).manifest, request.out, cut_off=repl.cut_off))


def _report(manifest: dict[str, Any], out: Path, *, cut_off: bool) -> int:
    """Print warnings, the time and the result folder to standard error. Returns the status."""
    notes = [f"invalid: {reason}" for reason in manifest["invalid"]] + manifest["warnings"]
    status = manifest["session"]["status"]
    if status is None:
        over = f"the experiment ended after {manifest['duration_s']:.6g} s"
        notes.append(f"{over}, before the last command; extend it with --set duration=…" if cut_off else over)
    for note in [*notes, f"{manifest['duration_s']:.6g} s of virtual time; result: {out}"]:
        sys.stderr.write(f"dumbbell: {visible_line(note)}\n")
    if status is None:
        return CUT_OFF if cut_off else 0
    return int(status) or (0 if manifest["valid"] else 1)
