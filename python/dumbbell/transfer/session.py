"""Downloads in turn, in blocks of one of each kind whose order dice choose, until enough is known.

One download is `client`'s, when enough is known `analysis.sequential`'s, what came out in sentences `words`'.
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
from dumbbell.transfer.client import Download, Wanted, about, download

__all__ = ["Asked", "Comparison", "Session", "Stopped", "Trial", "compared", "measure"]

NS = 1_000_000_000


@dataclass(frozen=True)
class Asked:
    """What to compare, and when to stop."""

    ccs: tuple[str, ...] = ()
    """None: the server does as it likes, and is only measured."""
    repeats: int | None = None
    """So many blocks, no more and no less."""
    within: float | None = None
    """Until each interval reaches no further than this share."""
    most: int = 40
    """Blocks at most."""
    connections: int = 1
    """Downloads at once, each of the whole."""
    seed: int = 1


class Stopped(StrEnum):
    """Why no more was downloaded."""

    KNOWN = "known"
    CAP = "cap"
    REPEATS = "repeats"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Trial:
    """What was downloaded at one place of a block."""

    cc: str | None
    """That was asked for."""
    block: int
    downloads: tuple[Download, ...]

    @property
    def time_s(self) -> float:
        """From the first connection's beginning to the last one's last byte; names were looked up before."""
        end_ns = max(each.began_ns + each.total_ns for each in self.downloads)
        return (end_ns - min(each.began_ns for each in self.downloads)) / NS

    @property
    def bytes(self) -> int:
        """Of all connections."""
        return sum(each.bytes for each in self.downloads)

    @property
    def kept(self) -> bool:
        """Was the controller that was asked for really used?"""
        return all(each.cc == self.cc for each in self.downloads) if self.cc is not None else True


@dataclass(frozen=True)
class Comparison:
    """The first kind against another; or one kind alone, when there is no other."""

    first: str | None
    second: str | None
    estimate: Estimate
    """Of the first's time ÷ the second's, or of the only one's time in seconds."""
    answer: Answer


@dataclass
class Session:
    """Everything that was downloaded, and why no more."""

    asked: Asked
    wanted: Wanted
    began_s: float
    """Since 1970."""
    trials: list[Trial] = field(default_factory=list)
    stopped: Stopped = Stopped.INTERRUPTED
    fault: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    def times_s(self, cc: str | None) -> list[float]:
        """Of one kind, of whole blocks only, in order."""
        whole = self._whole_blocks()
        return [trial.time_s for trial in self.trials if trial.cc == cc and trial.block in whole]

    @property
    def blocks(self) -> int:
        """How many are whole."""
        return len(self._whole_blocks())

    def _whole_blocks(self) -> set[int]:
        kinds = max(1, len(self.asked.ccs))
        counts: dict[int, int] = {}
        for trial in self.trials:
            counts[trial.block] = counts.get(trial.block, 0) + 1
        return {block for block, count in counts.items() if count == kinds}


async def measure(asked: Asked, wanted: Wanted, hear: Callable[[Trial], None]) -> Session:
    """Download until enough is known, the cap is reached, or somebody cancels; `hear` is told of every trial.

    Returns what is known so far also when a download fails (`fault`). Raises `TransferError` only when nothing is
    known.
    """
    session = Session(asked, wanted, time.time())
    epoch_ns = time.monotonic_ns()
    dice = random.Random(asked.seed)  # noqa: S311 — an order, not a secret
    try:
        for block in range(asked.repeats or asked.most):
            for cc in _order(asked.ccs, dice):
                session.trials.append(await _trial(asked, wanted, cc, block, epoch_ns))
                hear(session.trials[-1])
                _insist(session.trials[-1])
                if len(session.trials) == 1 and session.trials[0].downloads[0].server is not None:
                    session.about = await about(wanted)
            if asked.repeats is None and _enough(session):
                session.stopped = Stopped.KNOWN
                return session
        session.stopped = Stopped.REPEATS if asked.repeats is not None else Stopped.CAP
    except asyncio.CancelledError:
        session.stopped = Stopped.INTERRUPTED
    except DumbbellError as error:
        if not session.trials:
            raise
        session.stopped, session.fault = Stopped.FAILED, str(error)
    return session


def compared(session: Session) -> list[Comparison]:
    """The first controller against each other one; the interval's error is shared among them (Bonferroni)."""
    asked = session.asked
    if not session.blocks:
        return []
    looked = asked.repeats is None or session.stopped is not Stopped.REPEATS
    if len(asked.ccs) < 2:
        cc = asked.ccs[0] if asked.ccs else None
        return [Comparison(cc, None, typical(session.times_s(cc), looked=looked), Answer.OPEN)]
    first, *others = asked.ccs
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    found = []
    for other in others:
        estimate = ratio_of_times(session.times_s(first), session.times_s(other), looked=looked, confidence=confidence)
        found.append(Comparison(first, other, estimate, answer(estimate, margin(asked))))
    return found


def margin(asked: Asked) -> float:
    """What counts as alike."""
    return ALIKE if asked.within is None else asked.within


def _order(ccs: Sequence[str], dice: random.Random) -> list[str | None]:
    """A block's order. Dice, for what gets slower all the time would otherwise always be against the same one."""
    order: list[str | None] = list(ccs) or [None]
    dice.shuffle(order)
    return order


async def _trial(asked: Asked, wanted: Wanted, cc: str | None, block: int, epoch_ns: int) -> Trial:
    tasks = [asyncio.ensure_future(download(wanted, cc, epoch_ns)) for _ in range(asked.connections)]
    try:
        return Trial(cc, block, tuple(await asyncio.gather(*tasks)))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _insist(trial: Trial) -> None:
    """Raises `TransferError` where the server used another controller: then there is nothing to compare."""
    if not trial.kept:
        used = ", ".join(sorted({str(each.cc) for each in trial.downloads}))
        raise TransferError(f"asked for {trial.cc}, the server used {used}: nothing was compared")


def _enough(session: Session) -> bool:
    found = compared(session)
    if session.asked.within is not None:
        return all(each.estimate.within <= session.asked.within for each in found)
    if len(session.asked.ccs) < 2:
        return all(each.estimate.within <= ALIKE for each in found)
    return all(each.answer is not Answer.OPEN for each in found)
