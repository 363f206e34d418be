"""A crew of processes on this machine: one a core, each given the next few tasks whenever it has nearly none.

Processes and not threads, for every engine (DESIGN.md says what was measured): Python's part of a run would share one
core, and a process that dies takes only its own task with it. That task is given to another once; a second death is
its row. What a worker does with a task is `worker`'s.
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
from dumbbell.sweeps.work import row_of
from dumbbell.sweeps.worker import Setup, Stop

__all__ = ["Local"]

HANDFUL_S = 0.1
"""Of work that a worker has waiting: it is never idle, and little is left to one alone at the end."""
MOST_WAITING = 64
DEADLY = 2
"""A task that so many processes died with has failed."""
MOST_STILLBORN = 3
POLL_S = 0.25
"""Polars restarts interrupted system calls, so a wait without an end would hear no Ctrl-C."""
END_S = 10.0
"""For a worker to cut its run off, before it is killed."""
ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Libraries that would start a thread a core in each process."""

Numbered = tuple[int, Task]


class Local:
    """See `dumbbell.sweeps.conduct.Crew`; its processes live from the first task to the end of the block."""

    def __init__(self, jobs: int | None, room: Path, keep: Path | None = None, cache: Cache | None = None) -> None:
        """`jobs`: how many side by side; default: one a core.."""
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._room, self._keep, self._cache = room, keep, cache
        self._workers: list[_Worker] = []
        self._stillborn = 0

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """A row for every task, in the order in which they are done. What runs in real time comes last, by itself."""
        alone: list[Numbered] = []
        yield from self._carried(base, _others(enumerate(tasks), alone), self._jobs)
        yield from self._carried(base, iter(alone), 1)

    def processes(self) -> list[int]:
        """Of the workers that live."""
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

    def _carried(self, base: Base, tasks: Iterator[Numbered], jobs: int) -> Iterator[Row]:
        again: deque[Numbered] = deque()
        deaths: Counter[int] = Counter()
        while True:
            self._feed(base, tasks, again, jobs)
            busy = {worker.link: worker for worker in self._workers if worker.given}
            if not busy:
                return
            for link in wait(list(busy), timeout=POLL_S):
                worker = busy[link]  # type: ignore[index]
                try:
                    yield from self._heard(worker)
                except (EOFError, ConnectionError):
                    yield from self._died(worker, again, deaths)

    def _feed(self, base: Base, tasks: Iterator[Numbered], again: deque[Numbered], jobs: int) -> None:
        """Give every worker that has nearly nothing its next handful, those of the dead first."""
        for place in range(jobs):
            worker = self._workers[place] if place < len(self._workers) else None
            wanted = 1 if worker is None else worker.wants()
            handful: list[Numbered] = []
            while len(handful) < wanted:
                numbered = again.popleft() if again else next(tasks, None)
                if numbered is None:
                    break
                handful.append(numbered)
            if not handful:
                continue
            if worker is None:
                worker = _Worker(Setup(base, self._room, self._keep, None if self._cache is None else self._cache.file))
                self._workers.append(worker)
            worker.give(handful)

    def _heard(self, worker: "_Worker") -> Iterator[Row]:
        while worker.link.poll():
            said = worker.link.recv()
            if said == "ready":
                worker.is_ready, self._stillborn = True, 0
                continue
            number, outcome, key = said
            if isinstance(outcome, Stop):
                raise OutputError(outcome.reason)
            assert worker.given[0][0] == number
            worker.given.popleft()
            worker.learn(outcome)
            if key is not None and self._cache is not None:
                self._cache.put(key, Known(outcome.status, outcome.reason, dict(outcome.metrics)))
            yield outcome

    def _died(self, worker: "_Worker", again: deque[Numbered], deaths: Counter[int]) -> Iterator[Row]:
        """Its tasks are given to another; the first of them is the one that it was at."""
        self._workers.remove(worker)
        worker.link.close()
        how = _how(worker.end())
        if not worker.is_ready:
            self._stillborn += 1
            if self._stillborn >= MOST_STILLBORN:
                raise EngineError(f"{self._stillborn} worker processes died before they could begin, the last {how}")
            again.extendleft(reversed(worker.given))
            return
        number, task = worker.given[0]
        deaths[number] += 1
        if deaths[number] >= DEADLY:
            worker.given.popleft()
            reason = f"{deaths[number]} processes died with this run, the last {how}"
            yield row_of(task, "failed", reason)
        again.extendleft(reversed(worker.given))


class _Worker:
    """One process, and what it was given and has not answered."""

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

    def wants(self) -> int:
        """How many more tasks it should be given now."""
        if not self._run_s or self._run_s >= HANDFUL_S:
            waiting = 1
        else:
            waiting = min(MOST_WAITING, round(HANDFUL_S / self._run_s) + 1)
        return waiting - len(self.given) if len(self.given) <= waiting // 2 else 0

    def give(self, handful: list[Numbered]) -> None:
        """Send tasks; whether it lives is found when it answers."""
        self.given.extend(handful)
        with suppress(ConnectionError):
            self.link.send(handful)

    def learn(self, row: Row) -> None:
        """How long a run takes, from the last few."""
        took_s = row.wall_s or 0.0
        self._run_s = took_s if self._run_s is None else 0.7 * self._run_s + 0.3 * took_s

    def end(self) -> int:
        """Wait until it has ended, and see to it; its exit status."""
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def _others(tasks: Iterable[Numbered], alone: list[Numbered]) -> Iterator[Numbered]:
    """Tasks that may run side by side; the rest is put by."""
    for numbered in tasks:
        if numbered[1].engine == "host":
            alone.append(numbered)
        else:
            yield numbered


def _started(descriptor: int) -> "subprocess.Popen[bytes]":
    environment: dict[str, Any] = os.environ | dict.fromkeys(ONE_THREAD, "1")
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # In our group, so that whoever kills that kills all; but deaf until it has handlers of its own.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", "from dumbbell.sweeps.worker import main; main()", str(descriptor)],
            pass_fds=[descriptor], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _how(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    with suppress(ValueError):
        return f"by {signal.Signals(-status).name}"
    return f"by signal {-status}"
