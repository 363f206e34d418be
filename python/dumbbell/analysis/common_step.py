"""The step of which all of some rounded sizes are multiples, as a congestion window is one of the segment size.

A log prints a window with a few digits: of each only an interval is known. A step m is possible when every interval
holds a multiple of m; the parts of all possible steps are intersected, value by value, and the answer is the interval
of the largest that are left. It is believed only when random sizes would hardly have such a step:

1. A first size v allows one candidate v ÷ n for each n. Another size with the interval ±h fits a candidate m by chance
   with probability (2h + what m may still vary) ÷ m. The sum over the candidates of the product over the sizes is how
   many steps of at least this size fit by chance.
2. D sizes that are multiples of m are all multiples of 2m by chance with probability 2^-D, of 3m with 3^-D, and so on.

What a window is and what its step means is `conditions`.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Step", "common_step", "half_digit_bytes"]

Floats = npt.NDArray[np.float64]

LEAST_BYTES, MOST_BYTES = 500, 65_535
"""Segment sizes: IPv6's smallest MTU allows 1220, IPv4's usual smallest is 536; no IP packet is longer than 65,535."""
EXACT = 0.25
"""Half of the interval of an exact number of bytes: enough for the rounding of a float, too little for another byte."""
CHANCE_MAX = 0.001
NEAR = 0.7
"""Of the largest: a half of it always fits too, and is no candidate."""
WIDTH_MAX = 0.02
"""What is less certain is no answer."""
PIECES_MAX = 50_000
SIZES_MAX = 2_000
"""Different sizes that are looked at, the finest: they decide, and each takes 30 µs."""


@dataclass(frozen=True)
class Step:
    """What the sizes are multiples of: between `low` and `high`, in bytes."""

    low: float
    high: float
    sizes: int
    """Different sizes that tell this step from others."""
    chance: float
    """How many steps at least as large would fit by chance; at most `CHANCE_MAX`."""

    @property
    def middle(self) -> float:
        """Of the interval."""
        return (self.low + self.high) / 2


def half_digit_bytes(sizes: npt.ArrayLike) -> Floats:
    """Half of the last digit that iperf3 prints of each size: three digits of bytes, K, M or G of 1024.

    `unit_snprintf` of iperf3's units.c: two decimals below 9.995, one below 99.95, none above; below 1024 bytes exact.
    """
    values = np.asarray(sizes, dtype=np.float64)
    powers = np.clip(np.floor(np.log2(np.maximum(values, 1)) / 10), 0, 3)
    units = 1024.0**powers
    shown = values / units
    digit = np.where(shown < 9.995, 0.01, np.where(shown < 99.95, 0.1, 1.0))
    return np.asarray(np.where(powers == 0, EXACT, np.maximum(digit * units / 2, EXACT)))


def common_step(sizes: npt.ArrayLike, halves: npt.ArrayLike) -> Step | None:
    """The largest step in bytes of which every size, give or take its half digit, is a multiple.

    None where no step fits all, and where so few or so coarse sizes would have one by chance.
    """
    values, widths = _distinct(np.asarray(sizes, dtype=np.float64), np.asarray(halves, dtype=np.float64))
    lows, highs = np.array([float(LEAST_BYTES)]), np.array([float(MOST_BYTES)])
    for value, half in zip(values, widths, strict=True):
        if 2 * half >= highs.max():
            continue  # So coarse that every step has a multiple in it.
        if (met := _met(lows, highs, value, half)) is None:
            continue
        lows, highs = met
        if not lows.size:
            return None
    if not values.size:
        return None
    # Several parts may be left close to the largest, and the sizes can't tell which of them it is.
    near = highs >= NEAR * highs.max()
    step, high = float(lows[near].min()), float(highs.max())
    if high - step > WIDTH_MAX * high:
        return None
    telling = 2 * widths < step / 2
    count = int(np.count_nonzero(telling))
    chance = _by_chance(values[telling], widths[telling], step) + 2.0 ** (1 - count)
    return Step(step, high, count, chance) if chance <= CHANCE_MAX else None


def _distinct(values: Floats, halves: Floats) -> tuple[Floats, Floats]:
    """Each size once, the finest first: what comes first leaves few candidates for the others."""
    positive = values > halves
    pairs = np.unique(np.stack([halves[positive], values[positive]], axis=1), axis=0)
    return pairs[:SIZES_MAX, 1], np.maximum(pairs[:SIZES_MAX, 0], EXACT)


def _met(lows: Floats, highs: Floats, value: float, half: float) -> tuple[Floats, Floats] | None:
    """The parts of these intervals of which one more size is a multiple; None when there are too many."""
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


def _by_chance(values: Floats, halves: Floats, step: float) -> float:
    """How many steps of at least `step` random sizes of these widths have: point 1 above."""
    if values.size < 2:
        return math.inf
    candidates = values[0] / np.arange(1, max(math.floor(values[0] / step), 1) + 1)
    fits, freedom = np.zeros(candidates.size), 2 * halves[0] / values[0]
    for value, half in zip(values[1:], halves[1:], strict=True):
        fits += np.log(np.minimum((2 * half + value * freedom) / candidates, 1))
        freedom = min(freedom, 2 * half / value)
    return float(np.exp(fits).sum())
