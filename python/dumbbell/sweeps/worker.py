"""A worker process of `pool`: reads the setup, then batches of tasks, and sends an answer for each task.

It exits when its pipe closes, so if the parent dies, the run is aborted and leaves no files. It ignores signals from
the terminal, which the parent handles.
"""

import gc
import signal
import sys
import threading
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

from dumbbell.errors import OutputError
from dumbbell.publish import sync_later
from dumbbell.signals import ENDING
from dumbbell.spec import Case
from dumbbell.sweeps.cache import Cache, Known
from dumbbell.sweeps.folder import kept_name
from dumbbell.sweeps.identity import key_of
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import run_task

__all__ = ["Answer", "Given", "Setup", "Stop", "main"]


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


def main() -> None:
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
    _Worker(setup, link).serve()
    # Or Python looks for cycles in all modules before it ends: 0.3 s with polars, which Ctrl-C waits for.
    gc.freeze()


class _ParentExitedError(BaseException):
    """The parent has exited."""


class _Worker:
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
