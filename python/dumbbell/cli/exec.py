"""`dumbbell exec`: a program of this machine on a host of an experiment, in the experiment's time."""

import sys
from collections.abc import Sequence
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

__all__ = ["exec_"]

NOT_DONE = 124
"""As `timeout` of coreutils has it."""
NOT_STARTED = 127
"""As shells have it."""
BY_SIGNAL = 128


def exec_(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: Scenario,
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, and its arguments.")],
    on: Host = "receiver",
    servers: Servers = [],  # noqa: B006 — typer copies it
    files: Files = [],  # noqa: B006
    cc: Annotated[str | None, typer.Option(metavar="NAME", help="Congestion control of these programs' hosts.")] = None,
    flows: Flows = True,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="When the command starts.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Instead of the experiment's duration.")] = None,
    powers: Annotated[
        bool,
        typer.Option("--powers", help="Root without limits, which could write your files: for dumbbell --engine host."),
    ] = False,
    case: CaseName = None,
    seed: Seed = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = [],  # noqa: B006
    folder: Out = None,
    kernel: KernelName = None,
) -> None:
    """Run a program of this machine on a host of an experiment; exits with the program's status."""
    from dumbbell import result  # noqa: PLC0415 — a slip in an option answers at once
    from dumbbell.cli.carry import carry_out  # noqa: PLC0415
    from dumbbell.engine.permissions import permitted  # noqa: PLC0415
    from dumbbell.engine.requests import engine_called  # noqa: PLC0415
    from dumbbell.spec.typed import Asked  # noqa: PLC0415

    asked = Asked(_seen_from_afar(command), on, servers, files, cc, start, timeout, flows)
    request, name = typed_request(scenario, settings, case, asked, seed, folder, "exec", _say, powers=powers)
    carry_out([(engine_called("kernel", kernel, allowed=permitted(kernels=[kernel])), request)], 1, bar=False)
    raise typer.Exit(_tell(result.load(request.out).birth, request.out, name))


def _say(stream: str, said: bytes) -> None:
    """At once and as it is, where the program said it: the user typed its command."""
    to = sys.stdout if stream == "out" else sys.stderr
    to.buffer.write(said)
    to.flush()


def _tell(birth: dict[str, Any], out: Path, name: str) -> int:
    """To standard error what to know of the run. Returns the program's status."""
    entry = next(program for program in birth["programs"] if program["name"] == name)
    notes = [f"invalid: {reason}" for reason in birth["invalid"]] + birth["warnings"]
    times = f"{birth['duration_s']:.6g} s of the experiment's time, {birth['wall_s']:.1f} s of yours"
    written = f"; its files: {out / entry['folder']}" if "folder" in entry else ""
    for note in [*notes, f"{times}; result: {out}{written}"]:
        sys.stderr.write(f"dumbbell: {visible_line(note)}\n")
    return _status(entry, valid=birth["valid"])


def _status(entry: dict[str, Any], *, valid: bool) -> int:
    if entry["fault"] or entry["started_s"] is None:
        return NOT_STARTED
    if entry["stopped"]:
        return NOT_DONE
    if entry["signal"] is not None:
        return BY_SIGNAL + int(entry["signal"])
    return int(entry["status"]) or (0 if valid else 1)


def _seen_from_afar(command: Sequence[str]) -> list[str]:
    """The command with its program by its whole path, when it was named by a relative one."""
    program, *arguments = command
    if "/" in program and not program.startswith("/"):
        program = str(Path.cwd() / program)
    return [program, *arguments]
