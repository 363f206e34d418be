"""The simulator as an engine: the same plan as the kernel's, in numbers instead of commands.

It hands the plan to `dumbbell._sim`, fills in what the tables leave to the plan, judges the run as every
engine does, and hands over a result folder. What a packet meets, `crates/core` knows; when, `crates/sim`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import _sim, result
from dumbbell.engine.base import Progress, Request, check_controllers
from dumbbell.engine.certificate import Life, certificate, queue_entries, sha256, totals
from dumbbell.engine.output import captured, staged
from dumbbell.engine.rates import rates_and_delays
from dumbbell.engine.validity import judge_flows
from dumbbell.errors import EngineError, ExperimentError, PlanError
from dumbbell.plan import Plan, QueuePlan, as_world, plan_case
from dumbbell.plan.inside import ALL, Place, tap
from dumbbell.plan.world import ELSEWHERE
from dumbbell.result import FLOWS, PROBES, QUEUES

__all__ = ["Simulator"]


class Simulator:
    """Runs experiments in this process; several at once on several threads."""

    name = "sim"
    real_time = False

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
        self._planned(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        began = time.perf_counter()
        plan, world = self._planned(request)
        with staged(request.out) as folder, captured(request.capture) as packets:
            planned = time.perf_counter()
            flows, queues, probes, told = _simulated(world, progress, packets)
            lived = time.perf_counter()
            progress(plan.duration_ns / 1e9)
            tables = {
                "flows": _flows(flows, plan),
                "queues": _queues(queues, plan.queues),
                "probes": _probes(probes, plan),
            }
            report = json.loads(told)
            verdict = judge_flows(plan, report["flows"], plan.queues, totals(tables["queues"], "drops_packets"))
            life = Life(report["duration_ns"], report["flows"], queue_entries(plan.queues, tables["queues"]))
            birth = certificate(self.name, request, plan, life, verdict) | _born_in(report)
            birth["phases_s"] = {
                "plan": planned - began,
                "simulate": lived - planned,
                "decode": time.perf_counter() - lived,
            }
            birth["wall_s"] = time.perf_counter() - began
            result.write(folder, birth, tables)
        return request.out

    def _planned(self, request: Request) -> tuple[Plan, str]:
        """The plan, and as the simulator is told of it."""
        check_controllers(request, self.controllers(), "the simulator", ELSEWHERE)
        plan = plan_case(request.case, request.seed)
        _refuse_programs(request)
        try:
            world = json.dumps(as_world(plan, request.seed, capture=_tap(request, plan)))
        except ExperimentError as error:
            raise error.within(str(request.case.file)) from None
        return plan, world


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


def _simulated(
    world: str, progress: Progress, capture: Path | None
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, str]:
    try:
        *tables, report = _sim.simulate(world, progress, capture)
    except _sim.Refused as refused:
        raise PlanError(f"the simulator can't carry this out: {refused}") from None
    except _sim.Fault as fault:
        raise EngineError(str(fault)) from None
    flows, queues, probes = (pl.DataFrame(table) for table in tables)
    return flows, queues, probes, report


def _born_in(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a birth certificate says of the simulator."""
    return {
        "simulator": {"version": _sim.VERSION, "sha256": sha256(Path(_sim.__file__))},
        "generator": "the simulator's own",
        "simulated": report["cost"],
        "device_drops": report["drops"],
    }


def _flows(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    groups = {flow.name: flow.group for flow in plan.flows}
    return _shaped(
        table.with_columns(pl.col("flow").cast(pl.String)).with_columns(
            pl.col("flow").replace_strict(groups, return_dtype=pl.String).alias("group"),
            (pl.col("cwnd_packets").cast(pl.Int64) * pl.col("mss_bytes")).alias("cwnd_bytes"),
        ),
        FLOWS,
    )


def _queues(table: pl.DataFrame, named: Sequence[QueuePlan]) -> pl.DataFrame:
    table = table.with_columns(pl.col("queue").cast(pl.String))
    positions = {queue.name: position for position, queue in enumerate(named)}
    number = table["queue"].replace_strict(positions, return_dtype=pl.UInt32).to_numpy()
    rate, delay = rates_and_delays(number, table["time_ns"].to_numpy(), table["backlog_bytes"].to_numpy(), named)
    limited = pl.Series(values=rate > 0)
    columns = pl.DataFrame({"rate_bps": rate, "delay_ns": delay})
    under_test = {queue.name: queue.under_test for queue in named}
    return _shaped(
        table.with_columns(
            pl.col("queue").replace_strict(under_test, return_dtype=pl.Boolean).alias("under_test"),
            pl.when(limited).then(columns["rate_bps"]).alias("rate_bps"),
            pl.when(limited).then(columns["delay_ns"]).alias("delay_ns"),
        ),
        QUEUES,
    )


def _probes(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    kinds = {f"{probe.kind}-{number}": probe.kind for number, probe in enumerate(plan.probes, start=1)}
    table = table.with_columns(pl.col("probe").cast(pl.String))
    return _shaped(
        table.with_columns(pl.col("probe").replace_strict(kinds, return_dtype=pl.String).alias("kind")), PROBES
    )


def _shaped(table: pl.DataFrame, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Exactly these columns; what the simulator does not have is null."""
    return table.select(
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in columns.items()
    )
