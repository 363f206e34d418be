"""Judge a criterion from its values over seeds: pass, fail, or not known yet.

The median's interval is that of `analysis.sequential`, which is valid however often it is looked at, so stopping as
soon as it is clear does not make wrong verdicts more frequent than 5 % per criterion.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dumbbell.analysis.difference import CONFIDENCE
from dumbbell.analysis.sequential import left_out
from dumbbell.evaluation.criteria import Limit

__all__ = ["SEEDS_FIRST", "Judged", "Verdict", "judge"]


class Verdict(StrEnum):
    """The answer to a criterion."""

    PASS = "pass"  # noqa: S105 — a verdict, not a password
    FAIL = "fail"
    NOT_KNOWN = "not known"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Judged:
    """A verdict with the median and its interval; the interval's ends are infinite with too few values."""

    verdict: Verdict
    median: float | None
    low: float
    high: float


def judge(values: Sequence[float], limit: Limit) -> Judged:
    """Pass if the whole interval meets the limit, fail if none of it does."""
    ordered = sorted(values)
    out = left_out(len(ordered), 1 - CONFIDENCE, looked=True)
    low, high = (-math.inf, math.inf) if out < 0 else (ordered[out], ordered[len(ordered) - 1 - out])
    median = statistics.median(ordered) if ordered else None
    worst, best = (low, high) if limit.at_least else (high, low)
    verdict = Verdict.PASS if limit.is_met(worst) else Verdict.NOT_KNOWN if limit.is_met(best) else Verdict.FAIL
    return Judged(verdict, median, low, high)


SEEDS_FIRST = next(count for count in range(1, 100) if left_out(count, 1 - CONFIDENCE, looked=True) >= 0)
"""The smallest number of seeds that can give a verdict."""
