"""Adaptive repeats: the sample of a metric at a point, and the runs that the point needs.

Student's t over the values of valid runs, each with its own seed. Sums are exact (`math.fsum`), so the order in which
runs complete doesn't change a decision.

A fixed-width sequential confidence interval (Chow & Robbins 1965, "On the asymptotic theory of fixed-width sequential
confidence intervals"): the variance so far determines how many runs to add, at most doubling them. Stopping at the
first narrow interval favours samples whose variance happens to be small, which lowers the coverage; `Until.least` runs
before the first check limit this. docs/sweeps.md has the remaining coverage.
"""

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dumbbell.analysis.difference import t_quantile
from dumbbell.spec.sweep import Sweep, allowed_half_width
from dumbbell.sweeps.task import Row

if TYPE_CHECKING:
    from dumbbell.spec.keys import Until

__all__ = [
    "PointPrecision",
    "Sample",
    "State",
    "apart",
    "first_runs",
    "only_one_known",
    "precision_of",
    "runs_needed",
    "sample_of",
    "seeds_of",
]


SURE = 0.99
"""Confidence that two means differ. A grid makes many comparisons, and each difference adds four boxes with more: at
95 %, noise alone refined 12 points to 172."""


@dataclass(frozen=True)
class Sample:
    """One metric over the runs of one point."""

    runs: int
    """All runs, including invalid and failed ones and those without the metric."""
    count: int
    """Values: valid runs that have the metric."""
    mean: float
    variance: float
    """Unbiased; 0 for fewer than two values."""
    valid: int = 0
    """Valid runs, with or without the metric."""

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval of the mean; infinite for fewer than two values."""
        if self.count < 2:
            return math.inf
        return t_quantile(self.count - 1) * math.sqrt(self.variance / self.count)


def sample_of(rows: Sequence[Row], metric: str) -> Sample:
    """The sample of a metric over these runs."""
    values = [row.metrics.get(metric) for row in rows if row.status == "ok"]
    sample = _sample(len(rows), [value for value in values if value is not None and math.isfinite(value)])
    return replace(sample, valid=len(values))


def apart(first: Sample, second: Sample) -> float | None:
    """The difference of two means; 0 if it isn't significant, None if one mean is unknown.

    Uses Student's two-sample test at 99 % with pooled variance. With one value each no test is possible, and the
    difference is returned as it is.
    """
    if not first.count or not second.count:
        return None
    distance = abs(first.mean - second.mean)
    freedom = first.count + second.count - 2
    if freedom == 0:
        return distance
    pooled = ((first.count - 1) * first.variance + (second.count - 1) * second.variance) / freedom
    allowed = t_quantile(freedom, SURE) * math.sqrt(pooled * (1 / first.count + 1 / second.count))
    return distance if distance > allowed else 0.0


def only_one_known(first: Sample, second: Sample) -> bool:
    """Do most valid runs of one sample have the metric, and none of the other?

    A sample without valid runs doesn't count: why runs fail is no property of the metric.
    """
    few, many = sorted((first, second), key=lambda sample: sample.count)
    return few.valid > 0 and few.count == 0 and 2 * many.count > many.valid


def _sample(runs: int, values: Iterable[float]) -> Sample:
    values = list(values)
    if not values:
        return Sample(runs, 0, math.nan, 0.0)
    mean = math.fsum(values) / len(values)
    if len(values) == 1 or min(values) == max(values):
        return Sample(runs, len(values), values[0], 0.0)
    return Sample(runs, len(values), mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


State = Literal["met", "more", "most", "unknown"]


@dataclass(frozen=True)
class PointPrecision:
    """The precision of a point's mean."""

    state: State
    """`met`: precise enough; `more`: needs more runs; `most`: no more are allowed; `unknown`: no run has the metric."""
    sample: Sample
    allowed: float | None
    """The requested half-width."""

    def shortfall(self, until: "Until") -> str:
        """A sentence for a point that missed the requested precision."""
        if self.state == "unknown":
            return f"none of {self.sample.runs} runs has {until.metric}"
        known = f"{until.metric} is known to ± {self.sample.half_width:.3g} after {self.sample.runs} runs"
        return known if self.allowed is None else f"{known}, ± {self.allowed:.3g} was requested"


def first_runs(sweep: Sweep) -> int:
    """The number of runs of a point before the first check."""
    return max(len(sweep.seeds), sweep.until.least) if sweep.until else len(sweep.seeds)


def precision_of(until: "Until", sample: Sample) -> PointPrecision:
    """The precision of a point after its runs so far."""
    if not sample.count:
        return PointPrecision("unknown", sample, None)
    allowed = allowed_half_width(until, sample.mean)
    if sample.half_width <= allowed:
        return PointPrecision("met", sample, allowed)
    return PointPrecision("more" if sample.runs < until.most else "most", sample, allowed)


def runs_needed(until: "Until", sample: Sample) -> int:
    """The number of runs that the point should have after the next round; unchanged if it is complete."""
    found = precision_of(until, sample)
    if found.state != "more" or found.allowed is None:
        return sample.runs
    values = _values_needed(sample, found.allowed)
    # Assume that the share of runs without a value stays the same.
    runs = math.ceil(values * sample.runs / sample.count)
    return min(max(runs, sample.runs + 1), 2 * sample.runs, until.most)


def seeds_of(sweep: Sweep, count: int) -> tuple[int, ...]:
    """The first `count` seeds: those of the sweep file, then the numbers after the largest."""
    after = max(sweep.seeds) + 1
    return (*sweep.seeds, *range(after, after + count - len(sweep.seeds)))[:count]


def _values_needed(sample: Sample, allowed: float) -> int:
    """The smallest number of values for which this variance gives the width; at most twice the current number."""
    if sample.count < 2:
        return 2 * sample.count

    def narrow(count: int) -> bool:
        return t_quantile(count - 1) * math.sqrt(sample.variance / count) <= allowed

    return bisect.bisect_left(range(2 * sample.count), True, lo=sample.count, key=narrow)
