"""Alternating downloads in randomized blocks, one of each kind per block, until the comparison is decided.

`client` makes a download, `analysis.sequential` decides when to stop, `session_output` formats the outcome.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dumbbell.analysis.difference import CONFIDENCE
from dumbbell.analysis.sequential import ALIKE, Answer, Estimate, answer, ratio_of_times, typical
from dumbbell.errors import DumbbellError, TransferError
from dumbbell.transfer.client import Download, DownloadRequest, about, download

__all__ = ["Comparison", "Session", "SessionOptions", "Stopped", "Transfer", "compared", "measure"]

NS = 1_000_000_000


@dataclass(frozen=True)
class SessionOptions:
    """The congestion controls to compare, and when to stop."""

    ccs: tuple[str, ...] = ()
    """Empty: measure the server's default."""
    repeats: int | None = None
    """Exactly this many blocks."""
    within: float | None = None
    """Until each interval is within this share."""
    most: int = 40
    """Maximum number of blocks."""
    connections: int = 1
    """Parallel downloads, each of the full size."""
    seed: int = 1


class Stopped(StrEnum):
    """Why the session ended."""

    KNOWN = "known"
    CAP = "cap"
    REPEATS = "repeats"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Transfer:
    """One element of a block: the parallel downloads with one congestion control."""

    cc: str | None
    """The requested congestion control."""
    block: int
    downloads: tuple[Download, ...]

    @property
    def time_s(self) -> float:
        """From the start of the first connection to the last byte of the last one, without DNS lookups."""
        end_ns = max(each.began_ns + each.total_ns for each in self.downloads)
        return (end_ns - min(each.began_ns for each in self.downloads)) / NS

    @property
    def bytes(self) -> int:
        """Bytes of all connections."""
        return sum(each.bytes for each in self.downloads)

    @property
    def waited(self) -> bool:
        """Did a busy server make one of several connections wait? Then the time counts the waiting."""
        return len(self.downloads) > 1 and any(each.waited_s for each in self.downloads)

    @property
    def kept(self) -> bool:
        """Did the server use the requested congestion control?"""
        return all(each.cc == self.cc for each in self.downloads) if self.cc is not None else True


@dataclass(frozen=True)
class Comparison:
    """The first congestion control compared with another one; or one alone."""

    first: str | None
    second: str | None
    estimate: Estimate
    """Ratio of the first's time to the second's, or the time in seconds of the only one."""
    answer: Answer


@dataclass
class Session:
    """All downloads, and why the session ended.

    A block counts if it is complete and no busy server made its connections wait.
    """

    options: SessionOptions
    request: DownloadRequest
    began_s: float
    """Since 1970."""
    transfers: list[Transfer] = field(default_factory=list)
    stopped: Stopped = Stopped.INTERRUPTED
    fault: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    def times_s(self, cc: str | None) -> list[float]:
        """Times of one congestion control in the blocks that count, in order."""
        counting = self._counting_blocks()
        return [transfer.time_s for transfer in self.transfers if transfer.cc == cc and transfer.block in counting]

    @property
    def blocks(self) -> int:
        """The number of blocks that count."""
        return len(self._counting_blocks())

    def _counting_blocks(self) -> set[int]:
        kinds = max(1, len(self.options.ccs))
        counts: dict[int, int] = {}
        for transfer in self.transfers:
            counts[transfer.block] = counts.get(transfer.block, 0) + (not transfer.waited)
        return {block for block, count in counts.items() if count == kinds}


async def measure(
    options: SessionOptions, request: DownloadRequest, on_transfer: Callable[[Transfer], None]
) -> Session:
    """Download until the comparison is decided, the limit is reached, or the task is cancelled.

    Calls `on_transfer` after each transfer. If a download fails, returns the session so far with `fault` set. Raises
    `TransferError` only if the first one fails, or if the server allows fewer connections.
    """
    session = Session(options, request, time.time())
    if options.connections > 1:
        session.about = await about(request)
        _check_connections(options, session.about)
    epoch_ns = time.monotonic_ns()
    rng = random.Random(options.seed)  # noqa: S311 — an order, not a secret
    try:
        for block in range(options.repeats or options.most):
            for cc in _order(options.ccs, rng):
                session.transfers.append(await _one_download(options, request, cc, block, epoch_ns))
                on_transfer(session.transfers[-1])
                _check_controller(session.transfers[-1])
                if not session.about and len(session.transfers) == 1 and session.transfers[0].downloads[0].server:
                    session.about = await about(request)
            if options.repeats is None and _enough(session):
                session.stopped = Stopped.KNOWN
                return session
        session.stopped = Stopped.REPEATS if options.repeats is not None else Stopped.CAP
    except asyncio.CancelledError:
        session.stopped = Stopped.INTERRUPTED
    except DumbbellError as error:
        if not session.transfers:
            raise
        session.stopped, session.fault = Stopped.FAILED, str(error)
    return session


def compared(session: Session) -> list[Comparison]:
    """Compare the first congestion control with each other one, with Bonferroni-corrected intervals."""
    options = session.options
    if not session.blocks:
        return []
    looked = options.repeats is None or session.stopped is not Stopped.REPEATS
    if len(options.ccs) < 2:
        cc = options.ccs[0] if options.ccs else None
        return [Comparison(cc, None, typical(session.times_s(cc), looked=looked), Answer.OPEN)]
    first, *others = options.ccs
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    found = []
    for other in others:
        estimate = ratio_of_times(session.times_s(first), session.times_s(other), looked=looked, confidence=confidence)
        found.append(Comparison(first, other, estimate, answer(estimate, margin(options))))
    return found


def margin(options: SessionOptions) -> float:
    """The difference that counts as none."""
    return ALIKE if options.within is None else options.within


def _order(ccs: Sequence[str], rng: random.Random) -> list[str | None]:
    """A block's order, random so that a drift of the network doesn't favour one congestion control."""
    order: list[str | None] = list(ccs) or [None]
    rng.shuffle(order)
    return order


async def _one_download(
    options: SessionOptions, request: DownloadRequest, cc: str | None, block: int, epoch_ns: int
) -> Transfer:
    tasks = [asyncio.ensure_future(download(request, cc, epoch_ns)) for _ in range(options.connections)]
    try:
        return Transfer(cc, block, tuple(await asyncio.gather(*tasks)))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_connections(options: SessionOptions, about: dict[str, Any]) -> None:
    """Raises `TransferError` if the server's /about allows an address fewer connections."""
    limits = about.get("limits")
    limit = limits.get("address_clients") if isinstance(limits, dict) else None
    if isinstance(limit, int) and options.connections > limit:
        raise TransferError(
            f"--connections {options.connections}: the server allows {limit} from one address, the others would wait; "
            f"use at most {limit}, or start it with --max-per-address {options.connections}"
        )


def _check_controller(transfer: Transfer) -> None:
    """Raises `TransferError` if the server used another congestion control."""
    if not transfer.kept:
        used = ", ".join(sorted({str(each.cc) for each in transfer.downloads}))
        raise TransferError(f"requested {transfer.cc}, the server used {used}: nothing was compared")


def _enough(session: Session) -> bool:
    found = compared(session)
    if session.options.within is not None:
        return all(each.estimate.within <= session.options.within for each in found)
    if len(session.options.ccs) < 2:
        return all(each.estimate.within <= ALIKE for each in found)
    return all(each.answer is not Answer.OPEN for each in found)
