"""The sample of a metric over the runs of a point: count, mean, variance and confidence interval.

Student's t over the values of valid runs, each with its own seed. Sums are exact (`math.fsum`), so the order in which
runs complete doesn't change a decision.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dumbbell.analysis.difference import t_quantile
from dumbbell.sweeps.task import Row

__all__ = ["Sample", "apart", "only_one_known", "sample_of"]

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
