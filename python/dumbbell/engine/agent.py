"""What engines share that run the agent: how far it is, the records that it leaves, what it can't do.

Where it lives, in a guest or in namespaces of a machine, is the engines' affair.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.engine import decode, inside
from dumbbell.engine.base import Request
from dumbbell.engine.connections import read_connections
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, QueuePlan

__all__ = ["GENERATOR", "held_mib", "read_room", "refuse_what_only_the_simulator_sees", "seconds_done"]

GENERATOR = "agent: sendfile of large pieces, MSG_TRUNC reads"
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Windows' worth of packets that each flow may hold: in flight, queued, waiting to be read."""
SHORTEST_SAMPLE_NS = 100_000
"""An answer of the kernel takes tens of microseconds of wall time for each socket."""


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
