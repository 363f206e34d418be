"""Sizes behind the rounded numbers of logs: the segment size, and the size of super-packets.

**The largest step of which all of some rounded sizes are multiples**, as congestion windows are of the segment size. A
log prints a window with a few digits, so only an interval is known for each. A step m is possible if every interval
contains a multiple of m. The algorithm intersects the sets of possible steps value by value and returns the interval of
the largest remaining steps. It accepts the step only if random sizes rarely have one:

1. A first size v allows one candidate v ÷ n for each n. Another size with the interval ±h fits a candidate m by chance
   with probability (2h + width of m) ÷ m. The product over the sizes, summed over the candidates, is the expected
   number of steps of at least this size that fit by chance.
2. D sizes that are multiples of m are all multiples of 2m by chance with probability 2^-D, of 3m with 3^-D, and so on.

**The size of super-packets in segments, from a log's losses per interval.** With offloads (TSO, GSO) netem and a queue
drop whole super-packets, so retransmissions are multiples of a super-packet's segments. Counts c per interval are
tested against every k: one in k random counts is a multiple of k, so P(at least as many are) is binomial. This holds
only for counts that vary by more than k, so k is at most twice their standard deviation, estimated from the middle half
of the counts. The smallest probability is multiplied by the number of k tried (Bonferroni).

`conditions` interprets both.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dumbbell.late import special

__all__ = [
    "GSO_MAX_BYTES",
    "Multiple",
    "Step",
    "common_step",
    "half_digit_bytes",
    "multiple_of",
]


Floats = npt.NDArray[np.float64]

LEAST_BYTES, MOST_BYTES = 500, 65_535
"""Segment sizes: IPv6's smallest MTU allows 1220, IPv4's usual minimum is 536; IP packets have at most 65,535."""
EXACT = 0.25
"""Half the interval of an exact number of bytes: above float rounding, below one byte."""
P_VALUE_MAX = 0.001
NEAR = 0.7
"""Relative to the largest candidate. Half of it always fits too, and is not a separate candidate."""
WIDTH_MAX = 0.02
"""Largest accepted relative width of the step's interval."""
PIECES_MAX = 50_000
SIZES_MAX = 2_000
"""Number of distinct sizes to use, the most precise ones; each takes 30 µs."""


@dataclass(frozen=True)
class Step:
    """The step, between `low` and `high`, in bytes."""

    low: float
    high: float
    sizes: int
    """Number of distinct sizes that are informative for this step."""
    p_value: float
    """Expected number of steps at least as large that fit by chance; at most `P_VALUE_MAX`."""

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return (self.low + self.high) / 2


def half_digit_bytes(sizes: npt.ArrayLike) -> Floats:
    """Half of the last digit that iperf3 prints for each size: three digits of bytes, K, M or G of 1024.

    `unit_snprintf` of iperf3's units.c: two decimals below 9.995, one below 99.95, none above; exact below 1024 bytes.
    """
    values = np.asarray(sizes, dtype=np.float64)
    powers = np.clip(np.floor(np.log2(np.maximum(values, 1)) / 10), 0, 3)
    units = 1024.0**powers
    shown = values / units
    digit = np.where(shown < 9.995, 0.01, np.where(shown < 99.95, 0.1, 1.0))
    return np.asarray(np.where(powers == 0, EXACT, np.maximum(digit * units / 2, EXACT)))


def common_step(sizes: npt.ArrayLike, halves: npt.ArrayLike) -> Step | None:
    """The largest step in bytes of which every size is a multiple within half its last digit.

    None if no step fits all sizes, or if the sizes are too few or too coarse to exclude chance.
    """
    values, widths = _distinct(np.asarray(sizes, dtype=np.float64), np.asarray(halves, dtype=np.float64))
    lows, highs = np.array([float(LEAST_BYTES)]), np.array([float(MOST_BYTES)])
    for value, half in zip(values, widths, strict=True):
        if 2 * half >= highs.max():
            continue  # Too coarse: every step has a multiple in it.
        if (met := _met(lows, highs, value, half)) is None:
            continue
        lows, highs = met
        if not lows.size:
            return None
    if not values.size:
        return None
    # Several intervals may remain close to the largest; the sizes can't distinguish them.
    near = highs >= NEAR * highs.max()
    step, high = float(lows[near].min()), float(highs.max())
    if high - step > WIDTH_MAX * high:
        return None
    telling = 2 * widths < step / 2
    count = int(np.count_nonzero(telling))
    p_value = _p_value(values[telling], widths[telling], step) + 2.0 ** (1 - count)
    return Step(step, high, count, p_value) if p_value <= P_VALUE_MAX else None


def _distinct(values: Floats, halves: Floats) -> tuple[Floats, Floats]:
    """Distinct sizes, the most precise first, which leaves few candidates for the others."""
    positive = values > halves
    pairs = np.unique(np.stack([halves[positive], values[positive]], axis=1), axis=0)
    return pairs[:SIZES_MAX, 1], np.maximum(pairs[:SIZES_MAX, 0], EXACT)


def _met(lows: Floats, highs: Floats, value: float, half: float) -> tuple[Floats, Floats] | None:
    """The parts of these intervals that also fit one more size; None if there are too many."""
    first = np.maximum(np.ceil((value - half) / highs), 1)
    counts = np.maximum(np.floor((value + half) / lows) - first + 1, 0).astype(np.int64)
    total = int(counts.sum())
    if total > PIECES_MAX:
        return None
    owners = np.repeat(np.arange(lows.size), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    multiples = first[owners] + within
    new_lows = np.maximum(lows[owners], (value - half) / multiples)
    new_highs = np.minimum(highs[owners], (value + half) / multiples)
    kept = new_lows <= new_highs
    return new_lows[kept], new_highs[kept]


def _p_value(values: Floats, halves: Floats, step: float) -> float:
    """Expected number of steps of at least `step` for random sizes of these widths: point 1 above."""
    if values.size < 2:
        return math.inf
    candidates = values[0] / np.arange(1, max(math.floor(values[0] / step), 1) + 1)
    fits, freedom = np.zeros(candidates.size), 2 * halves[0] / values[0]
    for value, half in zip(values[1:], halves[1:], strict=True):
        fits += np.log(np.minimum((2 * half + value * freedom) / candidates, 1))
        freedom = min(freedom, 2 * half / value)
    return float(np.exp(fits).sum())


GSO_MAX_BYTES = 65_536
"""`GSO_LEGACY_MAX_SIZE` of include/linux/netdevice.h: headers and payload of the largest super-packet."""
LEAST, MOST = 3, 64
"""A delayed acknowledgement covers two segments; a super-packet has at most 45 of 1448 bytes."""
COUNTS_MIN = 12
SIGNIFICANCE = 1e-4


@dataclass(frozen=True)
class Multiple:
    """The most likely number of segments per loss."""

    segments: int
    hits: int
    """Intervals whose count is a multiple."""
    counts: int
    p_value: float

    @property
    def expected(self) -> float:
        """Expected hits of random counts."""
        return self.counts / self.segments


def multiple_of(counts: npt.ArrayLike, most: int = MOST) -> Multiple | None:
    """The k, at most `most`, with significantly many multiples; None without one."""
    known = np.asarray(counts, dtype=np.int64)
    known = known[known > 0]
    found: list[Multiple] = []
    tried = range(LEAST, min(int(2 * _spread(known)), most) + 1)
    for segments in tried:
        large = known[known >= segments]
        hits = int(np.count_nonzero(large % segments == 0))
        if large.size >= COUNTS_MIN and hits > large.size / segments:
            p_value = float(special.bdtrc(hits - 1, large.size, 1 / segments)) * len(tried)
            found.append(Multiple(segments, hits, int(large.size), p_value))
    # Multiples of 15 are multiples of 3 too; on a tie in floating point, prefer the larger.
    best = min(found, key=lambda each: (each.p_value, -each.segments), default=None)
    return best if best is not None and best.p_value <= SIGNIFICANCE else None


def _spread(counts: npt.NDArray[np.int64]) -> float:
    """The standard deviation of a normal distribution with the same middle half, robust against outliers."""
    if not counts.size:
        return 0.0
    low, high = np.quantile(counts, [0.25, 0.75])
    return float(high - low) / 1.349
