"""`dumbbell shell`: a terminal on a host of an experiment, whose time passes only while a command runs."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.typed import (
    CaseName,
    Files,
    Flows,
    Host,
    KernelName,
    Out,
    Scenario,
    Seed,
    Servers,
    typed_request,
)
from dumbbell.visible import visible_line

__all__ = ["shell"]

NAME = "shell"
NOT_DONE = 124
"""As `timeout` of coreutils has it: the experiment was over before the last command."""


def shell(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: Scenario,
    on: Host = "sender",
    servers: Servers = [],  # noqa: B006 — typer copies it
    files: Files = [],  # noqa: B006
    cc: Annotated[str | None, typer.Option(metavar="NAME", help="Congestion control of the commands' hosts.")] = None,
    flows: Flows = True,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="When the first command may be typed.")] = None,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="What a command has, in the experiment's time.")
    ] = "60min",
    real_time: Annotated[bool, typer.Option("--real-time", help="Time passes as on the wall, typing or not.")] = False,
    case: CaseName = None,
    seed: Seed = None,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as duration=10min.")
    ] = [],  # noqa: B006
    folder: Out = None,
    kernel: KernelName = None,
    wall_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1, help="Give the guest up when a command takes so long.")
    ] = None,
) -> None:
    """Type commands on a host of a running experiment; time passes only while one runs.

    With no terminal at standard input its lines are the commands. Exits with the shell's status.
    """
    from dumbbell import result  # noqa: PLC0415 — a slip in an option answers at once
    from dumbbell.cli.interrupt import Interrupted  # noqa: PLC0415
    from dumbbell.cli.typist import Typist  # noqa: PLC0415
    from dumbbell.engine.permissions import permitted  # noqa: PLC0415
    from dumbbell.engine.requests import engine_called  # noqa: PLC0415
    from dumbbell.engine.session import COMMAND, Session  # noqa: PLC0415
    from dumbbell.errors import ToolMissing  # noqa: PLC0415
    from dumbbell.spec.typed import Asked, quantity  # noqa: PLC0415
    from dumbbell.spec.units import duration_ns  # noqa: PLC0415

    timeout_ns = quantity("--timeout", timeout, duration_ns)
    asked = Asked(COMMAND, on, servers, files, cc, start, None, flows, name=NAME)
    request, name = typed_request(scenario, settings, case, asked, seed, folder, "shell")
    if shutil.which("bash") is None:
        raise ToolMissing("bash", "to read what is typed", "bash")
    with Typist(on, request.case.experiment.duration, real_time=real_time) as typist:
        session = Session(name, typist, timeout_ns, real_time=real_time)
        try:
            engine = engine_called("kernel", kernel, allowed=permitted(kernels=[kernel]), wall_limit_s=wall_limit)
            engine.run(replace(request, session=session), lambda _seconds: None)
        except KeyboardInterrupt:
            raise Interrupted from None
    raise typer.Exit(_tell(result.load(request.out).birth, request.out, cut_off=typist.cut_off))


def _tell(birth: dict[str, Any], out: Path, *, cut_off: bool) -> int:
    """What to know of the run, to standard error. Returns the status."""
    notes = [f"invalid: {reason}" for reason in birth["invalid"]] + birth["warnings"]
    status = birth["session"]["status"]
    if status is None:
        over = f"the experiment was over after {birth['duration_s']:.6g} s"
        notes.append(f"{over}, before the last command; --set duration=… gives it more" if cut_off else over)
    for note in [*notes, f"{birth['duration_s']:.6g} s of the experiment's time; result: {out}"]:
        sys.stderr.write(f"dumbbell: {visible_line(note)}\n")
    if status is None:
        return NOT_DONE if cut_off else 0
    return int(status) or (0 if birth["valid"] else 1)
