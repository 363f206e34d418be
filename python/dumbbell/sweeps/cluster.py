"""A sweep's tasks on a cluster: many workers, on any machines, at one Dask scheduler.

Each batch goes to one worker, a few at a time, so that nothing piles up and it is known who had what. When a worker
dies its tasks go to others; those that may have ended it run alone from then on, so that one that ends every worker
becomes a failed row, and no other is blamed. Who the workers are and what they need, `fleet` knows; what need not be
sent, `recall`.
"""

import importlib.util
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dumbbell.errors import ClusterError
from dumbbell.sweeps import hand
from dumbbell.sweeps.cache import Cache
from dumbbell.sweeps.outfit import Outfit, outfit_of
from dumbbell.sweeps.recall import Recall
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.tools import tools
from dumbbell.sweeps.work import carried_out, row_of

if TYPE_CHECKING:
    from distributed import Future

    from dumbbell.sweeps.fleet import Fleet, Member

__all__ = ["Cluster", "crew_for"]

PATIENCE_S = 60.0
"""How long a sweep waits for a first worker, or for another one when all are gone; a nanny needs seconds."""
BATCH_S = 0.5
"""What a batch should take: long against the scheduler's milliseconds, short against a person's patience."""
MOST_IN_BATCH = 200
AHEAD = 2
"""Batches of a worker's thread: the one that it does, and the next."""
POLL_S = 0.2
RECALL_S = 0.1
"""To look for known rows, before workers are seen to again."""


def crew_for(cluster: str, told: Callable[[str], None] = lambda _text: None, cache: Cache | None = None) -> "Cluster":
    """The workers at an address (`tcp://scheduler:8786`, `tls://…`), or those that Slurm starts (`slurm:…`, FILE.toml).

    What `cache` knows is not sent. `told` hears warnings: who is refused, and why. Raises `ClusterError`.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ClusterError("a cluster needs Dask, which is not installed here; type: pip install 'dumbbell[cluster]'")
    from dumbbell.sweeps.fleet import Fleet, connected  # noqa: PLC0415 — Dask is an extra

    if "://" in cluster:
        return Cluster(Fleet(connected(cluster, told), cluster, told, PATIENCE_S), cache)
    if cluster.partition(":")[0] == "slurm" or cluster.endswith(".toml"):
        from dumbbell.sweeps.slurm import asked, started  # noqa: PLC0415

        jobs = started(asked(cluster))
        told(f"Slurm was asked for workers; their scheduler is at {jobs.scheduler_address}")
        client = connected(jobs.scheduler_address, told)
        return Cluster(Fleet(client, jobs.scheduler_address, told, None), cache, jobs.close)
    raise ClusterError(f"'{cluster}' is no cluster; right: tcp://scheduler:8786, slurm:cores=16,memory=32GB, or a file")


@dataclass
class _Job:
    """A task on its way."""

    task: Task
    key: str | None = None
    """In the cache."""
    deaths: int = 0
    """Workers that ended while they had it."""


@dataclass
class _Batch:
    member: "Member"
    future: "Future"
    jobs: list[_Job]


class Cluster:
    """A crew on a cluster; also a context that takes leave of it."""

    def __init__(self, fleet: "Fleet", cache: Cache | None = None, then: Callable[[], None] = lambda: None) -> None:
        """`then` is done when all is over."""
        self._fleet = fleet
        self._cache = cache
        self._then = then
        self._keys: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Take leave: workers forget the sweep, the connection ends."""
        for key in self._keys:
            self._fleet.dismiss(key)
        with suppress(Exception):  # A scheduler that is gone can't be taken leave of.
            self._fleet.client.close(timeout=2)
        self._then()

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """See `Crew`. Raises `ClusterError`; what was yielded before is done."""
        wanted = list(tasks)
        outfit = outfit_of(base, wanted)
        away = [task for task in wanted if task.engine != "kernel" or task.kernel in outfit.kernels]
        for task in wanted:
            if task.engine == "kernel" and task.kernel not in outfit.kernels:
                # No such kernel: the row says so, as it would without a cluster.
                yield carried_out(base, task, lambda: None)
        yield from self._rows(outfit, away)

    def _rows(self, outfit: Outfit, tasks: Sequence[Task]) -> Iterator[Row]:
        key = f"{outfit.key}-{self._fleet.client.id}"
        self._keys.add(key)
        self._fleet.outfit(outfit, key)
        round_ = _Round(self._fleet, key, tasks, Recall(outfit.base, self._cache))
        try:
            yield from round_.rows()
        finally:
            if round_.abandon():
                self._fleet.dismiss(key)


class _Round:
    """Some tasks, until each has its row."""

    def __init__(self, fleet: "Fleet", key: str, tasks: Sequence[Task], recall: Recall) -> None:
        self._fleet = fleet
        self._key = key
        self._deaths = fleet.allowed_failures
        self._recall = recall
        self._unseen = deque(tasks)
        """Nobody has looked yet whether they are known."""
        self._waiting: deque[_Job] = deque()
        self._suspects: deque[_Job] = deque()
        self._out: dict[str, _Batch] = {}
        self._pace_s: dict[str, float] = {}
        """Of a run, by engine, as the last batches took."""

    def rows(self) -> Iterator[Row]:
        """As they are done."""
        while self._unseen or self._waiting or self._suspects or self._out:
            yield from self._recalled()
            for member in self._fleet.look():
                for batch in [batch for batch in self._out.values() if batch.member is member]:
                    yield from self._died(batch)
            self._assign()
            for future in self._fleet.finished(0.0 if self._unseen and not self._waiting else POLL_S):
                yield from self._ended(future)

    def _recalled(self) -> Iterator[Row]:
        """What is known already; for a moment, and while somebody has enough to do. Without workers, on to the end."""
        threads = sum(member.threads for member in self._fleet.ready)
        enough = AHEAD * threads * MOST_IN_BATCH or math.inf
        until_s = time.monotonic() + RECALL_S
        while self._unseen and len(self._waiting) < enough and time.monotonic() < until_s:
            task = self._unseen.popleft()
            key, row = self._recall.known(task)
            if row is None:
                self._waiting.append(_Job(task, key))
            else:
                yield row

    def abandon(self) -> bool:
        """Cancel what is out; says whether anything was."""
        batches = [self._taken(batch) for batch in [*self._out.values()]]
        if batches and self._fleet.client.status == "running":
            self._fleet.client.cancel([batch.future for batch in batches], reason="the sweep ended")
        return bool(batches)

    def _assign(self) -> None:
        """Give everybody as much as keeps them busy; who is idle gets a suspect first, and nothing else."""
        ready = self._fleet.ready
        threads = sum(member.threads for member in ready)
        for member in ready:
            if self._suspects and not member.load:
                member.alone = True
                self._send(member, [self._suspects.popleft()])
        for load in range(AHEAD * max((member.threads for member in ready), default=0)):
            for member in ready:
                if self._waiting and not member.alone and member.load <= load < AHEAD * member.threads:
                    self._send(member, self._next(threads))

    def _next(self, threads: int) -> list[_Job]:
        """The next batch: as many runs of one engine as take a while, but something for everybody."""
        engine = self._waiting[0].task.engine
        pace_s = self._pace_s.get(engine)
        most = 1 if pace_s is None else min(MOST_IN_BATCH, max(1, round(BATCH_S / max(pace_s, 1e-6))))
        most = min(most, math.ceil((len(self._waiting) + len(self._unseen)) / (AHEAD * threads)))
        jobs = [self._waiting.popleft()]
        while len(jobs) < most and self._waiting and self._waiting[0].task.engine == engine:
            jobs.append(self._waiting.popleft())
        return jobs

    def _send(self, member: "Member", jobs: list[_Job]) -> None:
        future = self._fleet.call(member, hand.carry, self._key, [job.task for job in jobs])
        member.load += 1
        self._out[future.key] = _Batch(member, future, jobs)

    def _ended(self, future: "Future") -> Iterator[Row]:
        batch = self._out.get(future.key)
        if batch is None:  # It was given up.
            return
        answer = self._fleet.outcome(future)
        if isinstance(answer, hand.Done):
            self._taken(batch)
            self._learn(batch, answer)
            self._keep(batch, answer)
            yield from answer.rows
        else:
            yield from self._failed(batch, answer)

    def _failed(self, batch: _Batch, answer: Any) -> Iterator[Row]:
        """The batch came to nothing: again, elsewhere or alone."""
        from dumbbell.sweeps.fleet import AwayError, DiedError  # noqa: PLC0415 — Dask is an extra

        member = batch.member
        if isinstance(answer, DiedError):
            yield from self._died(batch)
            return
        self._taken(batch)
        if isinstance(answer, hand.Lacking):
            member.outfits.discard(self._key)
            self._fleet.prepare(member)
        elif isinstance(answer, hand.Full):
            self._fleet.refuse(member, answer.reason)
        elif not isinstance(answer, AwayError):
            if len(batch.jobs) == 1:
                yield row_of(batch.jobs[0].task, "failed", f"{type(answer).__name__}: {answer}")
            else:
                self._suspects.extend(batch.jobs)
            return
        self._waiting.extendleft(reversed(batch.jobs))

    def _died(self, batch: _Batch) -> Iterator[Row]:
        """A worker ended with this batch."""
        alone = batch.member.alone
        self._taken(batch)
        for job in batch.jobs:
            job.deaths += 1
            if alone and job.deaths >= self._deaths:
                yield row_of(job.task, "failed", f"its worker died, {job.deaths} times")
            else:
                self._suspects.append(job)

    def _taken(self, batch: _Batch) -> _Batch:
        del self._out[batch.future.key]
        batch.member.load -= 1
        batch.member.alone = False
        return batch

    def _keep(self, batch: _Batch, done: hand.Done) -> None:
        """For other sweeps, where the worker reckons with exactly what the key names."""
        for job, row in zip(batch.jobs, done.rows, strict=True):
            if batch.member.is_alike and (row.engine != "kernel" or batch.member.tools == tools()):
                self._recall.keep(job.key, row)

    def _learn(self, batch: _Batch, done: hand.Done) -> None:
        engine = batch.jobs[0].task.engine
        took_s = done.wall_s / len(batch.jobs)
        self._pace_s[engine] = 0.5 * (self._pace_s.get(engine, took_s) + took_s)
