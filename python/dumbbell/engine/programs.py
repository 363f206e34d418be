"""Programs of a run: what the engine adds to what they are told, what they said, and did they do as asked?"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engine.overheard import Hear, Overheard
from dumbbell.engine.validity import Verdict
from dumbbell.plan.model import Plan
from dumbbell.plan.programs import ProgramPlan

__all__ = ["Typed", "judge_programs", "keep_programs", "overheard", "tell_programs", "unlinked"]

STREAMS = ("out", "err")
MOST_LINKS = 1000
"""As `crates/agent/src/programs/room.rs` has it."""
MOST_NAMED = 3
KEPT = "64 MiB, 1,000 files"
ENTERED = "folders are looked into 64 deep and up to a path of 1,024 bytes"
"""As `crates/agent/src/programs/leavings.rs` has it."""
LAST_WORDS_BYTES = 300


@dataclass(frozen=True)
class Typed:
    """Programs whose commands somebody typed, not an experiment's file: they see what that person sees."""

    names: frozenset[str]
    folder: Path
    """Where it was typed: what lies there lies in the working folder too, as links."""
    path: str
    """Where commands are looked for."""
    heard: tuple[str, Hear] | None = None
    """One of them, and who is told what it says while it says it."""
    powers: bool = False
    """Do they keep all powers of root in the guest? Then they can write the files of who started it."""


def tell_programs(agents_plan: dict[str, Any], typed: Typed | None) -> dict[str, Any]:
    """The agent's plan with what this machine has to do with programs: people's folders, and who may see them."""
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


def overheard(plan: Plan, typed: Typed | None, room: Path) -> Overheard | None:
    """What somebody wants to hear at once of a guest that lives in `room`."""
    if typed is None or typed.heard is None:
        return None
    name, hear = typed.heard
    return Overheard(room, next(n for n, program in enumerate(plan.programs) if program.name == name), hear)


def unlinked(typed: Typed | None) -> list[str]:
    """A folder may have more in it than a working folder gets links."""
    if typed is None or (more := len(_names(typed.folder)) - MOST_LINKS) <= 0:
        return []
    return [f"{typed.folder} has {more:,} entries more than the {MOST_LINKS:,} that programs see in their folders"]


def keep_programs(room: Path, folder: Path, plan: Plan, reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Move what programs said into the result's folder; returns what the birth certificate says of each."""
    kept = folder / "programs"
    if plan.programs:
        kept.mkdir()
    entries = []
    for number, (program, report) in enumerate(zip(plan.programs, reports, strict=True)):
        files = {}
        for stream in STREAMS:
            said, name = room / "programs" / f"{number}.{stream}", f"{program.name}.{stream}"
            if said.exists():
                shutil.move(said, kept / name)
                files[f"std{stream}"] = f"programs/{name}"
        if report["files"]["kept"]:
            shutil.move(room / "programs" / f"{number}.files", kept / program.name)
            files["folder"] = f"programs/{program.name}"
        entries.append(_entry(program, report) | files)
    return entries


def judge_programs(plan: Plan, entries: Sequence[Mapping[str, Any]], folder: Path) -> Verdict:
    """What programs did otherwise than asked."""
    invalid, warnings = [], []
    for program, entry in zip(plan.programs, entries, strict=True):
        who = f"program '{program.name}'"
        if entry["fault"]:
            invalid.append(f"{who} did not start: {entry['fault']}" + _last_words(folder, entry))
        elif entry["started_s"] is None:
            warnings.append(f"{who} had not started when the experiment ended")
        elif entry["stopped"]:
            if not program.stays and program.stop_ns is None:
                warnings.append(f"{who} was not done when the experiment ended")
        elif entry["signal"] is not None:
            invalid.append(f"{who} was ended by signal {entry['signal']}" + _last_words(folder, entry))
        elif entry["status"] != program.expect_status:
            wrong = f"{who} ended with status {entry['status']}, not {program.expect_status}"
            invalid.append(wrong + _last_words(folder, entry))
        elif program.stays:
            warnings.append(f"{who} ended before the experiment did")
        if lost := entry["lost_files"]:
            more = len(lost[MOST_NAMED:]) + entry["lost_more"]
            named = ", ".join(lost[:MOST_NAMED]) + (f" and {more:,} more" if more else "")
            deep = f"; {ENTERED}" if any(name.endswith("/") for name in lost) else ""
            warnings.append(f"{who} wrote more into its folder than is kept ({KEPT}); lost: {named}{deep}")
        if any(entry["dropped_bytes"]):
            warnings.append(f"{who} said more than is kept: {sum(entry['dropped_bytes']):,} bytes are missing")
    return Verdict(invalid, warnings)


def _entry(program: ProgramPlan, report: Mapping[str, Any]) -> dict[str, Any]:
    def seconds(key: str) -> float | None:
        return None if report[key] is None else report[key] / 1e9

    plain = {key: report[key] for key in ("status", "signal", "stopped", "fault", "dropped_bytes")}
    return {
        "name": program.name,
        "host": program.host,
        "command": list(program.argv),
        "cc": program.cc,
        "started_s": seconds("started_ns"),
        "ended_s": seconds("ended_ns"),
        "expect_status": program.expect_status,
        **plain,
        "lost_files": report["files"]["lost"],
        "lost_more": report["files"]["lost_more"],
    }


def _last_words(folder: Path, entry: Mapping[str, Any]) -> str:
    """The end of what it said to standard error."""
    if "stderr" not in entry:
        return ""
    text = (folder / entry["stderr"]).read_bytes()[-LAST_WORDS_BYTES:].decode(errors="replace").strip()
    return f"; its last words: {text.splitlines()[-1]}" if text else ""


def _homes() -> list[str]:
    """Where people's files are: their homes, and wherever this one's is."""
    return list(dict.fromkeys(["/home", "/root", os.path.expanduser("~")]))  # noqa: PTH111 — Path.home() raises where there is none


def _links(folder: Path, taken: set[str]) -> list[dict[str, Any]]:
    """What lies in a folder, as links."""
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
