"""Shared by the engines that run the agent, in a guest or in namespaces: limits, progress, records, manifest."""

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import __version__
from dumbbell.engines import decode, recordings
from dumbbell.engines.base import Request
from dumbbell.engines.program_connections import read_connections
from dumbbell.engines.run_manifest import RunOutcome, base_manifest, queue_entries, sha256
from dumbbell.engines.validity import Verdict
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, QueuePlan
from dumbbell.results.columns import Framed

__all__ = [
    "agent_manifest",
    "depends_on_programs",
    "flow_memory_mib",
    "read_run_folder",
    "refuse_packet_fates",
    "refuse_simulator_only_options",
    "seconds_done",
]

GENERATOR = "agent: sendfile of large pieces, MSG_TRUNC reads"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path of the agent."""
PROGRAM_PATH = f"/usr/local/sbin:/usr/local/bin:{PATH}"
"""Search path for programs of experiments; must equal the one in `crates/agent/src/programs/launch.rs`."""
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Each flow may hold this many bandwidth-delay products of packets: in flight, queued, waiting to be read."""
MIN_SAMPLE_NS = 100_000
"""Querying a socket takes the kernel tens of microseconds of wall time."""


def refuse_simulator_only_options(request: Request, plan: Plan) -> None:
    """Raises `ExperimentError` for options that only the simulator supports."""
    if plan.every_change:
        raise ExperimentError(
            "this engine can't record every change",
            file=str(request.case.file), key="trace", value="events", right='trace = "samples", or --engine sim',
        )  # fmt: skip
    if plan.telemetry:
        raise ExperimentError(
            "Linux's qdiscs write no telemetry into packets",
            file=str(request.case.file), key="path.telemetry", value=True, right="leave it out, or --engine sim",
        )  # fmt: skip
    if plan.sample_ns < MIN_SAMPLE_NS:
        raise ExperimentError(
            "the sampling interval is too short for this engine (at least 100us)",
            file=str(request.case.file), key="sample", value=f"{plan.sample_ns}ns", right="100us, or --engine sim",
        )  # fmt: skip
    commands = [*plan.setup, *(change.command for change in plan.changes)]
    if any(command.argv[0] == "tc" and "every" in command.argv for command in commands):
        raise ExperimentError(
            "Linux's netem can't drop every N-th packet",
            file=str(request.case.file), key="loss", right="a random loss such as 1%, or --engine sim",
        )  # fmt: skip


def refuse_packet_fates(request: Request, problem: str, right: str) -> None:
    """Raises `ExperimentError` if the experiment drops or delays single packets, which this kernel can't do."""
    if request.case.experiment.path.packets:
        raise ExperimentError(problem, file=str(request.case.file), key="path.packets", right=right)


def flow_memory_mib(plan: Plan) -> int:
    """Memory for flows and the queues of a fast path."""
    fastest = max((rate for queue in plan.queues for _, rate in queue.rates), default=10**10)
    in_flight = BDP_COPIES * len(plan.flows) * 2**20 + fastest // 8 // 2
    return round(FLOW_MEMORY_MIB * len(plan.flows)) + min(in_flight >> 20, 4096)


def seconds_done(records: Path, plan: Plan) -> float:
    """Seconds of the experiment that are done, from the number of records that the agent has written."""
    try:
        written = records.stat().st_size // decode.QUEUE_RECORD.itemsize
    except FileNotFoundError:
        return 0.0
    return written // max(len(plan.queues), 1) * plan.sample_ns / 1e9


def read_run_folder(
    run_folder: Path, plan: Plan
) -> tuple[Plan, dict[str, pl.DataFrame], dict[str, Any], list[QueuePlan]]:
    """The plan with programs' connections as flows, all tables, the content of `end.json`, and the queues' plans."""
    end = json.loads((run_folder / "end.json").read_text(encoding="utf-8"))
    named = decode.name_queues(end["queues"], plan.queues)
    found = read_connections(run_folder / "connections.bin", plan, end)
    end["flows"] += found.reports
    tables = {
        "flows": decode.flows(run_folder / "flows.bin", found.plan, found.records),
        "queues": decode.queues(run_folder / "queues.bin", named, [queue["kind"] for queue in end["queues"]]),
        "probes": decode.probes(run_folder / "probes.bin", plan),
        **recordings.tables(run_folder, plan, end),
    }
    return found.plan, tables, end, named


def agent_manifest(
    engine: str, agent: Path, request: Request, plan: Plan, end: Mapping[str, Any], named: Sequence[QueuePlan],
    tables: Mapping[str, pl.DataFrame], verdict: Verdict,
) -> dict[str, Any]:  # fmt: skip
    """The manifest of a run read by `read_run_folder`, without the kernel and the host."""
    outcome = RunOutcome(end["duration_ns"], end["flows"], queue_entries(named, Framed(tables["queues"])))
    return base_manifest(engine, request, plan, outcome, verdict) | {
        "agent": {"version": __version__, "sha256": sha256(agent)},
        "generator": GENERATOR,
        "counters": end["counters"],
        "settings": end["settings"],
        "machine_programs": _machine_programs(plan, end),
    }


def depends_on_programs(end: Mapping[str, Any]) -> list[str]:
    """A warning for each ip or tc that the agent left commands to: another version may give another result."""
    return [
        f"the result depends on '{used['program']}' ({used['version']}), which ran {_commands(used['commands'])}: "
        "Dumbbell does not execute such a command itself"
        for used in end["machine_programs"]
    ]


def _commands(lines: Sequence[str]) -> str:
    first = f"'{lines[0]}'"
    return first if len(lines) == 1 else f"{first} and {len(lines) - 1:,} more"


def _machine_programs(plan: Plan, end: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Programs of this machine that ran: what the result depends on besides Dumbbell and the kernel."""
    of_experiment = [
        {"program": program.argv[0], "version": None, "commands": [f"[{program.host}] {shlex.join(program.argv)}"]}
        for program in plan.programs
    ]
    return [_identified(used) for used in (*end["machine_programs"], *of_experiment)]


def _identified(used: Mapping[str, Any]) -> dict[str, Any]:
    if "host" in used:  # Another machine's.
        return dict(used)
    path = shutil.which(used["program"], path=PROGRAM_PATH)
    return {**used, "path": path, "sha256": sha256(Path(path)) if path else None}
