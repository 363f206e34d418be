"""Infer the size of super-packets in segments, from a log's losses per interval.

With offloads (TSO, GSO) netem and a queue drop whole super-packets, so retransmissions are multiples of a
super-packet's segments. Counts c per interval are tested against every k: one in k random counts is a multiple of k, so
P(at least as many are) is binomial. This holds only for counts that vary by more than k, so k is at most twice their
standard deviation, estimated from the middle half of the counts. The smallest probability is multiplied by the number
of k tried (Bonferroni).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Not scipy.stats: importing it takes seconds.
# ruff: noqa: PLC0415

__all__ = ["GSO_MAX_BYTES", "Multiple", "multiple_of"]

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
    from scipy.special import bdtrc

    known = np.asarray(counts, dtype=np.int64)
    known = known[known > 0]
    found: list[Multiple] = []
    tried = range(LEAST, min(int(2 * _spread(known)), most) + 1)
    for segments in tried:
        large = known[known >= segments]
        hits = int(np.count_nonzero(large % segments == 0))
        if large.size >= COUNTS_MIN and hits > large.size / segments:
            p_value = float(bdtrc(hits - 1, large.size, 1 / segments)) * len(tried)
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
