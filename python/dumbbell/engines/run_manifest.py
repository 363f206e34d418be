"""The manifest of a run: experiment, engine, outcome.

Engines add their own entries (kernel, version, counters).
"""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import __version__
from dumbbell.engines.base import Request
from dumbbell.engines.validity import Verdict
from dumbbell.plan import FlowPlan, Plan, QueuePlan
from dumbbell.results import result
from dumbbell.spec.experiment import document_of

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results.columns import Table

__all__ = ["RunOutcome", "base_manifest", "queue_entries", "seconds", "sha256", "totals"]


@dataclass(frozen=True)
class RunOutcome:
    """An engine's report of a run."""

    duration_ns: int
    """Actual duration."""
    flows: Sequence[Mapping[str, Any]]
    """Flow reports in the order of the plan, with the agent's keys."""
    queues: list[dict[str, Any]]
    """From `queue_entries`."""


def base_manifest(engine: str, request: Request, plan: Plan, outcome: RunOutcome, verdict: Verdict) -> dict[str, Any]:
    """`run.json` without the engine's own entries."""
    experiment = request.case.experiment
    document = document_of(experiment)
    commands = plan.setup if engine == "sim" else (*plan.module_writes(), *plan.setup)
    return {
        "format": result.FORMAT,
        "dumbbell": __version__,
        "name": request.name,
        "case": request.case.name or None,
        "title": experiment.title,
        "engine": engine,
        "seed": request.seed,
        "command": request.command or None,
        "duration_s": outcome.duration_ns // 1000 / 1e6,
        "asked_duration_s": plan.duration_ns / 1e9,
        "valid": not verdict.invalid,
        "invalid": verdict.invalid,
        "warnings": verdict.warnings,
        "too_late": len(verdict.too_late),
        "experiment": {key: value for key, value in document.items() if key != "source"},
        "expect": list(experiment.expect),
        "source": document["source"],
        "host": dict(_host()),
        "commands": [command.placed for command in commands]
        + [f"[{c.command.host}] at {c.at_ns / 1e9:g}s: {c.command.line}" for c in plan.changes],
        "flows": [_flow_entry(flow, report) for flow, report in zip(plan.flows, outcome.flows, strict=True)],
        "queues": outcome.queues,
        "bottleneck": plan.bottleneck,
        "probes": [{"kind": probe.kind, "interval_s": probe.interval_ns / 1e9} for probe in plan.probes],
    }


def totals(queues: "pl.DataFrame", column: str) -> dict[str, int]:
    """The last value of a counter, by queue."""
    from dumbbell.results.columns import Framed  # noqa: PLC0415 — needs polars

    table = Framed(queues)
    return {name: table.cell(column, row) for name, row in table.last("queue").items()}


def queue_entries(named: Sequence[QueuePlan], queues: "Table") -> list[dict[str, Any]]:
    """The manifest entry of each queue: description and final counters."""
    columns = {
        "drops": "drops_packets",
        "marks": "marks_packets",
        "sent_bytes": "sent_bytes",
        "sent_packets": "sent_packets",
    }
    last = queues.last("queue")
    return [
        {
            "name": queue.name,
            "kind": queues.cell("kind", row) if row is not None else queue.text.split()[0],
            "under_test": queue.under_test,
            "qdisc": queue.text,
            "host": queue.host,
            "device": queue.device,
            "rates": [[at_ns / 1e9, rate] for at_ns, rate in queue.limits],
        }
        | {key: None if row is None else queues.cell(column, row) for key, column in columns.items()}
        for queue in named
        for row in [last.get(queue.name)]
    ]


@cache
def _host() -> dict[str, str]:
    return {"machine": platform.machine(), "release": platform.release(), "python": platform.python_version()}


def _flow_entry(flow: FlowPlan, report: Mapping[str, Any]) -> dict[str, Any]:
    completed, started = seconds(report, "completed_ns"), seconds(report, "started_ns")
    exchanges = report["exchanges_ns"]
    return {
        "name": flow.name,
        "group": flow.group,
        "kind": flow.transport,
        "cc": report["cc"] if flow.transport == "tcp" else None,
        "cc_asked": flow.cc,
        "start_s": started,
        "stop_s": seconds(report, "stopped_ns"),
        "bytes_asked": flow.bytes,
        "bytes_received": report["bytes_received"],
        "fct_s": completed - started if completed is not None and started is not None else None,
        "retransmits": report["retransmits"],
        "data_segs_out": report["data_segs_out"],
        "connected": report["connected_ns"] is not None,
        "completed": completed is not None,
        "error": report["error"],
    } | ({"exchanges_s": [time_ns / 1e9 for time_ns in exchanges]} if flow.exchange else {})


def seconds(report: Mapping[str, Any], key: str) -> float | None:
    """A time of a report in seconds; None if unknown."""
    return None if report[key] is None else report[key] / 1e9


@cache
def sha256(path: Path) -> str:
    """A file's hash, cached: the file is a program of Dumbbell."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
