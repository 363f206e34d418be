"""What engines share that run the agent: how far it is, the records that it leaves, what it can't do, the certificate.

Where it lives, in a guest or in namespaces of a machine, is the engines' affair.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import __version__
from dumbbell.columns import Framed
from dumbbell.engine import decode, inside
from dumbbell.engine.base import Request
from dumbbell.engine.certificate import Life, certificate, queue_entries, sha256
from dumbbell.engine.connections import read_connections
from dumbbell.engine.validity import Verdict
from dumbbell.errors import ExperimentError, ToolMissing
from dumbbell.plan import Plan, QueuePlan

__all__ = [
    "agents_certificate",
    "held_mib",
    "read_room",
    "refuse_what_only_the_simulator_sees",
    "refuse_without_tools",
    "seconds_done",
]

GENERATOR = "agent: sendfile of large pieces, MSG_TRUNC reads"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the agent looks for programs."""
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Windows' worth of packets that each flow may hold: in flight, queued, waiting to be read."""
SHORTEST_SAMPLE_NS = 100_000
"""An answer of the kernel takes tens of microseconds of wall time for each socket."""


def refuse_without_tools(purpose: str) -> None:
    """Raises `ToolMissing` where this machine has no ip or no tc."""
    for tool in ("ip", "tc"):
        if shutil.which(tool, path=PATH) is None:
            raise ToolMissing(tool, purpose, "iproute2")


def refuse_what_only_the_simulator_sees(request: Request, plan: Plan) -> None:
    """Raises `ExperimentError` for what no Linux does."""
    if plan.every_change:
        raise ExperimentError(
            "a kernel shows its flows when it is asked, not at every change",
            file=str(request.case.file), key="trace", value="events", right='trace = "samples", or --engine sim',
        )  # fmt: skip
    if plan.telemetry:
        raise ExperimentError(
            "Linux's disciplines stamp no packets",
            file=str(request.case.file), key="path.telemetry", value=True, right="leave it out, or --engine sim",
        )  # fmt: skip
    if plan.sample_ns < SHORTEST_SAMPLE_NS:
        raise ExperimentError(
            "who asks the sockets so often does little else",
            file=str(request.case.file), key="sample", value=f"{plan.sample_ns}ns", right="100us, or --engine sim",
        )  # fmt: skip
    commands = [*plan.setup, *(change.command for change in plan.changes)]
    if any(command.argv[0] == "tc" and "every" in command.argv for command in commands):
        raise ExperimentError(
            "Linux's netem can't lose exactly one packet in so many",
            file=str(request.case.file), key="loss", right="a random loss such as 1%, or --engine sim",
        )  # fmt: skip


def held_mib(plan: Plan) -> int:
    """Memory that flows and a fast path's queues may take."""
    fastest = max((rate for queue in plan.queues for _, rate in queue.rates), default=10**10)
    in_flight = BDP_COPIES * len(plan.flows) * 2**20 + fastest // 8 // 2
    return round(FLOW_MEMORY_MIB * len(plan.flows)) + min(in_flight >> 20, 4096)


def seconds_done(records: Path, plan: Plan) -> float:
    """How far the experiment is, by the samples that the agent has written out."""
    try:
        written = records.stat().st_size // decode.QUEUE_RECORD.itemsize
    except FileNotFoundError:
        return 0.0
    return written // max(len(plan.queues), 1) * plan.sample_ns / 1e9


def read_room(room: Path, plan: Plan) -> tuple[Plan, dict[str, pl.DataFrame], dict[str, Any], list[QueuePlan]]:
    """The plan with the connections of programs, every table, what `end.json` says, and the queues by name."""
    end = json.loads((room / "end.json").read_text(encoding="utf-8"))
    named = decode.name_queues(end["queues"], plan.queues)
    found = read_connections(room / "connections.bin", plan, end)
    end["flows"] += found.reports
    tables = {
        "flows": decode.flows(room / "flows.bin", found.plan, found.records),
        "queues": decode.queues(room / "queues.bin", named, [queue["kind"] for queue in end["queues"]]),
        "probes": decode.probes(room / "probes.bin", plan),
        **inside.tables(room, plan, end),
    }
    return found.plan, tables, end, named


def agents_certificate(
    engine: str, agent: Path, request: Request, plan: Plan, end: Mapping[str, Any], named: Sequence[QueuePlan],
    tables: Mapping[str, pl.DataFrame], verdict: Verdict,
) -> dict[str, Any]:  # fmt: skip
    """The birth certificate of what `read_room` found, but for the kernel and the machine."""
    life = Life(end["duration_ns"], end["flows"], queue_entries(named, Framed(tables["queues"])))
    return certificate(engine, request, plan, life, verdict) | {
        "agent": {"version": __version__, "sha256": sha256(agent)},
        "generator": GENERATOR,
        "counters": end["counters"],
        "settings": end["settings"],
    }
