"""What the server sends: pages, JSON, files and random bytes, as fast as TCP and the limits allow.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

from dumbbell import __version__
from dumbbell.transfer.channel import Channel
from dumbbell.transfer.http_request import Refusal
from dumbbell.transfer.server_limits import Bucket, Limits
from dumbbell.transfer.statistics import Recorder

__all__ = [
    "BLOCK_BYTES",
    "Answer",
    "Payload",
    "Sending",
    "TooSlow",
    "about",
    "as_json",
    "block",
    "front_page",
    "of_file",
    "refused",
]


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


NS = 1_000_000_000
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
