"""What the server sends: pages, JSON, files and random bytes, as fast as TCP and its limits allow.

Limits are global, per address and per connection; they are pure: callers pass the time.

Byte n of `/bytes/…` is byte n mod 4 MiB of the block, so a range is a slice. The bytes are random, because a path may
compress data.

`TCP_NOTSENT_LOWAT` keeps little unsent data in the kernel, so a client that doesn't read occupies only its window; the
data pages are shared.
"""

import asyncio
import json
import mmap
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from dumbbell import __version__
from dumbbell.transfer.channel import Channel, Recorder
from dumbbell.transfer.http_messages import Refusal

__all__ = [
    "BLOCK_BYTES",
    "Answer",
    "ClientCounter",
    "Entry",
    "Limits",
    "Payload",
    "Sending",
    "Throttle",
    "TooSlow",
    "about",
    "as_json",
    "block",
    "front_page",
    "of_file",
    "refused",
]


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


BLOCK_BYTES = 1 << 22
SEED = 1993
TLS_PIECE_BYTES = 1 << 17


@dataclass(frozen=True)
class Payload:
    """Bytes of an open file, repeated if `wraps`."""

    file: int
    size_bytes: int
    wraps: bool
    memory: memoryview | None = None
    """The block mapped into memory; None for files."""

    def locate(self, offset: int) -> tuple[int, int]:
        """The byte's position in the file, and the number of contiguous bytes from there."""
        if not self.wraps:
            return offset, self.size_bytes - offset
        at = offset % BLOCK_BYTES
        return at, BLOCK_BYTES - at

    def piece(self, offset: int, count: int) -> memoryview:
        """Up to `count` bytes in memory, for TLS; empty if the file was truncated meanwhile."""
        at, most = self.locate(offset)
        count = min(count, most, TLS_PIECE_BYTES)
        if self.memory is not None:
            return self.memory[at : at + count]
        return memoryview(os.pread(self.file, count, at))


@contextmanager
def block() -> Iterator[Payload]:
    """The shared block."""
    file = os.memfd_create("dumbbell-payload", os.MFD_CLOEXEC)
    try:
        os.write(file, random.Random(SEED).randbytes(BLOCK_BYTES))  # noqa: S311 — not a secret
        with mmap.mmap(file, BLOCK_BYTES, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as memory:
            yield Payload(file, 0, wraps=True, memory=memory)
    finally:
        os.close(file)


def of_file(file: int, size_bytes: int) -> Payload:
    """The bytes of an open file, which the caller closes."""
    return Payload(file, size_bytes, wraps=False)


@dataclass(frozen=True)
class Answer:
    """A response held in memory."""

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    fields: Mapping[str, str] = field(default_factory=dict)


def as_json(value: Mapping[str, Any]) -> Answer:
    """A JSON object."""
    return Answer(json.dumps(value, separators=(",", ":")).encode() + b"\n", "application/json")


def about(controllers: tuple[str, ...], limits: Limits, *, files: bool, metrics_saved: bool | None) -> Answer:
    """The response of /about: congestion controls and limits."""
    return as_json({
        "server": "dumbbell",
        "version": __version__,
        "controllers": list(controllers),
        "files": files,
        "metrics_saved": metrics_saved,
        "limits": asdict(limits),
    })  # fmt: skip


def front_page(controllers: tuple[str, ...]) -> Answer:
    """The page for browsers."""
    text = PAGE.format(version=__version__, controllers=", ".join(controllers))
    return Answer(text.encode(), "text/plain; charset=utf-8")


def refused(refusal: Refusal) -> Answer:
    """The response for a refused request."""
    return Answer(f"{refusal.why}\n".encode(), "text/plain; charset=utf-8", refusal.status, refusal.fields)


PAGE = """This is dumbbell serve {version}: it sends bytes to measure TCP congestion control.

/bytes/61MB           61 MB of random bytes
/bytes/61MB?cc=bbr    the same with a congestion control: {controllers}
/files/NAME           a file, if a folder is served
/about                congestion controls and limits, as JSON

dumbbell fetch URL --cc bbr,cubic --size 61MB  alternates downloads and reports which is faster.
"""


UNSENT_BYTES = 1 << 20
"""Unsent bytes in the kernel: 0.8 ms at 10 Gbit/s, enough for asyncio to wake up; by reference, not a copy."""
UNSENT_TLS_BYTES = 1 << 18
"""The same with TLS, where every client has its own copy."""
PIECE_BYTES = 1 << 20
"""Bytes per iteration of the event loop. With 500 other clients, a quarter of this doubled a client's time."""
DRAIN_S = 30.0
"""Time to wait for the last data to be acknowledged, before the last sample of the socket."""


class TooSlow(Exception):
    """The client is stalled or below the minimum rate."""


class Sending:
    """Sends one body."""

    def __init__(self, channel: Channel, recorder: Recorder, limits: Limits, buckets: Sequence[Bucket]) -> None:
        self._channel = channel
        self._recorder = recorder
        self._limits = limits
        self._buckets = buckets

    async def send(self, payload: Payload, first: int, stop: int) -> None:
        """Send bytes `first` to `stop`. Raises `OSError` if the connection breaks, `TooSlow`."""
        unsent = UNSENT_TLS_BYTES if self._channel.encrypted else UNSENT_BYTES
        self._channel.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, unsent)
        sampling = asyncio.ensure_future(self._recorder.keep_sampling())
        try:
            await self._send(payload, first, stop)
            self._recorder.complete = True
            self._recorder.seconds = (time.monotonic_ns() - self._recorder.began_ns) / NS
            await self._recorder.last_sample(min(DRAIN_S, self._limits.silence_s))
        finally:
            sampling.cancel()
            self._recorder.sample()

    async def _send(self, payload: Payload, first: int, stop: int) -> None:
        at, began = first, time.monotonic()
        while at < stop:
            count = await self._allowed(min(stop - at, PIECE_BYTES))
            sent = 0
            try:
                async with asyncio.timeout(self._limits.silence_s):
                    sent = await self._some(payload, at, count)
            except TimeoutError:
                raise TooSlow(f"stalled for {self._limits.silence_s:g} s") from None
            finally:
                for bucket in self._buckets:
                    bucket.give_back(count - sent)
            if sent == 0:
                raise TooSlow("the file was truncated while it was sent")
            at += sent
            self._recorder.bytes_sent += sent
            self._check_rate(time.monotonic() - began)
            # Yield: a socket that is always writable would monopolize the loop.
            await asyncio.sleep(0)

    async def _some(self, payload: Payload, at: int, count: int) -> int:
        if self._channel.encrypted:
            piece = payload.piece(at, count)
            return await self._channel.send(piece) if piece else 0
        offset, most = payload.locate(at)
        return await self._channel.send_pages(payload.file, offset, min(count, most))

    async def _allowed(self, count: int) -> int:
        """Reserve bytes within the limits, waiting if needed; returns how many."""
        if not self._buckets:
            return count
        count = min(count, *(bucket.piece_bytes for bucket in self._buckets))
        now_ns = time.monotonic_ns()
        wait_s = max(bucket.take(count, now_ns) for bucket in self._buckets) / NS
        if wait_s > 0:
            await asyncio.sleep(wait_s)
            self._recorder.held_back_s += wait_s
        return count

    def _check_rate(self, elapsed_s: float) -> None:
        """Enforce the minimum rate, against clients that read very slowly."""
        counted_s = elapsed_s - self._recorder.held_back_s
        if counted_s > self._limits.silence_s and self._recorder.bytes_sent * 8 < self._limits.least_bps * counted_s:
            raise TooSlow(f"below {self._limits.least_bps} bit/s for {counted_s:.0f} s")
