"""Estimate a sweep's duration from pilot runs: the cheapest, the most expensive and some between.

The model of a run's time is `a + b × packets + c × samples` with non-negative factors, fitted per engine by least
squares of the relative errors. Packets are those that the bottleneck can carry during the run, samples those of all
flows. Idle capacity makes runs cheaper than the model's packets; the fit absorbs that on average. `forecast` runs the
pilot, `estimate` is the pure part.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from dumbbell.engines.base import NOTHING, Permissions
from dumbbell.publish import temporary
from dumbbell.spec.axes import Point
from dumbbell.spec.document import Experiment
from dumbbell.spec.sweep import Counted, Sweep, case_at
from dumbbell.sweeps.runner import Executor, InProcessExecutor
from dumbbell.sweeps.task import Base, Row, Task, base_of, tasks_at
from dumbbell.sweeps.task_runner import run_task

__all__ = ["Forecast", "Load", "Pilot", "Span", "estimate", "forecast", "load_of"]

BUDGET_S = 10.0
"""Time limit of the whole pilot; a run expected to exceed it is skipped."""
SAMPLED = 256
"""Maximum points whose load is computed."""
PILOTS = 32
"""Maximum pilot runs per engine."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Load:
    """The load of a run."""

    engine: str
    packets: float
    """Packets that the bottleneck can carry during the run; 0 if its rate is unknown (a trace, tc commands)."""
    samples: float
    """Samples of all flows."""

    @property
    def terms(self) -> tuple[float, float, float]:
        """The model's terms."""
        return (1.0, self.packets, self.samples)

    @property
    def weight(self) -> float:
        """Sort key before any run is measured."""
        return self.packets + self.samples


@dataclass(frozen=True)
class Pilot:
    """One measured run."""

    point: int
    load: Load
    wall_s: float
    kept_bytes: int | None
    """Size of its folder, if results are kept."""
    reason: str | None
    """Why it failed; a failed run is ignored."""


@dataclass(frozen=True)
class Span:
    """Lower and upper bound."""

    least: float
    most: float


@dataclass(frozen=True)
class Forecast:
    """The estimate for a sweep."""

    points: Counted
    runs: Counted
    jobs: int
    wall_s: Span | None
    """None if every pilot run of an engine failed."""
    kept_bytes: Span | None
    pilots: tuple[Pilot, ...]

    @property
    def json(self) -> dict[str, Any]:
        """The object printed by `--json`."""

        def span(of: Span | Counted | None) -> dict[str, float] | None:
            return None if of is None else {"least": of.least, "most": of.most}

        pilots = [
            {"point": each.point, "engine": each.load.engine, "wall_s": each.wall_s, "reason": each.reason}
            for each in self.pilots
        ]
        return {
            "points": span(self.points), "runs": span(self.runs), "jobs": self.jobs, "wall_s": span(self.wall_s),
            "kept_bytes": span(self.kept_bytes), "pilot": pilots,
        }  # fmt: skip


def forecast(
    sweep: Sweep, jobs: int, executor: Executor | None = None, budget_s: float = BUDGET_S,
    clock: Clock = time.perf_counter, allowed: Permissions = NOTHING,
) -> Forecast:  # fmt: skip
    """Run the pilot and estimate the sweep. Raises `ExperimentError` for an invalid point."""
    base = base_of(sweep, allowed)
    points = list(sweep.spread(SAMPLED))
    loads = {point.number: load_of(sweep, point) for point in points}
    pilots: list[Pilot] = []
    engines = sorted({load.engine for load in loads.values()})
    for engine in engines:
        of_engine = [point for point in points if loads[point.number].engine == engine]
        pilots += _run_pilots(
            sweep,
            base,
            _chosen(of_engine, loads),
            loads,
            executor or InProcessExecutor(),
            budget_s / len(engines),
            clock,
        )
    return estimate(sweep, list(loads.values()), pilots, jobs)


def estimate(sweep: Sweep, loads: Sequence[Load], pilots: Sequence[Pilot], jobs: int) -> Forecast:
    """The estimate for points with these loads, from the measured runs."""
    walls, kept = 0.0, 0.0
    parallel = min(jobs, sweep.counted_runs.least)
    known = bool(loads)
    for engine in {load.engine for load in loads}:
        good = [each for each in pilots if each.load.engine == engine and each.reason is None]
        if not good:
            known = False
            continue
        terms = np.array([load.terms for load in loads if load.engine == engine])
        measured = np.array([each.load.terms for each in good])
        wall_s = float((terms @ _fitted(measured, np.array([each.wall_s for each in good]))).sum())
        # Runs on this host share its cores and devices: one after the other, whatever the jobs.
        walls += wall_s if engine == "host" else wall_s / parallel
        kept += float((terms @ _fitted(measured, np.array([each.kept_bytes or 0.0 for each in good]))).sum())
    runs = sweep.counted_runs

    def span(total: float) -> Span | None:
        each = total / len(loads) if known else 0.0
        return Span(each * runs.least, each * runs.most) if known else None

    return Forecast(
        sweep.counted,
        runs,
        jobs,
        span(walls),
        span(kept) if sweep.keep == "runs" else None,
        tuple(pilots),
    )


def load_of(sweep: Sweep, point: Point) -> Load:
    """The load of a run at this point. Raises `ExperimentError`."""
    experiment = case_at(sweep, point.values).experiment
    (task,) = tasks_at(sweep, point, sweep.seeds[:1])
    flows = sum(group.count for group in experiment.flows)
    packets = _rate_bps(experiment) * experiment.duration / 1e9 / (8 * experiment.path.mtu)
    return Load(task.engine, packets, flows * experiment.duration / experiment.sample)


def _rate_bps(experiment: Experiment) -> float:
    """The bottleneck's rate, averaged over its changes."""
    bottleneck = experiment.path.bottleneck
    rates = [bottleneck.rate if bottleneck else None, *(change.rate for change in experiment.changes)]
    known = [rate for rate in rates if rate]
    return sum(known) / len(known) if known else 0.0


def _chosen(points: Sequence[Point], loads: dict[int, Load]) -> list[Point]:
    """The cheapest, the most expensive and the median point, then random others from a fixed seed.

    Evenly spaced points could all share one level of an axis.
    """
    rising = sorted(points, key=lambda point: (loads[point.number].weight, point.number))
    ends = [rising[0], rising[-1], rising[len(rising) // 2]]
    others = random.Random(len(points)).sample(rising, len(rising))  # noqa: S311 — which runs to try is no secret.
    chosen = {point.number: point for point in (*ends, *others)}
    return list(chosen.values())[:PILOTS]


def _run_pilots(
    sweep: Sweep, base: Base, points: Sequence[Point], loads: dict[int, Load], executor: Executor, budget_s: float,
    clock: Clock,
) -> list[Pilot]:  # fmt: skip
    begun, done = clock(), list[Pilot]()
    # Warm up: imports and process starts must not count as run time.
    _measured(sweep, base, points[0], loads, executor, clock)
    for point in points:
        slowest = max((each.wall_s / max(each.load.weight, 1.0) for each in done), default=0.0)
        if done and clock() - begun + slowest * loads[point.number].weight > budget_s:
            continue
        done.append(_measured(sweep, base, point, loads, executor, clock))
    return done


def _measured(
    sweep: Sweep, base: Base, point: Point, loads: dict[int, Load], executor: Executor, clock: Clock
) -> Pilot:  # fmt: skip
    (task,) = tasks_at(sweep, point, sweep.seeds[:1])
    begun = clock()
    row, kept = _kept(base, task) if sweep.keep == "runs" else (next(iter(executor.rows(base, [task]))), None)
    reason = row.reason if row.status == "failed" else None
    return Pilot(point.number, loads[point.number], clock() - begun, kept, reason)


def _kept(base: Base, task: Task) -> tuple[Row, int]:
    """Run a task and return the size of its result folder."""
    with temporary("pilot") as private:
        row = run_task(base, task, lambda: None, private / "run")
        return row, sum(file.stat().st_size for file in private.rglob("*") if file.is_file())


def _fitted(terms: npt.NDArray[np.float64], measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Non-negative factors, by least squares of the relative errors."""
    scale = np.maximum(measured, 1e-6)
    size = np.maximum(terms.max(axis=0), 1e-12)
    factors, _ = nnls(terms / size / scale[:, None], measured / scale)
    return np.asarray(factors / size, dtype=np.float64)
