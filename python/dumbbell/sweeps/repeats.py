"""Adaptive repeats: the number of runs that a point needs for the requested precision of its mean, per round.

A fixed-width sequential confidence interval (Chow & Robbins 1965, "On the asymptotic theory of fixed-width sequential
confidence intervals"): the variance so far determines how many runs to add, at most doubling them. Stopping at the
first narrow interval favours samples whose variance happens to be small, which lowers the coverage; `Until.least` runs
before the first check limit this. docs/sweeps.md has the remaining coverage.
"""

import bisect
import math
from dataclasses import dataclass
from typing import Literal

from dumbbell.analysis.difference import t_quantile
from dumbbell.spec.sweep import Sweep, Until, allowed_half_width
from dumbbell.sweeps.sample import Sample

__all__ = ["PointPrecision", "State", "first_runs", "precision_of", "runs_needed", "seeds_of"]

State = Literal["met", "more", "most", "unknown"]


@dataclass(frozen=True)
class PointPrecision:
    """The precision of a point's mean."""

    state: State
    """`met`: precise enough; `more`: needs more runs; `most`: no more are allowed; `unknown`: no run has the metric."""
    sample: Sample
    allowed: float | None
    """The requested half-width."""

    def shortfall(self, until: Until) -> str:
        """A sentence for a point that missed the requested precision."""
        if self.state == "unknown":
            return f"none of {self.sample.runs} runs has {until.metric}"
        known = f"{until.metric} is known to ± {self.sample.half_width:.3g} after {self.sample.runs} runs"
        return known if self.allowed is None else f"{known}, ± {self.allowed:.3g} was requested"


def first_runs(sweep: Sweep) -> int:
    """The number of runs of a point before the first check."""
    return max(len(sweep.seeds), sweep.until.least) if sweep.until else len(sweep.seeds)


def precision_of(until: Until, sample: Sample) -> PointPrecision:
    """The precision of a point after its runs so far."""
    if not sample.count:
        return PointPrecision("unknown", sample, None)
    allowed = allowed_half_width(until, sample.mean)
    if sample.half_width <= allowed:
        return PointPrecision("met", sample, allowed)
    return PointPrecision("more" if sample.runs < until.most else "most", sample, allowed)


def runs_needed(until: Until, sample: Sample) -> int:
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
