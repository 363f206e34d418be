"""Offset of each host's clock, and its uncertainty.

A reading consists of the local time of the request, the remote time, and the local time of the answer. The true offset
θ satisfies  remote - answered <= θ <= remote - requested:  the midpoint is off by at most half the round trip, as
in NTP (RFC 5905 section 8, `theta` and `delta`). Of several readings the one with the shortest round trip is used.
The clocks may drift during the run, so there is an estimate before and one after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Comparison", "Reading", "compare"]


@dataclass(frozen=True)
class Reading:
    """One reading of a host's clock; all times are of monotonic clocks, in nanoseconds."""

    requested_ns: int
    """Local time of the request."""
    remote_ns: int
    """Remote time."""
    answered_ns: int
    """Local time of the answer."""

    @property
    def round_trip_ns(self) -> int:
        """Round-trip time of the request."""
        return self.answered_ns - self.requested_ns

    @property
    def offset_ns(self) -> int:
        """The remote clock minus the local one: the midpoint estimate."""
        return self.remote_ns - (self.requested_ns + self.answered_ns) // 2


@dataclass(frozen=True)
class Comparison:
    """Estimate from several readings."""

    offset_ns: int
    """The remote clock minus the local one, at the start."""
    error_ns: int
    """Maximum error of the offset."""
    drift_ns: int
    """Change of the offset until the end; not significant if smaller than the errors."""

    def as_json(self) -> dict[str, Any]:
        """The manifest entry."""
        return {
            "offset_s": self.offset_ns / 1e9,
            "error_s": self.error_ns / 1e9,
            "drift_s": self.drift_ns / 1e9,
        }


def compare(before: Sequence[Reading], after: Sequence[Reading] = ()) -> Comparison:
    """Estimate the offset from the readings before an experiment and, if any, those at its end."""
    best = min(before, key=lambda reading: reading.round_trip_ns)
    error_ns = -(-best.round_trip_ns // 2)
    if not after:
        return Comparison(best.offset_ns, error_ns, 0)
    last = min(after, key=lambda reading: reading.round_trip_ns)
    return Comparison(best.offset_ns, max(error_ns, -(-last.round_trip_ns // 2)), last.offset_ns - best.offset_ns)
