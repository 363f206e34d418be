"""Adaptive repeats: how many runs a point needs until its mean is known as well as asked, looked at after each round.

A sequential interval of fixed width (Chow & Robbins 1965, "On the asymptotic theory of fixed-width sequential
confidence intervals"): runs are added as the variance so far says, at most as many as there are. Who looks often and
stops at the first good look stops a little too often where the variance came out small: `Until.least` runs come before
the first look. DESIGN.md has the coverage that is left.
"""

import bisect
import math
from dataclasses import dataclass
from typing import Literal

from dumbbell.analysis.difference import t_quantile
from dumbbell.spec.sweep import Sweep, Until
from dumbbell.sweeps.sample import Sample

__all__ = ["Standing", "State", "first_runs", "runs_wanted", "seeds_of", "standing"]

State = Literal["met", "more", "most", "unknown"]


@dataclass(frozen=True)
class Standing:
    """How well a point is known."""

    state: State
    """`met`: as asked; `more`: runs are missing; `most`: no more are allowed; `unknown`: no run tells the metric."""
    sample: Sample
    allowed: float | None
    """The half-width that would do."""

    def told(self, until: Until) -> str:
        """In a sentence, where a point ended without what was asked."""
        if self.state == "unknown":
            return f"none of {self.sample.runs} runs tells {until.metric}"
        known = f"{until.metric} is known to ± {self.sample.half_width:.3g} after {self.sample.runs} runs"
        return known if self.allowed is None else f"{known}, ± {self.allowed:.3g} was asked for"


def first_runs(sweep: Sweep) -> int:
    """How many runs a point has before anybody looks."""
    return max(len(sweep.seeds), sweep.until.least) if sweep.until else len(sweep.seeds)


def standing(until: Until, sample: Sample) -> Standing:
    """How well a point is known after its runs so far."""
    if not sample.count:
        return Standing("unknown", sample, None)
    allowed = until.allowed(sample.mean)
    if sample.half_width <= allowed:
        return Standing("met", sample, allowed)
    return Standing("more" if sample.runs < until.most else "most", sample, allowed)


def runs_wanted(until: Until, sample: Sample) -> int:
    """How many runs the point should have next: as many as now when it is done."""
    found = standing(until, sample)
    if found.state != "more" or found.allowed is None:
        return sample.runs
    values = _values_needed(sample, found.allowed)
    # Runs that tell nothing are as frequent among those that come.
    runs = math.ceil(values * sample.runs / sample.count)
    return min(max(runs, sample.runs + 1), 2 * sample.runs, until.most)


def seeds_of(sweep: Sweep, count: int) -> tuple[int, ...]:
    """The first so many seeds: those that were asked for, then the numbers that follow the largest."""
    after = max(sweep.seeds) + 1
    return (*sweep.seeds, *range(after, after + count - len(sweep.seeds)))[:count]


def _values_needed(sample: Sample, allowed: float) -> int:
    """The smallest number of values with which this variance gives the width; at most twice as many as there are."""
    if sample.count < 2:
        return 2 * sample.count

    def narrow(count: int) -> bool:
        return t_quantile(count - 1) * math.sqrt(sample.variance / count) <= allowed

    return bisect.bisect_left(range(2 * sample.count), True, lo=sample.count, key=narrow)
