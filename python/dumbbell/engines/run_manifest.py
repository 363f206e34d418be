"""The manifest of a run: experiment, engine, outcome; and whether the run measured what the experiment specifies.

A run is invalid if a packet was dropped outside the queues that may drop, a flow used another controller or
never connected, a socket dropped data, or a program changed the path: `crates/dumbbell/src/validity` judges.
Engines add their own entries to the manifest (kernel, version, counters).
"""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import __version__, _sim
from dumbbell.engines.base import Request
from dumbbell.plan import Flow, Plan, Queue
from dumbbell.results import corrections
from dumbbell.results.manifest import FORMAT

if TYPE_CHECKING:
    from dumbbell.results.columns import Table

__all__ = [
    "ESTABLISHED",
    "Verdict",
    "base_manifest",
    "closed_windows",
    "in_seconds",
    "judge",
    "judge_flows",
    "memory_ran_out",
    "queue_entries",
    "sha256",
]


@dataclass(frozen=True)
class Verdict:
    """Reasons why a run is invalid, and warnings."""

    invalid: list[str]
    warnings: list[str]
    too_late: list[str] = field(default_factory=list)
    """Names of flows that had too little time to connect."""

    def combined(self, other: "Verdict") -> "Verdict":
        """Both verdicts combined."""
        return Verdict(
            [*self.invalid, *other.invalid],
            [*self.warnings, *other.warnings],
            [*self.too_late, *other.too_late],
        )


ESTABLISHED = 1
"""State number in tcp_info (include/net/tcp_states.h)."""


def judge(
    plan: Plan, end: _sim.End, named: Sequence[Queue], queues: _sim.Arrow | None = None, remedy: str = ""
) -> Verdict:
    """Check everything that can invalidate a run on a kernel: `crates/dumbbell/src/validity/kernel.rs`.

    `queues`: the samples of the queues `named`. `remedy`: what helps if the kernel was too slow for its packets.
    """
    return Verdict(*end.judge(plan, named, queues, remedy))


def judge_flows(plan: Plan, end: _sim.End, named: Sequence[Queue], queues: _sim.Arrow | None = None) -> Verdict:
    """Check what every engine can violate: unexpected drops, and flows that deviate from the plan."""
    return Verdict(*end.judge_flows(plan, named, queues))


def memory_ran_out(console: str) -> list[str]:
    """Processes that a guest killed for lack of memory; packets may have been dropped for the same reason."""
    return [
        f"the guest ran out of memory and killed process '{name}': let programs write less to /tmp, /run and the like, "
        "or use fewer flows"
        for name in re.findall(r"^Out of memory: Killed process \d+ \((.*?)\)", console, re.MULTILINE)
    ]


def closed_windows(flows: "Table") -> list[str]:
    """A warning for each flow whose controller set a window of 0: a fault of the controller, not of the run."""
    arrow = flows.native()
    assert arrow is not None, "the table of an engine"
    return _sim.closed_windows(arrow)


def base_manifest(
    engine: str, request: Request, plan: Plan, end: _sim.End, queues: list[dict[str, Any]], verdict: Verdict
) -> dict[str, Any]:
    """`run.json` without the engine's own entries."""
    experiment = request.case.experiment
    document = experiment.document(complete=True)
    steps = plan.setup if engine == "sim" else [*plan.module_parameters(), *plan.setup]
    return {
        "format": FORMAT,
        "dumbbell": __version__,
        "corrections": corrections.names(),
        "name": request.name,
        "case": request.case.name or None,
        "title": experiment.title,
        "engine": engine,
        "seed": request.seed,
        "command": request.command or None,
        "duration_s": end.duration_ns // 1000 / 1e6,
        "asked_duration_s": plan.duration_ns / 1e9,
        "valid": not verdict.invalid,
        "invalid": verdict.invalid,
        "warnings": verdict.warnings,
        "too_late": len(verdict.too_late),
        "experiment": {key: value for key, value in document.items() if key != "source"},
        "expect": list(experiment.expect),
        "source": document["source"],
        "host": dict(_host()),
        "commands": [str(step) for step in steps]
        + [f"[{change.step.host}] at {change.at_ns / 1e9:g}s: {change.step.line}" for change in plan.changes],
        "flows": [_flow_entry(flow, report) for flow, report in zip(plan.flows, end.flows, strict=True)],
        "queues": queues,
        "bottleneck": plan.bottleneck,
        "probes": [{"kind": probe.kind, "interval_s": probe.interval_ns / 1e9} for probe in plan.probes],
    }


def queue_entries(named: Sequence[Queue], queues: "Table") -> list[dict[str, Any]]:
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
            "kind": queues.cell("kind", row) if row is not None else queue.kind,
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


def _flow_entry(flow: Flow, report: Mapping[str, Any]) -> dict[str, Any]:
    completed, started = in_seconds(report["completed_ns"]), in_seconds(report["started_ns"])
    exchanges = report["exchanges_ns"]
    return {
        "name": flow.name,
        "group": flow.group,
        "kind": flow.transport,
        "cc": report["cc"] if flow.transport == "tcp" else None,
        "cc_asked": flow.cc,
        "start_s": started,
        "stop_s": in_seconds(report["stopped_ns"]),
        "bytes_asked": flow.bytes,
        "bytes_received": report["bytes_received"],
        "fct_s": completed - started if completed is not None and started is not None else None,
        "retransmits": report["retransmits"] if flow.transport == "tcp" else None,
        "data_segs_out": report["data_segs_out"] if flow.transport == "tcp" else None,
        "connected": report["connected_ns"] is not None,
        "completed": completed is not None,
        "error": report["error"],
        **({"exchanges_s": [time_ns / 1e9 for time_ns in exchanges]} if flow.exchanges else {}),
        **({"intermittent": True} if flow.exchanges or flow.on_off_ns else {}),
    }


def in_seconds(time_ns: int | None) -> float | None:
    """A time of a report in seconds; None if unknown."""
    return None if time_ns is None else time_ns / 1e9


@cache
def sha256(path: Path) -> str:
    """A file's hash, cached: the file is a program of Dumbbell."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
