"""The kernel engine: the real Linux TCP stack and disciplines, in virtual time.

It writes the plan into a private folder, lets a guest live there, decodes what the agent left, judges
it, and hands over a result folder. What the guest is, `guest` knows; what to run, `dumbbell.plan`.
"""

import hashlib
import json
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import __version__, result
from dumbbell.engine import decode
from dumbbell.engine.base import Progress, Request
from dumbbell.engine.guest import Guest, live
from dumbbell.engine.output import staged
from dumbbell.engine.validity import Verdict, judge
from dumbbell.errors import ExperimentError, KernelError, ToolMissing
from dumbbell.kernel import Kernel, find
from dumbbell.kernel.controllers import controllers
from dumbbell.plan import FlowPlan, Plan, QueuePlan, plan_case
from dumbbell.spec.qdisc import suggest

__all__ = ["KernelEngine"]

BASE_MEMORY_MIB = 512
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Windows' worth of packets that each flow may hold: in flight, queued, waiting to be read."""
WALL_PER_VIRTUAL_S = 30.0
LEAST_WALL_S = 300.0


class KernelEngine:
    """Runs experiments in guests of one kernel."""

    name = "kernel"

    def __init__(self, kernel: str | None = None) -> None:
        """Find the kernel now, so that its absence is told before anything else happens."""
        self.kernel = find(kernel)
        self.agent = _agent()
        for tool in ("ip", "tc"):
            if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
                raise ToolMissing(tool, "inside the guest, which uses the machine's own", "iproute2")

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        began = time.perf_counter()
        _check_controllers(request, self.kernel)
        plan = plan_case(request.case, request.seed)
        with staged(request.out) as folder:
            room = folder / "guest"
            room.mkdir()
            (room / "plan.json").write_text(json.dumps(plan.for_agent()), encoding="utf-8")
            planned = time.perf_counter()
            guest = Guest(self.kernel, self.agent, room, request.seed, _memory_mib(plan), _wall_limit_s(plan))
            try:
                peak_bytes = live(guest, lambda: progress(_seconds_done(room / "queues.bin", plan)))
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            lived = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            tables, end, named = _decode(room, plan)
            verdict = judge(plan, end, named, _totals(tables["queues"], "drops_packets"))
            birth = self._birth(request, plan, end, verdict, _queue_entries(named, tables["queues"]))
            birth["phases_s"] = {
                "plan": planned - began,
                "guest": lived - planned,
                "decode": time.perf_counter() - lived,
            }
            birth["guest_peak_bytes"] = peak_bytes
            birth["wall_s"] = time.perf_counter() - began
            shutil.rmtree(room)
            result.write(folder, birth, tables)
        return request.out

    def _birth(
        self, request: Request, plan: Plan, end: Mapping[str, Any], verdict: Verdict, queues: list[dict[str, Any]]
    ) -> dict[str, Any]:
        experiment = request.case.experiment
        asked = experiment.model_dump(mode="json", exclude={"source"})
        return {
            "format": result.FORMAT,
            "dumbbell": __version__,
            "name": request.name,
            "case": request.case.name or None,
            "title": experiment.title,
            "engine": self.name,
            "seed": request.seed,
            "command": request.command or None,
            "duration_s": end["duration_ns"] // 1000 / 1e6,
            "asked_duration_s": plan.duration_ns / 1e9,
            "valid": not verdict.invalid,
            "invalid": verdict.invalid,
            "warnings": verdict.warnings,
            "experiment": asked,
            "expect": list(experiment.expect),
            "source": experiment.source.model_dump(mode="json") if experiment.source else None,
            "kernel": {
                key: getattr(self.kernel, key)
                for key in ("name", "release", "version", "config_sha256", "binary_sha256")
            },
            "agent": {"version": __version__, "sha256": _sha256(self.agent)},
            "host": {"machine": platform.machine(), "release": platform.release(), "python": platform.python_version()},
            "generator": "agent: sendfile of large pieces, MSG_TRUNC reads",
            "commands": [f"[{command.host}] {command.line}" if command.host else command.line for command in plan.setup]
            + [f"[{c.command.host}] at {c.at_ns / 1e9:g}s: {c.command.line}" for c in plan.changes],
            "flows": [_flow_entry(flow, report) for flow, report in zip(plan.flows, end["flows"], strict=True)],
            "queues": queues,
            "bottleneck": plan.bottleneck,
            "probes": [{"kind": probe.kind, "interval_s": probe.interval_ns / 1e9} for probe in plan.probes],
            "counters": end["counters"],
        }


def _check_controllers(request: Request, kernel: Kernel) -> None:
    """Is every controller that was asked for in this kernel?"""
    known = controllers(kernel)
    if known is None:
        return
    for number, group in enumerate(request.case.experiment.flows):
        if group.cc is not None and group.cc not in known:
            raise ExperimentError(
                f"kernel '{kernel.name}' has no congestion control of this name",
                file=str(request.case.file),
                key=f"flows.{number}.cc",
                value=group.cc,
                right=suggest(group.cc, list(known)),
            )


def _memory_mib(plan: Plan) -> int:
    """Memory for the guest: what a fast path holds in flight and in queues, and a little a flow."""
    fastest = max((rate for queue in plan.queues for _, rate in queue.rates), default=10**10)
    in_flight = BDP_COPIES * len(plan.flows) * 2**20 + fastest // 8 // 2
    wanted = BASE_MEMORY_MIB + round(FLOW_MEMORY_MIB * len(plan.flows)) + min(in_flight >> 20, 4096)
    return -(-wanted // 256) * 256


def _wall_limit_s(plan: Plan) -> float:
    return LEAST_WALL_S + WALL_PER_VIRTUAL_S * plan.duration_ns / 1e9


def _seconds_done(records: Path, plan: Plan) -> float:
    """How far the experiment is, by the samples that the guest has written out."""
    try:
        written = records.stat().st_size // decode.QUEUE_RECORD.itemsize
    except FileNotFoundError:
        return 0.0
    return written // max(len(plan.queues), 1) * plan.sample_ns / 1e9


def _decode(room: Path, plan: Plan) -> tuple[dict[str, pl.DataFrame], dict[str, Any], list[QueuePlan]]:
    end = json.loads((room / "end.json").read_text(encoding="utf-8"))
    named = decode.name_queues(end["queues"], plan.queues)
    tables = {
        "flows": decode.flows(room / "flows.bin", plan),
        "queues": decode.queues(room / "queues.bin", named, [queue["kind"] for queue in end["queues"]]),
        "probes": decode.probes(room / "probes.bin", plan),
    }
    return tables, end, named


def _totals(queues: pl.DataFrame, column: str) -> dict[str, int]:
    """The last value of a counter, by queue."""
    last = queues.group_by("queue", maintain_order=True).agg(pl.col(column).last())
    return dict(last.iter_rows())


def _queue_entries(named: Sequence[QueuePlan], queues: pl.DataFrame) -> list[dict[str, Any]]:
    columns = {
        "drops": "drops_packets",
        "marks": "marks_packets",
        "sent_bytes": "sent_bytes",
        "sent_packets": "sent_packets",
    }
    totals = {key: _totals(queues, column) for key, column in columns.items()}
    kinds = dict(queues.select("queue", "kind").unique(maintain_order=True).iter_rows())
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
        | {key: values.get(queue.name) for key, values in totals.items()}
        for queue in named
    ]


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
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _agent() -> Path:
    agent = Path(str(files("dumbbell"))) / "bin" / "dumbbell-agent"
    if not agent.is_file():
        raise KernelError(f"{agent}: the agent is not built; run: make setup")
    return agent
