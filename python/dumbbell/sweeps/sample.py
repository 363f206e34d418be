"""What the runs of a point say of a metric: how many told it, their mean and variance; how sure that is.

Student's t over the valid runs' values, each a run with its own seed. Sums are exact (`math.fsum`), so that the order
in which runs end changes no decision.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dumbbell.analysis.difference import t_quantile
from dumbbell.sweeps.task import Row

__all__ = ["Sample", "apart", "part_ways", "sample_of"]

SURE = 0.99
"""That two means differ. A grid makes many comparisons, and each difference four boxes with more of them: at 95 %
noise alone refined 12 points to 172."""


@dataclass(frozen=True)
class Sample:
    """Of one metric, over the runs of one point."""

    runs: int
    """Those that are invalid or failed, or don't know the metric, included."""
    count: int
    """Values: those of valid runs that know it."""
    mean: float
    variance: float
    """Unbiased; 0 for fewer than two values."""
    valid: int = 0
    """Runs that are valid, whether they know the metric or not."""

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of the mean; infinite for fewer than two values."""
        if self.count < 2:
            return math.inf
        return t_quantile(self.count - 1) * math.sqrt(self.variance / self.count)


def sample_of(rows: Sequence[Row], metric: str) -> Sample:
    """What these runs say."""
    told = [row.metrics.get(metric) for row in rows if row.status == "ok"]
    sample = _sample(len(rows), [value for value in told if value is not None and math.isfinite(value)])
    return replace(sample, valid=len(told))


def apart(first: Sample, second: Sample) -> float | None:
    """How far apart two means are; 0 where chance alone may have done it, None where one is not known.

    By Student's test of two samples at 99 %, with one variance for both; one value each tells nothing of chance, and
    is taken as it is.
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


def part_ways(first: Sample, second: Sample) -> bool:
    """Does most of the valid runs know the metric on one side, and none on the other?

    A side without a valid run says nothing: why runs fail is no property of the metric.
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
