"""Samples of a response's socket, and a store that keeps them for a while.

Both are bounded: a full recorder drops every other sample and halves its rate, the store drops the oldest recorder.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from dumbbell.transfer.channel import Channel, Sample, retransmits, round_trip_s, rows, sample, unacked

__all__ = ["Recorder", "StatisticsStore"]

NS = 1_000_000_000
MOST_SAMPLES = 2_000
"""Samples per response: 0.6 MB; 200 s at 100 ms before samples are dropped."""
SHORTEST_INTERVAL_S = 0.001
LONGEST_INTERVAL_S = 0.1


@dataclass
class Recorder:
    """Samples the socket of a response, from the end of the request on."""

    channel: Channel
    interval_ns: int | None
    """None: only the first and the last sample."""
    began_ns: int = field(default_factory=time.monotonic_ns)
    samples: list[Sample] = field(default_factory=list)
    bytes_sent: int = 0
    held_back_s: float = 0.0
    """How long the server's limits delayed it."""
    complete: bool = False
    """Was all data written to the socket?"""
    seconds: float | None = None
    """Time until then."""

    def sample(self) -> Sample | None:
        """Take a sample now."""
        seen = sample(self.channel.sock, time.monotonic_ns() - self.began_ns)
        if seen is not None:
            self.samples.append(seen)
        if len(self.samples) >= MOST_SAMPLES:
            del self.samples[1:-1:2]
            self.interval_ns = None if self.interval_ns is None else 2 * self.interval_ns
        return seen

    async def keep_sampling(self) -> None:
        """Sample until cancelled."""
        while self.interval_ns is not None:
            await asyncio.sleep(self.interval_ns / NS)
            self.sample()

    async def last_sample(self, most_s: float) -> None:
        """Wait until all data is acknowledged, the peer sends data, or the timeout; then take the last sample.

        Polls every half RTT: faster polling gains nothing, and in virtual time waiting is free.
        """
        end_s = time.monotonic() + most_s
        while (seen := self.sample()) is not None and unacked(seen) and time.monotonic() < end_s:
            pause_s = min(max(round_trip_s(seen) / 2, SHORTEST_INTERVAL_S), LONGEST_INTERVAL_S)
            try:
                async with asyncio.timeout(pause_s):
                    await self.channel.readable()
            except TimeoutError:
                continue
            self.sample()
            return

    @property
    def retransmits(self) -> int | None:
        """Retransmitted segments since the first sample; None without samples."""
        return retransmits(self.samples[-1]) - retransmits(self.samples[0]) if self.samples else None

    @property
    def cc(self) -> str | None:
        """The congestion control of the last sample."""
        return self.samples[-1].cc if self.samples else None

    def as_json(self) -> dict[str, Any]:
        """The JSON object of the statistics."""
        return {
            "cc": self.cc,
            "complete": self.complete,
            "bytes": self.bytes_sent,
            "seconds": self.seconds,
            "held_back_s": round(self.held_back_s, 6),
            "retransmits": self.retransmits,
            "samples": rows(self.samples),
        }


class StatisticsStore:
    """Recorders by token."""

    def __init__(self, most: int = 256, keep_s: float = 120.0) -> None:
        self._most = most
        self._keep_ns = int(keep_s * NS)
        self._kept: OrderedDict[str, Recorder] = OrderedDict()

    def put(self, recorder: Recorder) -> str:
        """Store a recorder; returns an unguessable token."""
        self._drop_old()
        while len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        token = secrets.token_urlsafe(16)
        self._kept[token] = recorder
        return token

    def get(self, token: str) -> Recorder | None:
        """The recorder of a token; None if it has expired."""
        self._drop_old()
        return self._kept.get(token)

    def _drop_old(self) -> None:
        now_ns = time.monotonic_ns()
        while self._kept and now_ns - next(iter(self._kept.values())).began_ns > self._keep_ns:
            self._kept.popitem(last=False)
