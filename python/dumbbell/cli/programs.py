"""`dumbbell exec` and `dumbbell shell`: programs of this host on a host of an experiment, in virtual time."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.options import (
    MOST_WALL_S,
    Command,
    case_option,
    file_option,
    flows_option,
    json_option,
    kernel_option,
    out_option,
    scenario_argument,
    seed_option,
    server_option,
    set_option,
)
from dumbbell.control_characters import visible_line
from dumbbell.errors import ExitStatus

if TYPE_CHECKING:
    from dumbbell.engines import Request
    from dumbbell.engines.programs import OutputListener
    from dumbbell.results.keys import RunManifest
    from dumbbell.spec.typed import TypedCommand

__all__ = ["exec_", "shell", "typed_request"]


def typed_request(  # noqa: PLR0913 — a command has many options
    scenario: str, settings: Sequence[str], case: str | None, typed_command: "TypedCommand", seed: int | None,
    out: Path | None, folder_suffix: str, on_output: "OutputListener | None" = None, *, powers: bool = False,
) -> tuple["Request", str]:  # fmt: skip
    """The request for the scenario with the user's command, and the command's name among its programs.

    `folder_suffix` ends the name of the default folder; `on_output` receives the program's output; `powers` is
    explained at `Typed`. Raises `ExperimentError`.
    """
    from dumbbell.engines import Request
    from dumbbell.engines.base import default_folder
    from dumbbell.engines.programs import Typed
    from dumbbell.spec import find, load
    from dumbbell.spec.document import chosen
    from dumbbell.spec.typed import with_typed

    file = find(scenario)
    typed_case, name, names = with_typed(
        chosen(load(file, settings, (case,) if case else ()), case, scenario), typed_command
    )
    number = typed_case.experiment.seeds[0] if seed is None else seed
    typed = Typed(
        names, Path.cwd(), os.environ.get("PATH", os.defpath), (name, on_output) if on_output else None, powers
    )
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    folder = out or default_folder(f"{file.stem}-{folder_suffix}")
    return Request(file.stem, typed_case, number, folder, command, typed=typed), name


NOT_DONE = 124
"""As timeout(1) returns: stopped, or the experiment ended before the last command."""
NOT_STARTED = 127
"""As shells return."""
BY_SIGNAL = 128


@click.command("exec", cls=Command, older={"--on": "--host"})
@scenario_argument
@click.argument(
    "command", nargs=-1, metavar="[-- COMMAND...]", help="Program to run, with its arguments; default: a shell."
)
@click.option(
    "--host",
    "on",
    default=None,
    metavar="HOST",
    help="Host that runs it: sender, receiver, or another host of the plan; default: receiver, of a shell sender.",
)
@server_option
@file_option
@click.option("--cc", metavar="NAME", help="Congestion control for the hosts that run the programs.")
@flows_option
@click.option("--start", metavar="TIME", help="Start the command at this time.")
@click.option("--timeout", metavar="TIME", help="Stop the command after this time; default: the experiment's duration.")
@click.option(
    "--powers",
    is_flag=True,
    help="Keep all root capabilities; the program can then write to your files. Needed for --engine host in a guest.",
)
@case_option
@seed_option
@set_option
@out_option
@kernel_option
@json_option
@click.pass_context
def exec_(  # noqa: PLR0913, PLR0917 — a command has many options
    ctx: click.Context,
    scenario: str,
    command: tuple[str, ...],
    on: str | None = None,
    servers: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    cc: str | None = None,
    flows: bool = True,
    start: str | None = None,
    timeout: str | None = None,
    powers: bool = False,
    case: str | None = None,
    seed: int | None = None,
    settings: tuple[str, ...] = (),
    folder: Path | None = None,
    kernel: str | None = None,
    as_json: bool = False,
) -> None:
    """Run a program on a host of an experiment.

    The program comes from this host; without one a shell opens, as by `dumbbell shell`. The exit status is the
    program's. With --json its output goes to standard error.
    """
    if not command:
        _open_shell(ctx, as_json=as_json, powers=powers)
        return
    from dumbbell.cli.runs import execute_runs
    from dumbbell.engines.base import engine_called, permitted
    from dumbbell.results import result
    from dumbbell.spec.typed import TypedCommand

    typed_command = TypedCommand(
        _with_absolute_program(command), on or "receiver", servers, files, cc, start, timeout, flows
    )
    request, name = typed_request(
        scenario,
        settings,
        case,
        typed_command,
        seed,
        folder,
        "exec",
        _to_stderr if as_json else _pass_output,
        powers=powers,
    )
    execute_runs([(engine_called("kernel", kernel, allowed=permitted(kernels=[kernel])), request)], 1, bar=False)
    manifest = result.load(request.out).manifest
    status = _report(manifest, request.out, name)
    if as_json:
        from dumbbell.cli.console import print_json

        entry = next(program for program in manifest["programs"] if program["name"] == name)
        keys = ("host", "started_s", "ended_s", "status", "signal", "stopped")
        print_json({"run": str(request.out), "valid": manifest["valid"], **{key: entry[key] for key in keys}})
    raise click.exceptions.Exit(status)


def _open_shell(ctx: click.Context, *, as_json: bool, powers: bool) -> None:
    """`dumbbell shell` with the same options."""
    from dumbbell.errors import ExperimentError

    for key, is_given in (("--json", as_json), ("--powers", powers)):
        if is_given:
            raise ExperimentError("an option of a program", key=key, right="add a program: -- COMMAND")
    known = {parameter.name for parameter in shell.params}
    given = {name: value for name, value in ctx.params.items() if name in known and value is not None}
    ctx.invoke(shell, **given)


def _to_stderr(_stream: str, data: bytes) -> None:
    """Standard output belongs to the JSON object."""
    _pass_output("err", data)


def _pass_output(stream: str, data: bytes) -> None:
    """Pass the bytes through at once, to the same stream: the user typed the command."""
    to = sys.stdout if stream == "out" else sys.stderr
    to.buffer.write(data)
    to.flush()


def _report(manifest: "RunManifest", out: Path, name: str) -> int:
    """Print warnings, times and the result folder to standard error. Returns the program's status."""
    entry = next(program for program in manifest["programs"] if program["name"] == name)
    times = f"{manifest['duration_s']:.6g} s of virtual time, {manifest['wall_s']:.1f} s of real time"
    written = f"; files: {out / entry['folder']}" if "folder" in entry else ""
    _print_notes(manifest, [f"{times}; result: {out}{written}"])
    return _status(entry, valid=manifest["valid"])


def _status(entry: dict[str, Any], *, valid: bool) -> int:
    if entry["fault"] or entry["started_s"] is None:
        return NOT_STARTED
    if entry["stopped"]:
        return NOT_DONE
    if entry["signal"] is not None:
        return BY_SIGNAL + int(entry["signal"])
    return int(entry["status"]) or ExitStatus.of(valid=valid, positive=True)


def _with_absolute_program(command: Sequence[str]) -> list[str]:
    """The command with the absolute path of its program, if the path was relative."""
    program, *arguments = command
    if "/" in program and not program.startswith("/"):
        program = str(Path.cwd() / program)
    return [program, *arguments]


NAME = "shell"


@click.command("shell", cls=Command, older={"--on": "--host"})
@scenario_argument
@click.option(
    "--host",
    "on",
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
    type=click.FloatRange(min=1, max=MOST_WALL_S),
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
    from dumbbell.cli.repl import Repl
    from dumbbell.cli.streams import Interrupted
    from dumbbell.engines.base import engine_called, permitted
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
    raise click.exceptions.Exit(_report_session(result.load(request.out).manifest, request.out, cut_off=repl.cut_off))


def _report_session(manifest: "RunManifest", out: Path, *, cut_off: bool) -> int:
    """Print warnings, the time and the result folder to standard error. Returns the status."""
    notes: list[str] = []
    status = manifest["session"]["status"]
    if status is None:
        over = f"the experiment ended after {manifest['duration_s']:.6g} s"
        notes.append(f"{over}, before the last command; extend it with --set duration=…" if cut_off else over)
    _print_notes(manifest, [*notes, f"{manifest['duration_s']:.6g} s of virtual time; result: {out}"])
    if status is None:
        return NOT_DONE if cut_off else 0
    return int(status) or ExitStatus.of(valid=manifest["valid"], positive=True)


def _print_notes(manifest: "RunManifest", more: Sequence[str]) -> None:
    for note in [*(f"invalid: {reason}" for reason in manifest["invalid"]), *manifest["warnings"], *more]:
        sys.stderr.write(f"dumbbell: {visible_line(note)}\n")
