"""Limits of the server: global, per address and per connection.

Pure: callers pass the time.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Bucket", "ClientCounter", "Entry", "Limits", "Throttle"]

NS = 1_000_000_000
BURST_NS = 50_000_000
"""Burst of a bucket: pieces large enough to be efficient, small compared with a second."""


@dataclass(frozen=True)
class Limits:
    """The limits."""

    size_bytes: int = 1_000_000_000
    """Size of a response."""
    rate_bps: int | None = None
    """Total rate of all responses."""
    address_rate_bps: int | None = None
    """Total rate of all responses to one address."""
    clients: int = 512
    """Concurrent connections."""
    address_clients: int = 32
    """Concurrent connections from one address."""
    silence_s: float = 30.0
    """Timeout for a request's head, for TLS, between requests, and for a stalled client."""
    least_bps: int = 8_000
    """Minimum average rate of a client, after `silence_s`."""
    head_bytes: int = 16_384
    """Size of a request line and its fields."""
    requests: int = 100
    """Requests per connection."""


class Entry(StrEnum):
    """Whether a new connection is accepted."""

    YES = "yes"
    FULL = "full"
    TOO_MANY = "too many from this address"


class ClientCounter:
    """Counts connections, in total and per address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._at: Counter[str] = Counter()
        self.clients = 0

    def enter(self, address: str) -> Entry:
        """Count a new connection if it is within the limits."""
        if self.clients >= self._limits.clients:
            return Entry.FULL
        if self._at[address] >= self._limits.address_clients:
            return Entry.TOO_MANY
        self.clients += 1
        self._at[address] += 1
        return Entry.YES

    def leave(self, address: str) -> bool:
        """Remove a connection; returns whether it was the last from its address."""
        self.clients -= 1
        self._at[address] -= 1
        if self._at[address] > 0:
            return False
        del self._at[address]
        return True


class Bucket:
    """A rate limiter: keeps the time of the next byte (the virtual scheduling algorithm of ITU-T I.371)."""

    def __init__(self, rate_bps: int) -> None:
        self.rate_bps = rate_bps
        self._due_ns = 0

    @property
    def piece_bytes(self) -> int:
        """The burst size."""
        return max(1, self.rate_bps * BURST_NS // (8 * NS))

    def take(self, count: int, now_ns: int) -> int:
        """Reserve bytes; returns the nanoseconds to wait before sending them."""
        due_ns = max(self._due_ns, now_ns)
        self._due_ns = due_ns + self._cost_ns(count)
        return max(0, due_ns - now_ns - BURST_NS)

    def give_back(self, count: int) -> None:
        """Return bytes that were reserved but not sent."""
        self._due_ns -= self._cost_ns(count)

    def behind_ns(self, now_ns: int) -> int:
        """How long the reserved bytes will take."""
        return max(0, self._due_ns - now_ns)

    def _cost_ns(self, count: int) -> int:
        return count * 8 * NS // self.rate_bps


class Throttle:
    """Rate limiters: the global one, and one per address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all = None if limits.rate_bps is None else Bucket(limits.rate_bps)
        self._own: dict[str, Bucket] = {}

    def of(self, address: str) -> list[Bucket]:
        """The buckets that limit a response to this address."""
        buckets = [] if self._all is None else [self._all]
        if self._limits.address_rate_bps is not None:
            buckets.append(self._own.setdefault(address, Bucket(self._limits.address_rate_bps)))
        return buckets

    def forget(self, address: str, now_ns: int) -> None:
        """Drop an address without connections, unless bytes are still reserved."""
        if address in self._own and not self._own[address].behind_ns(now_ns):
            del self._own[address]
        if len(self._own) > 4 * self._limits.clients:
            self._own = {each: bucket for each, bucket in self._own.items() if bucket.behind_ns(now_ns)}
