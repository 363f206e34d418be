"""Samples of one response's socket; and how many responses' are kept, and how long.

Both are bounded: a recorder that is full forgets every other sample and looks half as often, the shelf forgets the
oldest.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from dumbbell.transfer.channel import Channel
from dumbbell.transfer.sockets import Sample, retransmits, round_trip_s, rows, sample, unacked

__all__ = ["Recorder", "Shelf"]

NS = 1_000_000_000
MOST_SAMPLES = 2_000
"""Of one response: 0.6 MB of the kernel's bytes, 200 s of looks every 100 ms before any is forgotten."""
SHORTEST_LOOK_S = 0.001
LONGEST_LOOK_S = 0.1


@dataclass
class Recorder:
    """What a response's socket looked like, from the request's end on."""

    channel: Channel
    interval_ns: int | None
    """None: only its first and its last look."""
    began_ns: int = field(default_factory=time.monotonic_ns)
    samples: list[Sample] = field(default_factory=list)
    bytes_sent: int = 0
    held_back_s: float = 0.0
    """How long the server's own limits made it wait."""
    complete: bool = False
    """Was everything handed to the socket?"""
    seconds: float | None = None
    """Until then."""

    def look(self) -> Sample | None:
        """One sample now."""
        seen = sample(self.channel.sock, time.monotonic_ns() - self.began_ns)
        if seen is not None:
            self.samples.append(seen)
        if len(self.samples) >= MOST_SAMPLES:
            del self.samples[1:-1:2]
            self.interval_ns = None if self.interval_ns is None else 2 * self.interval_ns
        return seen

    async def keep_looking(self) -> None:
        """Sample until cancelled."""
        while self.interval_ns is not None:
            await asyncio.sleep(self.interval_ns / NS)
            self.look()

    async def last_look(self, most_s: float) -> None:
        """Wait until all is acknowledged, the peer says something, or time is up; then look.

        Half a round trip apart: to poll faster says nothing, and in virtual time waiting costs nothing.
        """
        end_s = time.monotonic() + most_s
        while (seen := self.look()) is not None and unacked(seen) and time.monotonic() < end_s:
            pause_s = min(max(round_trip_s(seen) / 2, SHORTEST_LOOK_S), LONGEST_LOOK_S)
            try:
                async with asyncio.timeout(pause_s):
                    await self.channel.readable()
            except TimeoutError:
                continue
            self.look()
            return

    @property
    def retransmits(self) -> int | None:
        """Since the first look; None when nothing was seen."""
        return retransmits(self.samples[-1]) - retransmits(self.samples[0]) if self.samples else None

    @property
    def cc(self) -> str | None:
        """The controller at the last look."""
        return self.samples[-1].cc if self.samples else None

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "cc": self.cc,
            "complete": self.complete,
            "bytes": self.bytes_sent,
            "seconds": self.seconds,
            "held_back_s": round(self.held_back_s, 6),
            "retransmits": self.retransmits,
            "samples": rows(self.samples),
        }


class Shelf:
    """Recorders by their tokens."""

    def __init__(self, most: int = 256, keep_s: float = 120.0) -> None:
        self._most = most
        self._keep_ns = int(keep_s * NS)
        self._kept: OrderedDict[str, Recorder] = OrderedDict()

    def put(self, recorder: Recorder) -> str:
        """Keep it; returns its token, which nobody guesses."""
        self._drop_old()
        while len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        token = secrets.token_urlsafe(16)
        self._kept[token] = recorder
        return token

    def get(self, token: str) -> Recorder | None:
        """The one with that token; None when it is gone."""
        self._drop_old()
        return self._kept.get(token)

    def _drop_old(self) -> None:
        now_ns = time.monotonic_ns()
        while self._kept and now_ns - next(iter(self._kept.values())).began_ns > self._keep_ns:
            self._kept.popitem(last=False)
