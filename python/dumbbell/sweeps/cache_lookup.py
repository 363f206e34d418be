"""Cache lookup for a cluster: find cached rows before tasks are sent, and store new rows.

Local workers query the cache themselves (`worker`), since they parse the experiment anyway. Remote workers have another
cache, so the submitting process parses the experiment and looks up the row.
"""

from dataclasses import replace

from dumbbell.errors import DumbbellError
from dumbbell.sweeps.cache import Cache, Known
from dumbbell.sweeps.identity import key_of
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import case_of, row_of

__all__ = ["CacheLookup"]


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
