"""`dumbbell exec`: a program of this machine on a host of an experiment, in the experiment's time."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["exec_"]

NOT_DONE = 124
"""As `timeout` of coreutils has it."""
NOT_STARTED = 127
"""As shells have it."""
BY_SIGNAL = 128


def exec_(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO|FILE", help="Whose path and flows.")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, and its arguments.")],
    on: Annotated[str, typer.Option(metavar="HOST", help="sender, receiver, or another host of the plan.")] = (
        "receiver"
    ),
    servers: Annotated[
        list[str], typer.Option("--server", metavar="COMMAND", help="Runs at the other end; repeatable.")
    ] = [],  # noqa: B006 — typer copies it
    files: Annotated[
        list[str], typer.Option("--file", metavar="NAME=SIZE", help="Zero bytes in the working folders; repeatable.")
    ] = [],  # noqa: B006
    cc: Annotated[str | None, typer.Option(metavar="NAME", help="Congestion control of these programs' hosts.")] = None,
    flows: Annotated[bool, typer.Option("--flows/--no-flows", help="Run the experiment's own flows too.")] = True,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="When the command starts.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Instead of the experiment's duration.")] = None,
    case: Annotated[str | None, typer.Option(help="Which case; default: the first.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Default: the experiment's first.")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = [],  # noqa: B006
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the result goes.")] = None,
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Which kernel; see kernel list.")] = None,
) -> None:
    """Run a program of this machine on a host of an experiment; exits with the program's status."""
    from dumbbell import result  # noqa: PLC0415 — a slip in an option answers at once
    from dumbbell.cli.carry import carry_out  # noqa: PLC0415
    from dumbbell.engine import Request  # noqa: PLC0415
    from dumbbell.engine.programs import Typed  # noqa: PLC0415
    from dumbbell.engine.requests import default_folder, engine_called  # noqa: PLC0415
    from dumbbell.spec import find, load  # noqa: PLC0415
    from dumbbell.spec.document import chosen  # noqa: PLC0415
    from dumbbell.spec.typed import Asked, with_typed  # noqa: PLC0415

    file = find(scenario)
    asked = Asked(_seen_from_afar(command), on, servers, files, cc, start, timeout, flows)
    typed_case, name, names = with_typed(chosen(load(file, settings), case, scenario), asked)
    typed = Typed(names, Path.cwd(), os.environ.get("PATH", os.defpath))
    out = folder or default_folder(f"{file.stem}-exec")
    number = typed_case.experiment.seeds[0] if seed is None else seed
    request = Request(file.stem, typed_case, number, out, shlex.join(["dumbbell", *sys.argv[1:]]), typed=typed)
    carry_out([(engine_called("kernel", kernel), request)], 1)
    raise typer.Exit(_tell(result.load(out).birth, out, name))


def _tell(birth: dict[str, Any], out: Path, name: str) -> int:
    """What the program said, where it said it; then, to standard error, what to know of the run. Returns its status."""
    entry = next(program for program in birth["programs"] if program["name"] == name)
    for stream, said in ((sys.stdout, entry.get("stdout")), (sys.stderr, entry.get("stderr"))):
        if said is not None:
            stream.buffer.write((out / said).read_bytes())
            stream.flush()
    notes = [f"invalid: {reason}" for reason in birth["invalid"]] + birth["warnings"]
    times = f"{birth['duration_s']:.6g} s of the experiment's time, {birth['wall_s']:.1f} s of yours"
    for note in [*notes, f"{times}; result: {out}"]:
        sys.stderr.write(f"dumbbell: {note}\n")
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
