"""How much a server gives: to all, to one address, to one connection.

Pure but for the clock, which is handed in as a number. What a refusal looks like on the wire is `wire`'s.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Bucket", "Census", "Entry", "Limits", "Throttle"]

NS = 1_000_000_000
BURST_NS = 50_000_000
"""A bucket gives what it would give in this time at once: pieces large enough to be cheap, small beside a second."""


@dataclass(frozen=True)
class Limits:
    """What a server is willing to do."""

    size_bytes: int = 1_000_000_000
    """Of one response."""
    rate_bps: int | None = None
    """Of all responses together."""
    address_rate_bps: int | None = None
    """Of all responses to one address."""
    clients: int = 512
    """Connections at once."""
    address_clients: int = 32
    """Connections at once from one address."""
    silence_s: float = 30.0
    """For a request's head, for TLS, between requests, and without a byte taken."""
    least_bps: int = 8_000
    """What a client must take on average, once `silence_s` have passed."""
    head_bytes: int = 16_384
    """Of a request line and its fields."""
    requests: int = 100
    """Of one connection."""


class Entry(StrEnum):
    """May one more come in?"""

    YES = "yes"
    FULL = "full"
    TOO_MANY = "too many from there"


class Census:
    """Who is connected."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._at: Counter[str] = Counter()
        self.clients = 0

    def enter(self, address: str) -> Entry:
        """One more from there; it is counted only when the answer is yes."""
        if self.clients >= self._limits.clients:
            return Entry.FULL
        if self._at[address] >= self._limits.address_clients:
            return Entry.TOO_MANY
        self.clients += 1
        self._at[address] += 1
        return Entry.YES

    def leave(self, address: str) -> bool:
        """One less; was it the last from there?"""
        self.clients -= 1
        self._at[address] -= 1
        if self._at[address] > 0:
            return False
        del self._at[address]
        return True


class Bucket:
    """A rate, as the time at which the next byte is due (the virtual scheduling algorithm of ITU-T I.371)."""

    def __init__(self, rate_bps: int) -> None:
        self.rate_bps = rate_bps
        self._due_ns = 0

    @property
    def piece_bytes(self) -> int:
        """What it gives at once."""
        return max(1, self.rate_bps * BURST_NS // (8 * NS))

    def take(self, count: int, now_ns: int) -> int:
        """Reserve so many bytes; returns how many nanoseconds to wait before they may be sent."""
        due_ns = max(self._due_ns, now_ns)
        self._due_ns = due_ns + self._cost_ns(count)
        return max(0, due_ns - now_ns - BURST_NS)

    def give_back(self, count: int) -> None:
        """Bytes that were reserved and not sent."""
        self._due_ns -= self._cost_ns(count)

    def behind_ns(self, now_ns: int) -> int:
        """How long those who have reserved will take."""
        return max(0, self._due_ns - now_ns)

    def _cost_ns(self, count: int) -> int:
        return count * 8 * NS // self.rate_bps


class Throttle:
    """The buckets that hold for one address: everybody's, and its own."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all = None if limits.rate_bps is None else Bucket(limits.rate_bps)
        self._own: dict[str, Bucket] = {}

    def of(self, address: str) -> list[Bucket]:
        """Which buckets a response to this address takes from."""
        buckets = [] if self._all is None else [self._all]
        if self._limits.address_rate_bps is not None:
            buckets.append(self._own.setdefault(address, Bucket(self._limits.address_rate_bps)))
        return buckets

    def forget(self, address: str, now_ns: int) -> None:
        """The last connection from there is gone; a bucket that owes nothing says nothing."""
        if address in self._own and not self._own[address].behind_ns(now_ns):
            del self._own[address]
        if len(self._own) > 4 * self._limits.clients:
            self._own = {each: bucket for each, bucket in self._own.items() if bucket.behind_ns(now_ns)}
