"""Programs of a run: the agent's plan for them, and their output, files and exit status."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.output_tail import OutputListener, OutputTail
from dumbbell.engines.run_manifest import seconds
from dumbbell.engines.validity import Verdict
from dumbbell.plan.model import Plan, ProgramPlan

__all__ = ["Typed", "output_tails", "program_entries", "program_problems", "unlinked", "write_program_setup"]

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


def write_program_setup(agents_plan: dict[str, Any], typed: Typed | None) -> dict[str, Any]:
    """The agent's plan with home directories, and with the settings of typed programs."""
    if "programs" not in agents_plan:
        return agents_plan
    shared = agents_plan["programs"]
    shared["homes"] = [folder for folder in _homes() if Path(folder).is_dir()]
    if typed is not None:
        shared["typed_folder"] = str(typed.folder.absolute())
    for program in shared["all"]:
        if typed is not None and program["name"] in typed.names:
            program["typed"] = True
            program["keeps_powers"] = typed.powers
            program["env"] = {"PATH": typed.path} | program["env"]
            program["files"] += _links(typed.folder, {file["path"].split("/")[0] for file in program["files"]})
    return agents_plan


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
    run_folder: Path, folder: Path, plan: Plan, reports: Sequence[Mapping[str, Any]]
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
        if report["files"]["kept"]:
            shutil.move(run_folder / "programs" / f"{number}.files", stored / program.name)
            files["folder"] = f"programs/{program.name}"
        entries.append(_entry(program, report) | files)
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


def _entry(program: ProgramPlan, report: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: report[key] for key in ("status", "signal", "stopped", "fault", "dropped_bytes")}
    return {
        "name": program.name,
        "host": program.host,
        "command": list(program.argv),
        "cc": program.cc,
        "started_s": seconds(report, "started_ns"),
        "ended_s": seconds(report, "ended_ns"),
        "expect_status": program.expect_status,
        **plain,
        "lost_files": report["files"]["lost"],
        "lost_more": report["files"]["lost_more"],
    }


def _output_tail(folder: Path, entry: Mapping[str, Any]) -> str:
    """The last line of its standard error."""
    if "stderr" not in entry:
        return ""
    text = (folder / entry["stderr"]).read_bytes()[-OUTPUT_TAIL_BYTES:].decode(errors="replace").strip()
    return f"; its last output: {text.splitlines()[-1]}" if text else ""


def _homes() -> list[str]:
    """Folders with users' files: home directories, including this user's."""
    return list(dict.fromkeys(["/home", "/root", os.path.expanduser("~")]))  # noqa: PTH111 — Path.home() raises where there is none


def _links(folder: Path, taken: set[str]) -> list[dict[str, Any]]:
    """The entries of a folder as links."""
    return [
        {"path": name, "text": None, "bytes": None, "link": str(folder / name)}
        for name in _names(folder)[:MOST_LINKS]
        if name not in taken
    ]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []
