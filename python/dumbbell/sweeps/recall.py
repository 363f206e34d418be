"""What a crew far away need not run: rows that the cache has are found before a task is sent, new ones are kept after.

On this machine workers ask the cache themselves (`worker`), who have read the experiment anyway; a worker elsewhere has
another cache, so here it is read once more.
"""

from dataclasses import replace

from dumbbell.errors import DumbbellError
from dumbbell.sweeps.cache import Cache, Known
from dumbbell.sweeps.identity import key_of
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.work import case_of, row_of

__all__ = ["Recall"]


class Recall:
    """The cache as a crew asks it; without one nothing is known and nothing kept."""

    def __init__(self, base: Base, cache: Cache | None) -> None:
        self._base, self._cache = base, cache

    def known(self, task: Task) -> tuple[str | None, Row | None]:
        """The key under which the task's row may be kept, and the row, where an earlier sweep left it."""
        if self._cache is None:
            return None, None
        try:
            key = key_of(self._base, task, case_of(self._base, task))
        except (DumbbellError, OSError):  # What is wrong with it, the run says.
            return None, None
        found = None if key is None else self._cache.get(key)
        if found is None:
            return key, None
        return key, replace(row_of(task, found.status, found.reason, found.metrics), cached=True)

    def keep(self, key: str | None, row: Row) -> None:
        """Keep a row for others; a failure is none, another time there may be more memory."""
        if self._cache is not None and key is not None and row.status != "failed":
            self._cache.put(key, Known(row.status, row.reason, dict(row.metrics)))
