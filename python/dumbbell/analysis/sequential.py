"""Sequential test: is one way of downloading faster than another, and how many more pairs are needed?

A pair is one download of each kind in random order. The test compares the ratio of their times, so common slowdowns
cancel out. It estimates the ratio's median without assuming a distribution: one retransmission timeout among five quick
downloads gives times far from a normal distribution. Stopping after any pair that looks good is wrong more often than 5
% with ordinary intervals; with `looked` an interval is valid at all times together. `dumbbell.transfer` measures the
times.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from dumbbell.analysis.difference import CONFIDENCE
from dumbbell.late import special

__all__ = [
    "ALIKE",
    "LOOKING",
    "ONCE",
    "Answer",
    "Estimate",
    "answer",
    "cliffs_delta",
    "left_out",
    "pairs_needed",
    "ratio_of_times",
    "typical",
]

ALIKE = 0.05
"""Default margin: two times that differ by less than this share are alike."""
MOST_PAIRS = 20_000
LARGEST_EXPONENT = 700.0

LOOKING = "confidence sequence for the median, by a mixture of sign tests (valid at all times together)"
ONCE = "confidence interval for the median, by the sign test (for a number of pairs fixed in advance)"


class Answer(StrEnum):
    """The result so far."""

    FIRST = "first"
    """The first takes less time."""
    SECOND = "second"
    ALIKE = "alike"
    """The whole interval is within the margin."""
    OPEN = "open"


@dataclass(frozen=True)
class Estimate:
    """A median over pairs, or over downloads, with its interval."""

    median: float
    low: float
    """0 with too few values."""
    high: float
    """Infinite with too few values."""
    values: tuple[float, ...]
    confidence: float
    looked: bool

    @property
    def pairs(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def method(self) -> str:
        """The method as text."""
        return LOOKING if self.looked else ONCE

    @property
    def within(self) -> float:
        """The largest relative distance of the interval from the median; infinite with too few values."""
        return _reach(self.low, self.median, self.high)


def ratio_of_times(
    first: Sequence[float], second: Sequence[float], *, looked: bool, confidence: float = CONFIDENCE
) -> Estimate:
    """The median of first ÷ second over pairs of times. Needs at least one pair."""
    return typical([a / b for a, b in zip(first, second, strict=True)], looked=looked, confidence=confidence)


def typical(values: Sequence[float], *, looked: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The median of positive values, with the interval that `left_out` determines."""
    ordered, count = sorted(values), len(values)
    out = left_out(count, 1 - confidence, looked=looked)
    low, high = (0.0, math.inf) if out < 0 else (ordered[out], ordered[count - 1 - out])
    return Estimate(statistics.median(ordered), low, high, tuple(values), confidence, looked)


@lru_cache(maxsize=4096)
def left_out(count: int, alpha: float, *, looked: bool) -> int:
    """How many of the smallest, and of the largest, values the median's interval leaves out; −1: there is no interval.

    Of n values K lie below the median, K ~ Bin(n, ½), for any distribution (ties may count either way: the interval is
    closed). For fixed n: the largest c with 2 P(K ≤ c) ≤ α (Thompson 1936, Ann. Math. Stat. 7(3)). With `looked`: the
    likelihood of K, mixed over p, ÷ its likelihood at ½,

        M = 2ⁿ · [¼ (1{K=0} + 1{K=n}) + ½ B(K + ½, n − K + ½) ÷ B(½, ½)],

    is a martingale that starts at 1, so by Ville's inequality it ever reaches 1/α with probability at most α: the
    largest c with M(c) ≥ 1/α (confidence sequences for quantiles: Howard & Ramdas 2022, Bernoulli 28(3); the mixture:
    Krichevsky & Trofimov 1981, with half its weight on p = 0 and 1, so that six unanimous pairs suffice).
    """
    found = -1
    for below in range(count // 2 + 1):
        if not (_mixture(below, count) * alpha >= 1 if looked else 2 * _binomial(below, count) <= alpha):
            break
        found = below
    return found


def answer(estimate: Estimate, margin: float = ALIKE) -> Answer:
    """The conclusion from an interval: one is faster, they are alike within the margin, or neither is known."""
    if estimate.low >= 1 / (1 + margin) and estimate.high <= 1 + margin:
        return Answer.ALIKE
    if estimate.high < 1:
        return Answer.FIRST
    return Answer.SECOND if estimate.low > 1 else Answer.OPEN


def pairs_needed(estimate: Estimate, margin: float = ALIKE, within: float | None = None) -> int | None:
    """The approximate total number of pairs for a conclusion, if the rest are like the present ones.

    A conclusion is that of `answer` with this margin, or with `within` an interval that reaches no further. The
    interval of n pairs is taken between the quantiles `left_out`(n) ÷ n of the present ones. None: more than 20,000, or
    no data yet.
    """
    ordered, alpha = sorted(estimate.values), 1 - estimate.confidence

    def is_conclusive(count: int) -> bool:
        out = left_out(count, alpha, looked=estimate.looked)
        if out < 0:
            return False
        low, high = _quantile(ordered, out / count), _quantile(ordered, 1 - out / count)
        if within is not None:
            return _reach(low, estimate.median, high) <= within
        later = Estimate(estimate.median, low, high, (), estimate.confidence, estimate.looked)
        return answer(later, margin) is not Answer.OPEN

    count = max(1, estimate.pairs)
    while count <= MOST_PAIRS:
        if is_conclusive(count):
            return count
        count += max(1, count // 20)  # Higher precision than 5 % is not needed.
    return None


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> float:
    """Cliff's delta: P(first < second) − P(first > second), −1 to 1 (Cliff 1993).

    1: every download of the first kind was faster than every one of the second.
    """
    less = sum(a < b for a in first for b in second)
    more = sum(a > b for a in first for b in second)
    return (less - more) / (len(first) * len(second))


def _mixture(below: int, count: int) -> float:
    """M of `left_out`; infinite if it overflows a float."""
    log_beta = math.lgamma(below + 0.5) + math.lgamma(count - below + 0.5) - math.lgamma(count + 1) - math.log(math.pi)
    ends = (below == 0) + (below == count)
    exponent = count * math.log(2)
    if max(exponent + log_beta, exponent if ends else 0.0) > LARGEST_EXPONENT:
        return math.inf
    return 0.5 * math.exp(exponent + log_beta) + (0.25 * ends * math.exp(exponent) if ends else 0.0)


def _binomial(below: int, count: int) -> float:
    """P(K ≤ below) of Bin(count, ½)."""
    return float(special.bdtr(below, count, 0.5))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between two values (type 7 of Hyndman & Fan 1996)."""
    place = share * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _reach(low: float, middle: float, high: float) -> float:
    return max(high / middle, middle / low if low else math.inf) - 1
