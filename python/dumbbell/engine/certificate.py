"""The birth certificate that every engine writes: what was asked, what ran, how it went.

What an engine knows of itself (its kernel, its version, its own counters) it adds.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell import __version__, result
from dumbbell.engine.base import Request
from dumbbell.engine.validity import Verdict
from dumbbell.kernel import store
from dumbbell.plan import FlowPlan, Plan, QueuePlan
from dumbbell.result import positions

__all__ = ["Life", "certificate", "queue_entries", "sha256", "totals"]


@dataclass(frozen=True)
class Life:
    """What an engine reports of a run."""

    duration_ns: int
    """What really ran."""
    flows: Sequence[Mapping[str, Any]]
    """Reports in the order of the plan, with the agent's keys."""
    queues: list[dict[str, Any]]
    """As `queue_entries` makes them."""


def certificate(engine: str, request: Request, plan: Plan, life: Life, verdict: Verdict) -> dict[str, Any]:
    """`run.json`, but for what the engine knows of itself."""
    experiment = request.case.experiment
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
        "duration_s": life.duration_ns // 1000 / 1e6,
        "asked_duration_s": plan.duration_ns / 1e9,
        "valid": not verdict.invalid,
        "invalid": verdict.invalid,
        "warnings": verdict.warnings,
        "experiment": experiment.model_dump(mode="json", exclude={"source"}),
        "expect": list(experiment.expect),
        "source": experiment.source.model_dump(mode="json") if experiment.source else None,
        "host": {"machine": platform.machine(), "release": platform.release(), "python": platform.python_version()},
        "commands": [f"[{command.host}] {command.line}" if command.host else command.line for command in commands]
        + [f"[{c.command.host}] at {c.at_ns / 1e9:g}s: {c.command.line}" for c in plan.changes],
        "flows": [_flow_entry(flow, report) for flow, report in zip(plan.flows, life.flows, strict=True)],
        "queues": life.queues,
        "bottleneck": plan.bottleneck,
        "probes": [{"kind": probe.kind, "interval_s": probe.interval_ns / 1e9} for probe in plan.probes],
    }


def totals(queues: pl.DataFrame, column: str) -> dict[str, int]:
    """The last value of a counter, by queue."""
    names = queues["queue"].unique(maintain_order=True).to_list()
    return _ends(queues, names, positions(queues["queue"], names), [column])[column]


def queue_entries(
    named: Sequence[QueuePlan], queues: pl.DataFrame, number: npt.NDArray[np.uint32] | None = None
) -> list[dict[str, Any]]:
    """What the certificate says of each queue: what it is, and its counters at the end.

    `number`: the position in `named` of each row's queue, from whoever knows it.
    """
    columns = {
        "drops": "drops_packets",
        "marks": "marks_packets",
        "sent_bytes": "sent_bytes",
        "sent_packets": "sent_packets",
    }
    names = [queue.name for queue in named]
    number = positions(queues["queue"], names) if number is None else number
    ends = _ends(queues, names, number, ["kind", *columns.values()])
    kinds, counted = ends["kind"], {key: ends[column] for key, column in columns.items()}
    return [
        {
            "name": queue.name,
            "kind": kinds.get(queue.name, queue.text.split()[0]),
            "under_test": queue.under_test,
            "qdisc": queue.text,
            "host": queue.host,
            "device": queue.device,
            "rates": [[at_ns / 1e9, rate] for at_ns, rate in queue.rates],
        }
        | {key: values.get(queue.name) for key, values in counted.items()}
        for queue in named
    ]


def _ends(
    queues: pl.DataFrame, names: Sequence[str], number: npt.NDArray[np.uint32], columns: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The last values of these columns, by queue; nothing of a queue that was never seen."""
    last = np.full(len(names) + 1, -1)
    last[number] = np.arange(number.size)  # Of several rows the last counts.
    rows = [(name, int(row)) for name, row in zip(names, last, strict=False) if row >= 0]
    return {column: {name: values[row] for name, row in rows} for column in columns for values in [queues[column]]}


def _flow_entry(flow: FlowPlan, report: Mapping[str, Any]) -> dict[str, Any]:
    def seconds(key: str) -> float | None:
        return None if report[key] is None else report[key] / 1e9

    completed, started = seconds("completed_ns"), seconds("started_ns")
    exchanges = report["exchanges_ns"]
    return {
        "name": flow.name,
        "group": flow.group,
        "kind": flow.transport,
        "cc": report["cc"] if flow.transport == "tcp" else None,
        "cc_asked": flow.cc,
        "start_s": started,
        "stop_s": seconds("stopped_ns"),
        "bytes_asked": flow.bytes,
        "bytes_received": report["bytes_received"],
        "fct_s": completed - started if completed is not None and started is not None else None,
        "retransmits": report["retransmits"],
        "data_segs_out": report["data_segs_out"],
        "connected": report["connected_ns"] is not None,
        "completed": completed is not None,
        "error": report["error"],
    } | ({"exchanges_s": [time_ns / 1e9 for time_ns in exchanges]} if flow.exchange else {})


@cache
def sha256(path: Path) -> str:
    """A file's hash; read once, for it is this program's own."""
    return store.sha256(path)
