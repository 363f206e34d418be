"""Run a sweep's tasks on a cluster: the workers of a Dask scheduler, on any hosts.

Each worker gets a few batches at a time, so queues stay short and each task's worker is known. When a worker dies, its
tasks go to other workers. Tasks that may have killed it run alone from then on, so that a task that kills every worker
fails by itself. `registry` keeps the workers.

Local workers query the cache themselves (`pool`), since they parse the experiment anyway. Remote workers have another
cache, so this process looks up rows before it sends tasks, and stores new ones.
"""

import importlib.util
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dumbbell.errors import ClusterError, DumbbellError
from dumbbell.sweeps import cluster_worker
from dumbbell.sweeps.cluster_worker import WorkerPayload, payload_of
from dumbbell.sweeps.identity import key_of, tools
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import Cache, Known, case_of, row_of, run_task

if TYPE_CHECKING:
    from distributed import Future

    from dumbbell.sweeps.registry import ClusterWorker, WorkerRegistry

__all__ = [
    "CacheLookup",
    "Cluster",
    "executor_for",
]


class CacheLookup:
    """Looks up and stores rows; without a cache, does nothing."""

    def __init__(self, base: Base, cache: Cache | None) -> None:
        self._base, self._cache = base, cache

    def known(self, task: Task) -> tuple[str | None, Row | None]:
        """The task's cache key, and the cached row if there is one."""
        if self._cache is None:
            return None, None
        try:
            key = key_of(self._base, task, case_of(self._base, task))
        except (DumbbellError, OSError):  # The run reports the error.
            return None, None
        found = None if key is None else self._cache.get(key)
        if found is None:
            return key, None
        return key, replace(row_of(task, found.status, found.reason, found.metrics), cached=True)

    def keep(self, key: str | None, row: Row) -> None:
        """Store a row. Failed rows are not stored: a later run may have more memory."""
        if self._cache is not None and key is not None and row.status != "failed":
            self._cache.put(key, Known(row.status, row.reason, dict(row.metrics)))


TIMEOUT_S = 60.0
"""Timeout for the first worker, and for a new one after all disconnected; a nanny restarts a worker within seconds."""
BATCH_S = 0.5
"""Target duration of a batch: long against the scheduler's milliseconds, short for the user."""
MOST_IN_BATCH = 200
AHEAD = 2
"""Batches per worker thread: the running one and the next."""
POLL_S = 0.2
LOOKUP_S = 0.1
"""Maximum time of one cache lookup pass before workers are served again."""


def executor_for(
    cluster: str, warn: Callable[[str], None] = lambda _text: None, cache: Cache | None = None
) -> "Cluster":
    """Workers at an address (`tcp://scheduler:8786`, `tls://…`), or started by Slurm (`slurm:…`, FILE.toml).

    Rows in `cache` are not run. `warn` gets warnings, such as refused workers. Raises `ClusterError`.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ClusterError("a cluster needs Dask, which is not installed here; type: pip install 'dumbbell[cluster]'")
    from dumbbell.sweeps.registry import WorkerRegistry, connected  # noqa: PLC0415 — Dask is an extra

    if "://" in cluster:
        return Cluster(WorkerRegistry(connected(cluster, warn), cluster, warn, TIMEOUT_S), cache)
    if cluster.partition(":")[0] == "slurm" or cluster.endswith(".toml"):
        from dumbbell.sweeps.slurm import parse_jobs, started  # noqa: PLC0415

        jobs = started(parse_jobs(cluster))
        warn(f"requested workers from Slurm; their scheduler is at {jobs.scheduler_address}")
        client = connected(jobs.scheduler_address, warn)
        return Cluster(WorkerRegistry(client, jobs.scheduler_address, warn, None), cache, jobs.close)
    raise ClusterError(
        f"invalid cluster '{cluster}'; use tcp://scheduler:8786, slurm:cores=16,memory=32GB, or a TOML file"
    )


@dataclass
class _Job:
    """A task to run."""

    task: Task
    key: str | None = None
    """Its cache key."""
    deaths: int = 0
    """Workers that died while running it."""


@dataclass
class _Batch:
    member: "ClusterWorker"
    future: "Future"
    jobs: list[_Job]


class Cluster:
    """An executor on a cluster; as a context manager, it disconnects at the end."""

    def __init__(
        self, registry: "WorkerRegistry", cache: Cache | None = None, then: Callable[[], None] = lambda: None
    ) -> None:
        """`then` is called after disconnecting."""
        self._registry = registry
        self._cache = cache
        self._then = then
        self._keys: set[str] = set()
        self._interrupted = 0
        """Rounds that ended early; workers refuse the key of such a round."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Make all workers drop the sweep, and disconnect."""
        for key in self._keys:
            self._registry.dismiss(key)
        with suppress(Exception):  # The scheduler may have ended.
            self._registry.client.close(timeout=2)
        self._then()

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """See `Executor`. Raises `ClusterError`; rows yielded before are complete."""
        all_tasks = list(tasks)
        payload = payload_of(base, all_tasks)
        remote = [task for task in all_tasks if task.engine != "kernel" or task.kernel in payload.kernels]
        for task in all_tasks:
            if task.engine == "kernel" and task.kernel not in payload.kernels:
                # Unknown kernel: run locally, where it fails with the same message as without a cluster.
                yield run_task(base, task, lambda: None)
        yield from self._rows(payload, remote)

    def _rows(self, payload: WorkerPayload, tasks: Sequence[Task]) -> Iterator[Row]:
        key = f"{payload.key}-{self._registry.client.id}-{self._interrupted}"
        self._keys.add(key)
        self._registry.set_payload(payload, key)
        round_ = _Round(self._registry, key, tasks, CacheLookup(payload.base, self._cache))
        try:
            yield from round_.rows()
        finally:
            if round_.abandon():
                self._interrupted += 1
                self._registry.dismiss(key)


class _Round:
    """The state of one round: tasks that wait, run, or are suspected of killing a worker."""

    def __init__(self, registry: "WorkerRegistry", key: str, tasks: Sequence[Task], lookup: CacheLookup) -> None:
        self._registry = registry
        self._key = key
        self._deaths = registry.allowed_failures
        self._lookup = lookup
        self._unseen = deque(tasks)
        """Not yet looked up in the cache."""
        self._waiting: deque[_Job] = deque()
        self._suspects: deque[_Job] = deque()
        self._out: dict[str, _Batch] = {}
        self._pace_s: dict[str, float] = {}
        """Average run time by engine, from the last batches."""

    def rows(self) -> Iterator[Row]:
        """Rows in order of completion."""
        while self._unseen or self._waiting or self._suspects or self._out:
            yield from self._cached_rows()
            for member in self._registry.poll():
                for batch in [batch for batch in self._out.values() if batch.member is member]:
                    yield from self._died(batch)
            self._assign()
            for future in self._registry.finished(0.0 if self._unseen and not self._waiting else POLL_S):
                yield from self._ended(future)

    def _cached_rows(self) -> Iterator[Row]:
        """Look up tasks in the cache, for a short time and until workers have enough to do; without workers, all."""
        threads = sum(member.threads for member in self._registry.ready)
        enough = AHEAD * threads * MOST_IN_BATCH or math.inf
        until_s = time.monotonic() + LOOKUP_S
        while self._unseen and len(self._waiting) < enough and time.monotonic() < until_s:
            task = self._unseen.popleft()
            key, row = self._lookup.known(task)
            if row is None:
                self._waiting.append(_Job(task, key))
            else:
                yield row

    def abandon(self) -> bool:
        """Cancel running batches; returns whether there were any."""
        batches = [self._release(batch) for batch in [*self._out.values()]]
        if batches and self._registry.client.status == "running":
            self._registry.client.cancel([batch.future for batch in batches], reason="the sweep ended")
        return bool(batches)

    def _assign(self) -> None:
        """Keep every worker busy. An idle worker first gets a suspect task, alone."""
        ready = self._registry.ready
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
        """The next batch: runs of one engine that take about `BATCH_S`, but few enough to keep all workers busy."""
        engine = self._waiting[0].task.engine
        pace_s = self._pace_s.get(engine)
        most = 1 if pace_s is None else min(MOST_IN_BATCH, max(1, round(BATCH_S / max(pace_s, 1e-6))))
        most = min(most, math.ceil((len(self._waiting) + len(self._unseen)) / (AHEAD * threads)))
        jobs = [self._waiting.popleft()]
        while len(jobs) < most and self._waiting and self._waiting[0].task.engine == engine:
            jobs.append(self._waiting.popleft())
        return jobs

    def _send(self, member: "ClusterWorker", jobs: list[_Job]) -> None:
        future = self._registry.call(member, cluster_worker.run_tasks, self._key, [job.task for job in jobs])
        member.load += 1
        self._out[future.key] = _Batch(member, future, jobs)

    def _ended(self, future: "Future") -> Iterator[Row]:
        batch = self._out.get(future.key)
        if batch is None:  # It was cancelled.
            return
        answer = self._registry.outcome(future)
        if isinstance(answer, cluster_worker.Done):
            self._release(batch)
            self._update_pace(batch, answer)
            self._keep(batch, answer)
            yield from answer.rows
        else:
            yield from self._failed(batch, answer)

    def _failed(self, batch: _Batch, answer: Any) -> Iterator[Row]:
        """The batch failed: run its tasks on another worker, or alone."""
        from dumbbell.sweeps.registry import AnswerLostError, WorkerDiedError  # noqa: PLC0415 — Dask is an extra

        member = batch.member
        if isinstance(answer, WorkerDiedError):
            yield from self._died(batch)
            return
        self._release(batch)
        if isinstance(answer, cluster_worker.Unprepared):
            member.payloads.discard(self._key)
            self._registry.prepare(member)
        elif isinstance(answer, cluster_worker.Full):
            self._registry.refuse(member, answer.reason)
        elif not isinstance(answer, AnswerLostError):
            if len(batch.jobs) == 1:
                yield row_of(batch.jobs[0].task, "failed", f"{type(answer).__name__}: {answer}")
            else:
                self._suspects.extend(batch.jobs)
            return
        self._waiting.extendleft(reversed(batch.jobs))

    def _died(self, batch: _Batch) -> Iterator[Row]:
        """The worker of this batch died."""
        alone = batch.member.alone
        self._release(batch)
        for job in batch.jobs:
            job.deaths += 1
            if alone and job.deaths >= self._deaths:
                yield row_of(job.task, "failed", f"its worker died, {job.deaths} times")
            else:
                self._suspects.append(job)

    def _release(self, batch: _Batch) -> _Batch:
        """Remove a batch from its worker."""
        del self._out[batch.future.key]
        batch.member.load -= 1
        batch.member.alone = False
        return batch

    def _keep(self, batch: _Batch, done: cluster_worker.Done) -> None:
        """Cache the rows if the worker has the same build and tools as the cache key."""
        payload = self._registry.payload
        same_tools = batch.member.tools == tools() or not (payload and payload.uses_iproute2)
        for job, row in zip(batch.jobs, done.rows, strict=True):
            if batch.member.is_alike and (row.engine != "kernel" or same_tools):
                self._lookup.keep(job.key, row)

    def _update_pace(self, batch: _Batch, done: cluster_worker.Done) -> None:
        engine = batch.jobs[0].task.engine
        took_s = done.wall_s / len(batch.jobs)
        self._pace_s[engine] = 0.5 * (self._pace_s.get(engine, took_s) + took_s)
