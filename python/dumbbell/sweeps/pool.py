"""An executor of local worker processes: one per core, each supplied with the next few tasks before it runs out.

Processes, not threads, for every engine: threads would share one core for Python's part of a run (docs/design has the
measurements), and a dying process takes only its own task with it. That task is retried once; after the second death
its row is failed.

A worker process (`work`) reads the setup, then batches of tasks, and sends an answer for each task. It exits when its
pipe closes, so if the parent dies, the run is aborted and leaves no files. It ignores signals from the terminal, which
the parent handles.
"""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from dumbbell.errors import ENDING, EngineError, OutputError
from dumbbell.publish import sync_later
from dumbbell.spec import Case
from dumbbell.sweeps.folder import kept_name
from dumbbell.sweeps.identity import key_of
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import Cache, Known, row_of, run_task

__all__ = [
    "Answer",
    "Given",
    "Local",
    "Stop",
    "work",
]


@dataclass(frozen=True)
class Setup:
    """The data that all tasks of a worker share."""

    base: Base
    tmp_dir: Path
    """Folder for temporary files of runs."""
    keep: Path | None
    """Folder of the kept results, or None."""
    cache: Path | None


@dataclass(frozen=True)
class Stop:
    """The run's files can't be written, so the sweep stops: other runs would fail too."""

    reason: str


Given = list[tuple[int, Task]]
"""Numbered tasks."""
Answer = tuple[int, Row | Stop, str | None]
"""Task number, outcome, and cache key."""


def work() -> None:
    """Serve the pipe whose descriptor is the first argument, until it closes."""
    for number in ENDING:
        signal.signal(number, _ignored)
    # The parent blocked them until these handlers are set.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    # The journal syncs results in bulk before it commits their rows.
    sync_later()
    link = Connection(int(sys.argv[1]))
    try:
        setup: Setup = link.recv()
        link.send("ready")
    except (EOFError, OSError):
        return  # The parent has ended.
    _Serving(setup, link).serve()
    # Or Python looks for cycles in all modules before it ends: 0.3 s with polars, which Ctrl-C waits for.
    gc.freeze()


class _ParentExitedError(BaseException):
    """The parent has exited."""


class _Serving:
    def __init__(self, setup: Setup, link: Connection) -> None:
        self._setup, self._link = setup, link
        self._tasks: SimpleQueue[Given | None] = SimpleQueue()
        self._parent_exited = threading.Event()
        self._key: str | None = None
        # Kept results need a real run: the cache has rows only.
        self._cache = Cache(setup.cache) if setup.cache and not setup.keep else None

    def serve(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while (given := self._tasks.get()) is not None:
                for number, task in given:
                    self._link.send(self._answer(number, task))
        except (_ParentExitedError, OSError):
            pass  # The parent has exited, or is stopping us.
        if self._cache is not None:
            self._cache.close()

    def _listen(self) -> None:
        try:
            while True:
                self._tasks.put(self._link.recv())
        except (EOFError, OSError):
            self._parent_exited.set()
            self._tasks.put(None)

    def _answer(self, number: int, task: Task) -> Answer:
        self._key = None
        keep = self._setup.keep / kept_name(task.point, task.seed) if self._setup.keep else None
        lookup = None if self._cache is None else partial(self._look_up, task)
        try:
            row = run_task(self._setup.base, task, self._tick, keep, tmp_dir=self._setup.tmp_dir, lookup=lookup)
        except OutputError as error:
            return number, Stop(str(error)), None
        return number, row, None if row.cached or row.status == "failed" else self._key

    def _look_up(self, task: Task, case: Case) -> Known | None:
        self._key = key_of(self._setup.base, task, case)
        return self._cache.get(self._key) if self._cache is not None and self._key else None

    def _tick(self) -> None:
        if self._parent_exited.is_set():
            raise _ParentExitedError


def _ignored(_number: int, _frame: object) -> None:
    """A handler instead of SIG_IGN, which child processes of a run would inherit."""


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
            [sys.executable, "-c", "from dumbbell.sweeps.pool import work; work()", str(descriptor)],
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
