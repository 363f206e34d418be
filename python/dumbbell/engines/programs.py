"""Programs of a run: the agent's plan for them; their output, files and exit status.

Output is read while a program runs from the files in which the agent stores it, only for programs whose command the
user typed. `connections` has their connections.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.engines.run_manifest import Verdict
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, Program
from dumbbell.stacks import Built, find

__all__ = [
    "OutputListener",
    "OutputTail",
    "Typed",
    "built_stacks",
    "output_tails",
    "program_entries",
    "program_problems",
    "program_settings",
    "typed_programs",
    "unlinked",
]


OutputListener = Callable[[str, bytes], None]
"""Called with the stream, `out` or `err`, and its new output."""


class OutputTail:
    """Reads the two output streams of program `number`."""

    def __init__(self, run_folder: Path, number: int, on_output: OutputListener) -> None:
        self._on_output = on_output
        self._files = {stream: run_folder / "programs" / f"{number}.{stream}" for stream in ("out", "err")}
        self._passed_bytes = dict.fromkeys(self._files, 0)

    def pass_on(self) -> None:
        """Pass on new output."""
        for stream, file in self._files.items():
            if new := _beyond(file, self._passed_bytes[stream]):
                self._passed_bytes[stream] += len(new)
                self._on_output(stream, new)


def _beyond(path: Path, passed_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(passed_bytes)
            return file.read()
    except FileNotFoundError:
        return b""


STREAMS = ("out", "err")
MOST_LINKS = 1000
"""Must equal the limit in `crates/agent/src/programs/sandbox.rs`."""
MOST_NAMED = 3
KEPT = "64 MiB, 1,000 files"
ENTERED = "folders are copied up to 64 levels deep and 1,024 bytes of path"
"""The limits in `crates/agent/src/programs/artifacts.rs`."""
OUTPUT_TAIL_BYTES = 300


@dataclass(frozen=True)
class Typed:
    """Programs whose commands the user typed, not an experiment's file: they see the user's files."""

    names: frozenset[str]
    folder: Path
    """The current folder: its entries appear as links in the working folder."""
    path: str
    """Search path for commands."""
    listener: tuple[str, OutputListener] | None = None
    """A program and the callback for its output while it runs."""
    powers: bool = False
    """Do they keep all capabilities of root in the guest? Then they can write the user's files."""


@dataclass(frozen=True)
class ProgramSettings:
    """What all programs see of the machine."""

    homes: list[str]
    """Home directories, visible only to typed programs."""
    shown: list[str]
    """Folders of Dumbbell's installation."""
    commands: str | None
    """Folder of the command `dumbbell`."""
    stacks: list["StackSettings"]
    """Stacks of QUIC flows."""


@dataclass(frozen=True)
class StackSettings:
    """A QUIC stack that is built, as its programs start."""

    name: str
    argv: list[str]
    """Program and first arguments."""
    server_argv: list[str]
    """More arguments of a server: its certificate."""
    env: list[tuple[str, str]]
    folders: list[str]
    """Folders that its programs need."""


def program_settings(plan: Plan) -> ProgramSettings:
    """What programs see of this machine. Raises `ExperimentError` for a QUIC stack that is not built."""
    homes = [folder for folder in _homes() if Path(folder).is_dir()]
    stacks = [_stack_settings(built) for built in built_stacks(plan)]
    return ProgramSettings(homes, _installation(), sysconfig.get_path("scripts"), stacks)


def built_stacks(plan: Plan, file: str = "") -> list[Built]:
    """The stacks of a plan's QUIC flows. Raises `ExperimentError`, in the experiment's `file`, for one not built."""
    found = []
    for name in dict.fromkeys(flow.stack for flow in plan.flows if flow.stack is not None):
        built = find(name)
        if built is None:
            groups = list(dict.fromkeys(flow.group for flow in plan.flows))
            number = groups.index(next(flow.group for flow in plan.flows if flow.stack == name))
            right = f"dumbbell stack build {name}"
            raise ExperimentError(
                "this QUIC stack is not built", file=file, key=f"flows.{number}.stack", value=name, right=right
            )
        found.append(built)
    return found


def _stack_settings(built: Built) -> StackSettings:
    return StackSettings(
        built.stack.name,
        list(built.argv),
        ["--cert", str(built.certificate), "--key", str(built.key)],
        list(built.environment.items()),
        sorted({str(built.folder), str(built.folder.resolve())}),
    )


@dataclass(frozen=True)
class TypedPrograms:
    """Typed programs as the agent is told of them."""

    names: frozenset[str]
    folder: str
    path: str
    powers: bool
    links: list[tuple[str, str]]
    """Entries of the folder as links in the working folder: name and target."""


def typed_programs(typed: Typed) -> TypedPrograms:
    """What the agent is told of typed programs."""
    links = [(name, str(typed.folder / name)) for name in _names(typed.folder)[:MOST_LINKS]]
    return TypedPrograms(typed.names, str(typed.folder.absolute()), typed.path, typed.powers, links)


def output_tails(plan: Plan, typed: Typed | None, run_folder: Path) -> OutputTail | None:
    """The output to pass on while the guest in `run_folder` runs, if any."""
    if typed is None or typed.listener is None:
        return None
    name, on_output = typed.listener
    return OutputTail(run_folder, next(n for n, program in enumerate(plan.programs) if program.name == name), on_output)


def unlinked(typed: Typed | None) -> list[str]:
    """A warning if a folder has more entries than a working folder gets links."""
    if typed is None or (more := len(_names(typed.folder)) - MOST_LINKS) <= 0:
        return []
    return [f"{typed.folder} has {more:,} entries more than the {MOST_LINKS:,} that programs can see"]


def program_entries(
    run_folder: Path, folder: Path, plan: Plan, reports: Sequence[_sim.ProgramReport]
) -> list[dict[str, Any]]:
    """Move the programs' output to the result folder; returns their manifest entries."""
    stored = folder / "programs"
    if plan.programs:
        stored.mkdir()
    entries = []
    for number, (program, report) in enumerate(zip(plan.programs, reports, strict=True)):
        files = {}
        for stream in STREAMS:
            output, name = run_folder / "programs" / f"{number}.{stream}", f"{program.name}.{stream}"
            if output.exists():
                shutil.move(output, stored / name)
                files[f"std{stream}"] = f"programs/{name}"
        if report.kept_files:
            shutil.move(run_folder / "programs" / f"{number}.files", stored / program.name)
            files["folder"] = f"programs/{program.name}"
        flow = {} if program.flow is None else {"flow": plan.flows[program.flow].name}
        entries.append(_entry(program, report) | flow | files)
    return entries


def program_problems(plan: Plan, entries: Sequence[Mapping[str, Any]], folder: Path) -> Verdict:
    """Where programs deviated from the experiment."""
    invalid, warnings = [], []
    for program, entry in zip(plan.programs, entries, strict=True):
        who = f"program '{program.name}'"
        if entry["fault"]:
            invalid.append(f"{who} did not start: {entry['fault']}" + _output_tail(folder, entry))
        elif entry["started_s"] is None:
            warnings.append(f"{who} had not started when the experiment ended")
        elif entry["stopped"]:
            if not program.stays and program.stop_ns is None:
                warnings.append(f"{who} was not done when the experiment ended")
        elif entry["signal"] is not None:
            invalid.append(f"{who} was killed by signal {entry['signal']}" + _output_tail(folder, entry))
        elif entry["status"] != program.expect_status:
            wrong = f"{who} exited with status {entry['status']}, not {program.expect_status}"
            invalid.append(wrong + _output_tail(folder, entry))
        elif program.stays:
            warnings.append(f"{who} exited before the experiment ended")
        if lost := entry["lost_files"]:
            more = len(lost[MOST_NAMED:]) + entry["lost_more"]
            named = ", ".join(lost[:MOST_NAMED]) + (f" and {more:,} more" if more else "")
            deep = f"; {ENTERED}" if any(name.endswith("/") for name in lost) else ""
            warnings.append(f"{who} wrote more files than are copied ({KEPT}); lost: {named}{deep}")
        if any(entry["dropped_bytes"]):
            warnings.append(f"{who} wrote more output than is stored: {sum(entry['dropped_bytes']):,} bytes are lost")
    return Verdict(invalid, warnings)


def _entry(program: Program, report: _sim.ProgramReport) -> dict[str, Any]:
    plain = {key: getattr(report, key) for key in ("status", "signal", "stopped", "fault", "dropped_bytes")}
    return {
        "name": program.name,
        "host": program.host,
        "command": list(program.argv),
        "cc": program.cc,
        "started_s": _seconds(report.started_ns),
        "ended_s": _seconds(report.ended_ns),
        "expect_status": program.expect_status,
        **plain,
        "lost_files": report.lost_files,
        "lost_more": report.lost_more,
    }


def _seconds(time_ns: int | None) -> float | None:
    """A time of a report in seconds; None if unknown."""
    return None if time_ns is None else time_ns / 1e9


def _output_tail(folder: Path, entry: Mapping[str, Any]) -> str:
    """The last line of its standard error."""
    if "stderr" not in entry:
        return ""
    text = (folder / entry["stderr"]).read_bytes()[-OUTPUT_TAIL_BYTES:].decode(errors="replace").strip()
    return f"; its last output: {text.splitlines()[-1]}" if text else ""


def _homes() -> list[str]:
    """Folders with users' files: home directories, including this user's."""
    return list(dict.fromkeys(["/home", "/root", os.path.expanduser("~")]))  # noqa: PTH111 — Path.home() raises where there is none


def _installation() -> list[str]:
    """Folders that the command `dumbbell` needs: its environment, that environment's Python, this package."""
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    return sorted({str(each) for folder in folders for each in (folder, folder.resolve())})


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []
