"""The kernel engine: the real Linux TCP stack and disciplines, in virtual time.

It writes the plan into a private folder, lets a guest live there, decodes what the agent left, judges
it, and hands over a result folder. What the guest is, `guest` knows; what to run, `dumbbell.plan`.
"""

import json
import shutil
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import __version__, result
from dumbbell.engine import decode, inside
from dumbbell.engine.base import Progress, Request, check_controllers
from dumbbell.engine.certificate import Life, certificate, queue_entries, sha256, totals
from dumbbell.engine.guest import Guest, live
from dumbbell.engine.output import captured, staged
from dumbbell.engine.validity import judge
from dumbbell.errors import ExperimentError, KernelError, ToolMissing
from dumbbell.kernel import find
from dumbbell.kernel.offers import controllers
from dumbbell.plan import Plan, QueuePlan, plan_case

__all__ = ["KernelEngine"]

BASE_MEMORY_MIB = 512
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Windows' worth of packets that each flow may hold: in flight, queued, waiting to be read."""
WALL_PER_VIRTUAL_S = 30.0
LEAST_WALL_S = 300.0
SHORTEST_SAMPLE_NS = 100_000
"""An answer of the kernel takes tens of microseconds of wall time for each socket."""


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
        if (known := controllers(self.kernel)) is not None:
            check_controllers(request, known, f"kernel '{self.kernel.name}'")
        plan = plan_case(request.case, request.seed)
        _refuse_what_only_the_simulator_sees(request, plan)
        wishes = inside.check(plan, request.inside, self.kernel, capture=request.capture is not None)
        with staged(request.out) as folder, captured(request.capture) as packets:
            room = folder / "guest"
            room.mkdir()
            guest = Guest(self.kernel, self.agent, room, request.seed, _memory_mib(plan), _wall_limit_s(plan))
            try:
                (room / "plan.json").write_text(json.dumps(plan.for_agent() | {"inside": wishes}), encoding="utf-8")
                planned = time.perf_counter()
                peak_bytes = live(guest, lambda: progress(_seconds_done(room / "queues.bin", plan)))
            except ExperimentError as error:
                raise error.within(str(request.case.file)) from None
            lived = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            tables, end, named = _decode(room, plan)
            verdict = judge(plan, end, named, totals(tables["queues"], "drops_packets"))
            lived_through = Life(end["duration_ns"], end["flows"], queue_entries(named, tables["queues"]))
            birth = certificate(self.name, request, plan, lived_through, verdict) | self._born_in()
            birth["counters"] = end["counters"]
            birth["settings"], odd = inside.settings(plan, end)
            birth["warnings"] = [*birth["warnings"], *odd, *inside.remarks(plan, request.inside, end)]
            inside.handed_over(room, packets)
            birth["guest_peak_bytes"] = peak_bytes
            birth["phases_s"] = {
                "plan": planned - began,
                "guest": lived - planned,
                "decode": time.perf_counter() - lived,
            }
            birth["wall_s"] = time.perf_counter() - began
            shutil.rmtree(room)
            result.write(folder, birth, tables)
        return request.out

    def _born_in(self) -> dict[str, Any]:
        """What a birth certificate says of the kernel and the agent."""
        keys = ("name", "release", "version", "config_sha256", "binary_sha256")
        return {
            "kernel": {key: getattr(self.kernel, key) for key in keys},
            "agent": {"version": __version__, "sha256": sha256(self.agent)},
            "generator": "agent: sendfile of large pieces, MSG_TRUNC reads",
        }


def _refuse_what_only_the_simulator_sees(request: Request, plan: Plan) -> None:
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
            "a guest that asks its sockets so often does little else",
            file=str(request.case.file), key="sample", value=f"{plan.sample_ns}ns", right="100us, or --engine sim",
        )  # fmt: skip
    commands = [*plan.setup, *(change.command for change in plan.changes)]
    if any(command.argv[0] == "tc" and "every" in command.argv for command in commands):
        raise ExperimentError(
            "Linux's netem can't lose exactly one packet in so many",
            file=str(request.case.file), key="loss", right="a random loss such as 1%, or --engine sim",
        )  # fmt: skip


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
        **inside.tables(room, plan, end),
    }
    return tables, end, named


def _agent() -> Path:
    agent = Path(str(files("dumbbell"))) / "bin" / "dumbbell-agent"
    if not agent.is_file():
        raise KernelError(f"{agent}: the agent is not built; run: make setup")
    return agent
