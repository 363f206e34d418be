"""How long a sweep will take, from a measured pilot: a few of its runs, the cheapest, the dearest and some between.

What a run costs is modelled as `a + b × packets + c × samples`, none of them negative, by least squares of the relative
errors: packets are those that the link carries in the run's time, samples those of all flows. An engine has a model of
its own. What flows don't send (losses, sizes, pauses) makes runs cheaper than their link; the fit takes that in on the
average. `forecast` runs the pilot, `estimate` is the pure part.
"""

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.spec.axes import Point
from dumbbell.spec.model import Experiment
from dumbbell.spec.sweep import Counted, Sweep, case_at
from dumbbell.sweeps.conduct import Crew, Here
from dumbbell.sweeps.task import Base, Row, Task, base_of, tasks_at
from dumbbell.sweeps.work import carried_out

__all__ = ["Forecast", "Load", "Pilot", "Span", "estimate", "forecast", "load_of"]

BUDGET_S = 10.0
"""For the whole pilot; a run that would go beyond it is left out."""
SAMPLED = 256
"""Points whose load is reckoned, at most."""
PILOTS = 32
"""Runs of an engine, at most."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Load:
    """What a run has to do."""

    engine: str
    packets: float
    """That the bottleneck can carry in its time; 0 where its rate isn't known (a trace, tc commands)."""
    samples: float
    """Of all flows."""

    @property
    def terms(self) -> tuple[float, float, float]:
        """Of the model."""
        return (1.0, self.packets, self.samples)

    @property
    def weight(self) -> float:
        """To put runs in order before any was measured."""
        return self.packets + self.samples


@dataclass(frozen=True)
class Pilot:
    """One run that was measured."""

    point: int
    load: Load
    wall_s: float
    kept_bytes: int | None
    """Of its folder, where results are kept."""
    reason: str | None
    """Why it gave nothing; it counts for nothing then."""


@dataclass(frozen=True)
class Span:
    """At least, and at most."""

    least: float
    most: float


@dataclass(frozen=True)
class Forecast:
    """What a sweep will be."""

    points: Counted
    runs: Counted
    jobs: int
    wall_s: Span | None
    """None where no run of the pilot gave anything."""
    kept_bytes: Span | None
    pilots: tuple[Pilot, ...]

    @property
    def json(self) -> dict[str, Any]:
        """As `--json` gives it."""

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
    sweep: Sweep, jobs: int, crew: Crew | None = None, budget_s: float = BUDGET_S, clock: Clock = time.perf_counter,
    allowed: Permissions = NOTHING,
) -> Forecast:  # fmt: skip
    """Runs the pilot, then says what the sweep will be. Raises `ExperimentError` for a point that can't be."""
    base = base_of(sweep, allowed)
    points = list(sweep.spread(SAMPLED))
    loads = {point.number: load_of(sweep, point) for point in points}
    pilots: list[Pilot] = []
    engines = sorted({load.engine for load in loads.values()})
    for engine in engines:
        of_engine = [point for point in points if loads[point.number].engine == engine]
        pilots += _flown(sweep, base, _chosen(of_engine, loads), loads, crew or Here(), budget_s / len(engines), clock)
    return estimate(sweep, list(loads.values()), pilots, jobs)


def estimate(sweep: Sweep, loads: Sequence[Load], pilots: Sequence[Pilot], jobs: int) -> Forecast:
    """What a sweep will be whose points have loads like these, given what was measured."""
    walls, kept = 0.0, 0.0
    known = bool(loads)
    for engine in {load.engine for load in loads}:
        good = [each for each in pilots if each.load.engine == engine and each.reason is None]
        if not good:
            known = False
            continue
        terms = np.array([load.terms for load in loads if load.engine == engine])
        measured = np.array([each.load.terms for each in good])
        walls += float((terms @ _fitted(measured, np.array([each.wall_s for each in good]))).sum())
        kept += float((terms @ _fitted(measured, np.array([each.kept_bytes or 0.0 for each in good]))).sum())
    runs = sweep.counted_runs

    def span(total: float) -> Span | None:
        each = total / len(loads) if known else 0.0
        return Span(each * runs.least, each * runs.most) if known else None

    side_by_side = min(jobs, runs.least)
    return Forecast(
        sweep.counted,
        runs,
        jobs,
        span(walls / side_by_side),
        span(kept) if sweep.keep == "runs" else None,
        tuple(pilots),
    )


def load_of(sweep: Sweep, point: Point) -> Load:
    """What a run of this point has to do. Raises `ExperimentError`."""
    experiment = case_at(sweep, point.values).experiment
    (task,) = tasks_at(sweep, point, sweep.seeds[:1])
    flows = sum(group.count for group in experiment.flows)
    packets = _rate_bps(experiment) * experiment.duration / 1e9 / (8 * experiment.path.mtu)
    return Load(task.engine, packets, flows * experiment.duration / experiment.sample)


def _rate_bps(experiment: Experiment) -> float:
    """Of the bottleneck; the mean of what it is changed to, where it is."""
    bottleneck = experiment.path.bottleneck
    rates = [bottleneck.rate if bottleneck else None, *(change.rate for change in experiment.changes)]
    known = [rate for rate in rates if rate]
    return sum(known) / len(known) if known else 0.0


def _chosen(points: Sequence[Point], loads: dict[int, Load]) -> list[Point]:
    """The cheapest, the dearest, the one in the middle, then others as dice of a fixed seed say.

    Evenly spaced ones would be all of one level, where an axis has as many as lie between them.
    """
    rising = sorted(points, key=lambda point: (loads[point.number].weight, point.number))
    ends = [rising[0], rising[-1], rising[len(rising) // 2]]
    others = random.Random(len(points)).sample(rising, len(rising))  # noqa: S311 — which runs to try is no secret.
    chosen = {point.number: point for point in (*ends, *others)}
    return list(chosen.values())[:PILOTS]


def _flown(
    sweep: Sweep, base: Base, points: Sequence[Point], loads: dict[int, Load], crew: Crew, budget_s: float,
    clock: Clock,
) -> list[Pilot]:  # fmt: skip
    begun, done = clock(), list[Pilot]()
    # What is imported and started once is no run's: the first is measured at its second time.
    _measured(sweep, base, points[0], loads, crew, clock)
    for point in points:
        slowest = max((each.wall_s / max(each.load.weight, 1.0) for each in done), default=0.0)
        if done and clock() - begun + slowest * loads[point.number].weight > budget_s:
            continue
        done.append(_measured(sweep, base, point, loads, crew, clock))
    return done


def _measured(
    sweep: Sweep, base: Base, point: Point, loads: dict[int, Load], crew: Crew, clock: Clock
) -> Pilot:  # fmt: skip
    (task,) = tasks_at(sweep, point, sweep.seeds[:1])
    begun = clock()
    row, kept = _kept(base, task) if sweep.keep == "runs" else (next(iter(crew.rows(base, [task]))), None)
    reason = row.reason if row.status == "failed" else None
    return Pilot(point.number, loads[point.number], clock() - begun, kept, reason)


def _kept(base: Base, task: Task) -> tuple[Row, int]:
    """A run whose folder is kept until it was weighed."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-pilot-") as private:
        row = carried_out(base, task, lambda: None, Path(private) / "run")
        return row, sum(file.stat().st_size for file in Path(private).rglob("*") if file.is_file())


def _fitted(terms: npt.NDArray[np.float64], measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Factors that are not negative, by least squares of the relative errors."""
    scale = np.maximum(measured, 1e-6)
    size = np.maximum(terms.max(axis=0), 1e-12)
    factors, _ = nnls(terms / size / scale[:, None], measured / scale)
    return np.asarray(factors / size, dtype=np.float64)
