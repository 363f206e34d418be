"""`dumbbell exec`: run a program of this host on a host of an experiment, in virtual time."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import sys
from collections.abc import Sequence
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

__all__ = ["exec_"]

NOT_DONE = 124
"""As timeout(1) returns."""
NOT_STARTED = 127
"""As shells return."""
BY_SIGNAL = 128


@click.command("exec")
@scenario_argument
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...", help="Program to run, with its arguments.")
@click.option(
    "--on",
    default="receiver",
    metavar="HOST",
    help="Host that runs the program: sender, receiver, or another host of the plan.",
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
def exec_(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: str,
    command: tuple[str, ...],
    on: str = "receiver",
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
) -> None:
    """Run a program on a host of an experiment.

    The program comes from this host. The exit status is the program's.
    """
    from dumbbell.cli.run_executor import execute_runs
    from dumbbell.engines.permissions import permitted
    from dumbbell.engines.requests import engine_called
    from dumbbell.results import result
    from dumbbell.spec.typed import TypedCommand

    typed_command = TypedCommand(_with_absolute_program(command), on, servers, files, cc, start, timeout, flows)
    request, name = typed_request(
        scenario, settings, case, typed_command, seed, folder, "exec", _pass_output, powers=powers
    )
    execute_runs([(engine_called("kernel", kernel, allowed=permitted(kernels=[kernel])), request)], 1, bar=False)
    raise click.exceptions.Exit(_report(result.load(request.out).manifest, request.out, name))


def _pass_output(stream: str, data: bytes) -> None:
    """Pass the bytes through at once, to the same stream: the user typed the command."""
    to = sys.stdout if stream == "out" else sys.stderr
    to.buffer.write(data)
    to.flush()


def _report(manifest: dict[str, Any], out: Path, name: str) -> int:
    """Print warnings, times and the result folder to standard error. Returns the program's status."""
    entry = next(program for program in manifest["programs"] if program["name"] == name)
    notes = [f"invalid: {reason}" for reason in manifest["invalid"]] + manifest["warnings"]
    times = f"{manifest['duration_s']:.6g} s of virtual time, {manifest['wall_s']:.1f} s of real time"
    written = f"; files: {out / entry['folder']}" if "folder" in entry else ""
    for note in [*notes, f"{times}; result: {out}{written}"]:
        sys.stderr.write(f"dumbbell: {visible_line(note)}\n")
    return _status(entry, valid=manifest["valid"])


def _status(entry: dict[str, Any], *, valid: bool) -> int:
    if entry["fault"] or entry["started_s"] is None:
        return NOT_STARTED
    if entry["stopped"]:
        return NOT_DONE
    if entry["signal"] is not None:
        return BY_SIGNAL + int(entry["signal"])
    return int(entry["status"]) or (0 if valid else 1)


def _with_absolute_program(command: Sequence[str]) -> list[str]:
    """The command with the absolute path of its program, if the path was relative."""
    program, *arguments = command
    if "/" in program and not program.startswith("/"):
        program = str(Path.cwd() / program)
    return [program, *arguments]
