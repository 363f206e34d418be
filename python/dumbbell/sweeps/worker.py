"""A process that carries out tasks for `pool`: the setup first, then tasks by the handful, an answer for each.

It ends when its pipe does: whatever becomes of the parent, a run is cut off and leaves nothing. Signals from the
terminal are the parent's affair.
"""

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
from dumbbell.sweeps.work import carried_out

__all__ = ["Answer", "Given", "Setup", "Stop", "main"]


@dataclass(frozen=True)
class Setup:
    """What all tasks of a worker share."""

    base: Base
    room: Path
    """Where a run writes that nobody keeps."""
    keep: Path | None
    """Where results stay, a folder each."""
    cache: Path | None


@dataclass(frozen=True)
class Stop:
    """The machine has no room for a run; nothing else would have either."""

    reason: str


Given = list[tuple[int, Task]]
"""Tasks by number."""
Answer = tuple[int, Row | Stop, str | None]
"""Of which task; what came of it; under which key others may find it."""


def main() -> None:
    """Serve the pipe whose descriptor is the first argument, to its end."""
    for number in ENDING:
        signal.signal(number, _ignored)
    # The parent blocked them, so that none comes before this line.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    # The journal syncs them, many at once, before it has their rows.
    sync_later()
    link = Connection(int(sys.argv[1]))
    try:
        setup: Setup = link.recv()
        link.send("ready")
    except (EOFError, OSError):
        return  # The parent has ended.
    _Worker(setup, link).serve()


class _GoneError(BaseException):
    """Nobody waits for this run any more."""


class _Worker:
    def __init__(self, setup: Setup, link: Connection) -> None:
        self._setup, self._link = setup, link
        self._tasks: SimpleQueue[Given | None] = SimpleQueue()
        self._is_gone = threading.Event()
        self._key: str | None = None
        # What is kept as folders can't come from the cache, which has none.
        self._cache = Cache(setup.cache) if setup.cache and not setup.keep else None

    def serve(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while (given := self._tasks.get()) is not None:
                for number, task in given:
                    self._link.send(self._answer(number, task))
        except (_GoneError, OSError):
            pass  # The parent has ended, or ends us.
        if self._cache is not None:
            self._cache.close()

    def _listen(self) -> None:
        try:
            while True:
                self._tasks.put(self._link.recv())
        except (EOFError, OSError):
            self._is_gone.set()
            self._tasks.put(None)

    def _answer(self, number: int, task: Task) -> Answer:
        self._key = None
        keep = self._setup.keep / kept_name(task.point, task.seed) if self._setup.keep else None
        look = None if self._cache is None else partial(self._look, task)
        try:
            row = carried_out(self._setup.base, task, self._tick, keep, room=self._setup.room, look=look)
        except OutputError as error:
            return number, Stop(str(error)), None
        return number, row, None if row.cached or row.status == "failed" else self._key

    def _look(self, task: Task, case: Case) -> Known | None:
        self._key = key_of(self._setup.base, task, case)
        return self._cache.get(self._key) if self._cache is not None and self._key else None

    def _tick(self) -> None:
        if self._is_gone.is_set():
            raise _GoneError


def _ignored(_number: int, _frame: object) -> None:
    """A handler and not SIG_IGN: programs that a run starts would inherit that."""
