"""A body on its way to one client: as fast as TCP takes it, no faster than the limits, and not forever.

The kernel gets little more than it can send soon (`TCP_NOTSENT_LOWAT`), so a client that doesn't read costs what its
window holds; the pages themselves are everybody's.
"""

import asyncio
import socket
import time
from collections.abc import Sequence

from dumbbell.transfer.channel import Channel
from dumbbell.transfer.limits import Bucket, Limits
from dumbbell.transfer.payload import Payload
from dumbbell.transfer.statistics import Recorder

__all__ = ["Sending", "TooSlow"]

NS = 1_000_000_000
UNSENT_BYTES = 1 << 20
"""What the kernel may hold unsent: 0.8 ms at 10 Gbit/s, in which asyncio wakes; by reference, not a copy."""
UNSENT_TLS_BYTES = 1 << 18
"""The same where every client has its own copy."""
PIECE_BYTES = 1 << 20
"""Of one turn. Among many clients turns are scarce: a quarter doubled a good client's time beside 500 others."""
DRAIN_S = 30.0
"""For what was sent last to be acknowledged, before the last look at the socket."""


class TooSlow(Exception):
    """The client takes nothing, or less than it must."""


class Sending:
    """One body."""

    def __init__(self, channel: Channel, recorder: Recorder, limits: Limits, buckets: Sequence[Bucket]) -> None:
        self._channel = channel
        self._recorder = recorder
        self._limits = limits
        self._buckets = buckets

    async def send(self, payload: Payload, first: int, stop: int) -> None:
        """Bytes `first` to `stop`. Raises `OSError` where the connection breaks, `TooSlow`."""
        unsent = UNSENT_TLS_BYTES if self._channel.encrypted else UNSENT_BYTES
        self._channel.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, unsent)
        looking = asyncio.ensure_future(self._recorder.keep_looking())
        try:
            await self._send(payload, first, stop)
            self._recorder.complete = True
            self._recorder.seconds = (time.monotonic_ns() - self._recorder.began_ns) / NS
            await self._recorder.last_look(min(DRAIN_S, self._limits.silence_s))
        finally:
            looking.cancel()
            self._recorder.look()

    async def _send(self, payload: Payload, first: int, stop: int) -> None:
        at, began = first, time.monotonic()
        while at < stop:
            count = await self._allowed(min(stop - at, PIECE_BYTES))
            sent = 0
            try:
                async with asyncio.timeout(self._limits.silence_s):
                    sent = await self._some(payload, at, count)
            except TimeoutError:
                raise TooSlow(f"took no byte for {self._limits.silence_s:g} s") from None
            finally:
                for bucket in self._buckets:
                    bucket.give_back(count - sent)
            if sent == 0:
                raise TooSlow("the file was cut while it was sent")
            at += sent
            self._recorder.bytes_sent += sent
            self._check_rate(time.monotonic() - began)
            # Others' turn: a socket that always has room would keep the loop.
            await asyncio.sleep(0)

    async def _some(self, payload: Payload, at: int, count: int) -> int:
        if self._channel.encrypted:
            piece = payload.piece(at, count)
            return await self._channel.send(piece) if piece else 0
        place, most = payload.place(at)
        return await self._channel.send_pages(payload.file, place, min(count, most))

    async def _allowed(self, count: int) -> int:
        """How many bytes the limits let go now, after waiting for it; they are reserved."""
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
        """The slow reader's defence: a byte now and then is no download."""
        counted_s = elapsed_s - self._recorder.held_back_s
        if counted_s > self._limits.silence_s and self._recorder.bytes_sent * 8 < self._limits.least_bps * counted_s:
            raise TooSlow(f"took less than {self._limits.least_bps} bit/s for {counted_s:.0f} s")
