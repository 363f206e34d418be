"""The simulator as an engine: the same plan as the kernel's, in numbers instead of commands.

It hands the plan to `dumbbell._sim`, judges the run as every engine does, and hands over a result folder, or the
result itself. What the tables leave to the plan `sim_tables` fills in. What a packet meets, `crates/core` knows;
when, `crates/sim`.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from dumbbell import _sim, limits, result
from dumbbell.engine.base import Progress, Request, check_controllers
from dumbbell.engine.certificate import Life, certificate, queue_entries, sha256
from dumbbell.engine.sim_tables import flow_table, probe_table, queue_table
from dumbbell.engine.validity import judge_flows
from dumbbell.errors import EngineError, ExperimentError, PlanError
from dumbbell.plan import Plan, as_world, plan_case
from dumbbell.plan.inside import ALL, Place, tap
from dumbbell.plan.size import refuse_too_much
from dumbbell.plan.world import ELSEWHERE
from dumbbell.publish import captured, staged
from dumbbell.result import Run

__all__ = ["Lived", "Ready", "Simulator", "refusals"]


class Simulator:
    """Runs experiments in this process; several at once on several threads."""

    name = "sim"
    real_time = False

    def __init__(self, most_bytes: int | None = None) -> None:
        """`most_bytes`: that a run may take, where that is less than `dumbbell.limits` allows."""
        self._most_bytes = most_bytes

    @staticmethod
    def controllers() -> tuple[str, ...]:
        """Names of the congestion controls that it has."""
        return tuple(_sim.CONTROLLERS)

    @staticmethod
    def parameters(controller: str) -> list[tuple[str, str, str]]:
        """What can be set of a controller: name, default, and what it takes; empty for a stranger."""
        return _sim.parameters(controller)

    def check(self, request: Request) -> None:
        """See `Engine.check`."""
        self.prepare(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        ready = self.prepare(request)
        with staged(request.out) as folder, captured(request.capture) as packets:
            run = ready.carried_out(progress, packets).run()
            result.write(folder, run.birth, run.frames)
        return request.out

    def simulate(self, request: Request, progress: Progress = lambda _seconds: None) -> Run:
        """The same in memory: what `result.load` would give of the folder, which is not made.

        `Run.folder` says where it would be. Raises as `run` does.
        """
        ready = self.prepare(request)
        with captured(request.capture) as packets:
            return ready.carried_out(progress, packets).run()

    def prepare(self, request: Request) -> "Ready":
        """The first of the three steps that a run is made of; whoever has many takes each for several of them.

        What a processor does again at once it does several times faster. Raises as `run` does before anything runs.
        """
        began = time.perf_counter()
        check_controllers(request, self.controllers(), "the simulator", ELSEWHERE)
        plan = plan_case(request.case, request.seed)
        if self._most_bytes is not None:
            refuse_too_much(plan, self._most_bytes)
        _refuse_programs(request)
        try:
            world = to_json(as_world(plan, request.seed, capture=_tap(request, plan))).decode()
        except ExperimentError as error:
            raise error.within(str(request.case.file)) from None
        most_bytes = limits.most("memory") if self._most_bytes is None else self._most_bytes
        return Ready(request, plan, world, began, time.perf_counter() - began, most_bytes)


@dataclass(frozen=True)
class Ready:
    """An experiment that the simulator can carry out."""

    request: Request
    plan: Plan
    world: str
    """The plan as `_sim` reads it."""
    began_s: float
    """By the wall's clock."""
    planned_s: float
    """How long it took."""
    most_bytes: int
    """That the run may take."""

    @property
    def held_bytes(self) -> int:
        """That its simulation may hold: the rest is for tables that are summed up and written."""
        return self.most_bytes * 3 // 4

    def carried_out(self, progress: Progress = lambda _seconds: None, capture: Path | None = None) -> "Lived":
        """The second step, the simulation itself: other threads run meanwhile."""
        began = time.perf_counter()
        with refusals(self.most_bytes):
            told = _sim.simulate(self.world, progress, capture, self.held_bytes)
        took_s = time.perf_counter() - began
        progress(self.plan.duration_ns / 1e9)
        return Lived(self, told, took_s)


@dataclass(frozen=True)
class Lived:
    """What the simulator told of an experiment."""

    ready: Ready
    told: tuple[_sim.Arrow, _sim.Arrow, _sim.Arrow, str]
    """Flows, queues and probes, and a report in JSON."""
    simulated_s: float
    """How long it took."""

    def run(self) -> Run:
        """The third step: tables with every column, the verdict, the certificate."""
        began, plan, request = time.perf_counter(), self.ready.plan, self.ready.request
        flows, queues, probes = (
            flow_table(self.told[0], plan),
            queue_table(self.told[1], plan.queues),
            probe_table(self.told[2], plan),
        )
        report = from_json(self.told[3])
        entries = queue_entries(plan.queues, queues)
        drops = {queue["name"]: queue["drops"] for queue in entries if queue["drops"] is not None}
        verdict = judge_flows(plan, report["flows"], plan.queues, drops)
        life = Life(report["duration_ns"], report["flows"], entries)
        birth = certificate(Simulator.name, request, plan, life, verdict) | _born_in(report)
        now = time.perf_counter()
        birth["phases_s"] = {"plan": self.ready.planned_s, "simulate": self.simulated_s, "decode": now - began}
        birth["wall_s"] = now - self.ready.began_s
        return Run(request.out, birth, flows, queues, probes)


def _refuse_programs(request: Request) -> None:
    for number, program in enumerate(request.case.experiment.programs):
        raise ExperimentError(
            "the simulator runs no programs",
            file=str(request.case.file), key=f"programs.{number}", value=program.name, right="use --engine kernel",
        )  # fmt: skip


def _tap(request: Request, plan: Plan) -> Place | None:
    """Where packets are captured, if anywhere. Raises `ExperimentError` for what only a kernel can show."""
    wanted = request.inside
    for key, value in (("--sockets", wanted.sockets_ns), ("--counters", wanted.counters_ns), ("--trace", wanted.trace)):
        if value:
            raise ExperimentError("the simulator has no kernel to look into", key=key, right="use --engine kernel")
    if request.capture is None:
        return None
    if wanted.device == ALL:
        raise ExperimentError(
            "the simulator captures at one device", key="--pcap-device", value=ALL, right="name one, or --engine kernel"
        )
    return tap(plan, wanted.device)


@contextmanager
def refusals(most_bytes: int) -> Iterator[None]:
    """What the extension raises, as errors of ours."""
    try:
        yield
    except _sim.Outgrown as outgrown:
        seconds, held = outgrown.args
        is_own = most_bytes < limits.most("memory")
        raise PlanError(
            f"after {seconds:.3g} s its packets and samples hold {held / 1e9:.3g} GB, more than three quarters of the "
            f"{most_bytes / 1e9:.3g} GB that a run may take: make it shorter or slower, with shorter queues or fewer "
            f"samples, {'or use dumbbell run' if is_own else limits.raised('memory', 2 * most_bytes)}"
        ) from None
    except _sim.Refused as refused:
        raise PlanError(f"the simulator can't carry this out: {refused}") from None
    except _sim.Fault as fault:
        raise EngineError(str(fault)) from None


def _born_in(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a birth certificate says of the simulator."""
    return {
        "simulator": dict(_simulator()),
        "generator": "the simulator's own",
        "simulated": report["cost"],
        "device_drops": report["drops"],
    }


@cache
def _simulator() -> dict[str, str]:
    return {"version": _sim.VERSION, "sha256": sha256(Path(_sim.__file__))}
