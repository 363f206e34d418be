"""How far each machine's clock is ahead of ours, and how well that is known.

A reading is our time of asking, the machine's time, our time of knowing. With the true offset θ the machine's time lies
between asking and knowing, so  told - known <= θ <= told - asked:  the middle is off by at most half the round trip, as
in NTP (RFC 5905 section 8, `theta` and `delta`). Of several readings the one with the shortest round trip is taken.
Between the first and the last the clocks may drift apart; both are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Comparison", "Reading", "compare"]


@dataclass(frozen=True)
class Reading:
    """One look at a machine's clock; all are monotonic clocks, in nanoseconds."""

    asked_ns: int
    """By ours."""
    told_ns: int
    """By the machine's."""
    known_ns: int
    """By ours."""

    @property
    def round_trip_ns(self) -> int:
        """How long the answer took."""
        return self.known_ns - self.asked_ns

    @property
    def offset_ns(self) -> int:
        """The machine's clock minus ours, in the middle of what is possible."""
        return self.told_ns - (self.asked_ns + self.known_ns) // 2


@dataclass(frozen=True)
class Comparison:
    """What some readings say of a machine's clock."""

    offset_ns: int
    """Its clock minus ours, when the experiment began."""
    error_ns: int
    """The offset is off by at most so much."""
    drift_ns: int
    """By how much the offset had changed at the end; smaller than the errors it says nothing."""

    def as_json(self) -> dict[str, Any]:
        """For the birth certificate."""
        return {
            "offset_s": self.offset_ns / 1e9,
            "error_s": self.error_ns / 1e9,
            "drift_s": self.drift_ns / 1e9,
        }


def compare(before: Sequence[Reading], after: Sequence[Reading] = ()) -> Comparison:
    """What the readings before an experiment say, and those at its end if there are any."""
    best = min(before, key=lambda reading: reading.round_trip_ns)
    error_ns = -(-best.round_trip_ns // 2)
    if not after:
        return Comparison(best.offset_ns, error_ns, 0)
    last = min(after, key=lambda reading: reading.round_trip_ns)
    return Comparison(best.offset_ns, max(error_ns, -(-last.round_trip_ns // 2)), last.offset_ns - best.offset_ns)
