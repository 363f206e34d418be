"""An executor of local worker processes: one per core, each supplied with the next few tasks before it runs out.

Processes, not threads, for every engine: threads would share one core for Python's part of a run (docs/design has the
measurements), and a dying process takes only its own task with it. That task is retried once; after the second death
its row is failed. `worker` is the code of a worker process.
"""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dumbbell.errors import EngineError, OutputError
from dumbbell.signals import ENDING
from dumbbell.sweeps.cache import Cache, Known
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import row_of
from dumbbell.sweeps.worker import Setup, Stop

__all__ = ["Local"]

BATCH_AHEAD_S = 0.1
"""Duration of the tasks queued at a worker: enough to keep it busy, little enough to balance load at the end."""
MOST_WAITING = 64
MOST_DEATHS = 2
"""A task fails after this many of its processes died."""
MOST_FAILED_STARTS = 3
POLL_S = 0.25
"""Timeout of waits, so that Ctrl-C is noticed: polars makes interrupted system calls restart."""
END_S = 10.0
"""Time for a worker to abort its run before it is killed."""
ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Libraries that would start a thread per core in each process."""

Numbered = tuple[int, Task]


class Local:
    """A `dumbbell.sweeps.runner.Executor`; its processes live from the first task to the end of the `with` block."""

    def __init__(self, jobs: int | None, tmp_dir: Path, keep: Path | None = None, cache: Cache | None = None) -> None:
        """`jobs`: number of processes, by default one per core."""
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._tmp_dir, self._keep, self._cache = tmp_dir, keep, cache
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """A row for every task, in order of completion. Tasks of the host engine run last, one at a time."""
        alone: list[Numbered] = []
        yield from self._run_tasks(base, _parallel_tasks(enumerate(tasks), alone), self._jobs)
        yield from self._run_tasks(base, iter(alone), 1)

    def processes(self) -> list[int]:
        """Process ids of the live workers."""
        return [worker.process.pid for worker in self._workers]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.link.close()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _run_tasks(self, base: Base, tasks: Iterator[Numbered], jobs: int) -> Iterator[Row]:
        retries: deque[Numbered] = deque()
        deaths: Counter[int] = Counter()
        while True:
            self._feed(base, tasks, retries, jobs)
            busy = {worker.link: worker for worker in self._workers if worker.given}
            if not busy:
                return
            for link in wait(list(busy), timeout=POLL_S):
                worker = busy[link]  # type: ignore[index]
                try:
                    yield from self._rows_received(worker)
                except (EOFError, ConnectionError):
                    yield from self._died(worker, retries, deaths)

    def _feed(self, base: Base, tasks: Iterator[Numbered], retries: deque[Numbered], jobs: int) -> None:
        """Send tasks to every worker that runs low, first the tasks of workers that died."""
        for number in range(jobs):
            worker = self._workers[number] if number < len(self._workers) else None
            count = 1 if worker is None else worker.free_slots()
            batch: list[Numbered] = []
            while len(batch) < count:
                numbered = retries.popleft() if retries else next(tasks, None)
                if numbered is None:
                    break
                batch.append(numbered)
            if not batch:
                continue
            if worker is None:
                worker = _Worker(
                    Setup(base, self._tmp_dir, self._keep, None if self._cache is None else self._cache.file)
                )
                self._workers.append(worker)
            worker.give(batch)

    def _rows_received(self, worker: "_Worker") -> Iterator[Row]:
        while worker.link.poll():
            message = worker.link.recv()
            if message == "ready":
                worker.is_ready, self._failed_starts = True, 0
                continue
            number, outcome, key = message
            if isinstance(outcome, Stop):
                raise OutputError(outcome.reason)
            assert worker.given[0][0] == number
            worker.given.popleft()
            worker.learn(outcome)
            if key is not None and self._cache is not None:
                self._cache.put(key, Known(outcome.status, outcome.reason, dict(outcome.metrics)))
            yield outcome

    def _died(self, worker: "_Worker", retries: deque[Numbered], deaths: Counter[int]) -> Iterator[Row]:
        """Reassign the worker's tasks; the first one is the task that was running."""
        self._workers.remove(worker)
        worker.link.close()
        how = _exit_text(worker.end())
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= MOST_FAILED_STARTS:
                raise EngineError(f"{self._failed_starts} worker processes died during startup, the last {how}")
            retries.extendleft(reversed(worker.given))
            return
        number, task = worker.given[0]
        deaths[number] += 1
        if deaths[number] >= MOST_DEATHS:
            worker.given.popleft()
            reason = f"{deaths[number]} processes died during this run, the last {how}"
            yield row_of(task, "failed", reason)
        retries.extendleft(reversed(worker.given))


class _Worker:
    """One worker process, and its unanswered tasks."""

    def __init__(self, setup: Setup) -> None:
        ours, theirs = socket.socketpair()
        self.link = Connection(ours.detach())
        self.given: deque[Numbered] = deque()
        self.is_ready = False
        self._run_s: float | None = None
        with theirs:
            self.process = _started(theirs.fileno())
        with suppress(ConnectionError):
            self.link.send(setup)

    def free_slots(self) -> int:
        """The number of tasks to send to it now."""
        if not self._run_s or self._run_s >= BATCH_AHEAD_S:
            waiting = 1
        else:
            waiting = min(MOST_WAITING, round(BATCH_AHEAD_S / self._run_s) + 1)
        return waiting - len(self.given) if len(self.given) <= waiting // 2 else 0

    def give(self, batch: list[Numbered]) -> None:
        """Send tasks; a dead worker is noticed when its answers are read."""
        self.given.extend(batch)
        with suppress(ConnectionError):
            self.link.send(batch)

    def learn(self, row: Row) -> None:
        """Update the average run time."""
        took_s = row.wall_s or 0.0
        self._run_s = took_s if self._run_s is None else 0.7 * self._run_s + 0.3 * took_s

    def end(self) -> int:
        """Wait for the process to exit, kill it after a timeout; returns the exit status."""
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def _parallel_tasks(tasks: Iterable[Numbered], alone: list[Numbered]) -> Iterator[Numbered]:
    """Tasks that may run in parallel; tasks of the host engine go to `alone`."""
    for numbered in tasks:
        if numbered[1].engine == "host":
            alone.append(numbered)
        else:
            yield numbered


def _started(descriptor: int) -> "subprocess.Popen[bytes]":
    environment: dict[str, Any] = os.environ | dict.fromkeys(ONE_THREAD, "1")
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # In our process group, so that killing the group kills all. Signals are blocked until the worker sets its handlers.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", "from dumbbell.sweeps.worker import main; main()", str(descriptor)],
            pass_fds=[descriptor], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exit_text(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    with suppress(ValueError):
        return f"by {signal.Signals(-status).name}"
    return f"by signal {-status}"
