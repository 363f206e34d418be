"""Cache of rows from earlier sweeps: `<cache>/sweeps/rows.sqlite`.

A key hashes everything that a row depends on (`identity.key_of`), so rows never become stale. When the file exceeds its
limit, the oldest rows are deleted. An error disables the cache; the sweep continues without it.
"""

import json
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from dumbbell.publish.cache import cache_folder
from dumbbell.sweeps.task import Status

__all__ = ["MOST_BYTES", "Cache", "Known", "cache_file", "clear"]

MOST_BYTES = 1 << 30
KEPT_OF_FULL = 0.8
"""Share of the limit that remains after deleting old rows, so that the cache doesn't fill up again at once."""
COMMIT_S = 0.5
WAIT_S = 10.0
"""Wait this long for another sweep that is writing."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, status TEXT NOT NULL, reason TEXT, metrics TEXT NOT NULL
)
"""


class Known(NamedTuple):
    """A cached row, without the point and seed of its first sweep."""

    status: Status
    reason: str | None
    metrics: dict[str, float]


def cache_file() -> Path:
    """The cache file, shared by all sweeps of a user."""
    return cache_folder("sweeps") / "rows.sqlite"


def clear() -> int:
    """Delete the cache; returns the bytes freed."""
    freed = 0
    for file in cache_file().parent.glob(f"{cache_file().name}*"):
        freed += file.stat().st_size
        file.unlink(missing_ok=True)
    return freed


class Cache:
    """An open cache. Several processes may read and write it concurrently."""

    def __init__(self, file: Path, most_bytes: int = MOST_BYTES) -> None:
        """Open the file, creating it if needed."""
        self.file = file
        self.cache_error: str | None = None
        """The error that disabled the cache, if any."""
        self._most_bytes = most_bytes
        self._committed = time.monotonic()
        self._link: sqlite3.Connection | None = None
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._link = sqlite3.connect(file, timeout=WAIT_S)
            self._link.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._link.execute("PRAGMA journal_mode = WAL")
            self._link.execute("PRAGMA synchronous = NORMAL")
            self._link.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            self._turn_off(error)

    def get(self, key: str) -> Known | None:
        """The cached row of a key."""
        found = self._query("SELECT status, reason, metrics FROM rows WHERE key = ?", key)
        return Known(found[0], found[1], json.loads(found[2])) if found else None

    def put(self, key: str, known: Known) -> None:
        """Store a row."""
        self._query(
            "INSERT OR IGNORE INTO rows (key, status, reason, metrics) VALUES (?, ?, ?, ?)",
            key, known.status, known.reason, json.dumps(known.metrics),
        )  # fmt: skip
        if time.monotonic() >= self._committed + COMMIT_S:
            self._commit()

    def close(self) -> None:
        """Commit, shrink the file if it exceeds its limit, and close it."""
        self._commit()
        try:
            self._shrink()
        except sqlite3.Error as error:
            self._turn_off(error)
        if self._link is not None:
            self._link.close()
            self._link = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _query(self, statement: str, *values: Any) -> Any:
        if self._link is None:
            return None
        try:
            return self._link.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._turn_off(error)
            return None

    def _commit(self) -> None:
        if self._link is not None:
            try:
                self._link.commit()
            except sqlite3.Error as error:
                self._turn_off(error)
        self._committed = time.monotonic()

    def _shrink(self) -> None:
        if self._link is None or (size_bytes := self._bytes()) <= self._most_bytes:
            return
        share = 1 - KEPT_OF_FULL * self._most_bytes / size_bytes
        oldest = "SELECT number FROM rows ORDER BY number LIMIT (SELECT CAST(count(*) * ? AS INTEGER) FROM rows)"
        self._link.execute(f"DELETE FROM rows WHERE number IN ({oldest})", (share,))  # noqa: S608 — ours
        self._link.commit()
        # executescript, because execute steps a statement without columns only once, which frees one page.
        self._link.executescript("PRAGMA incremental_vacuum")

    def _bytes(self) -> int:
        assert self._link is not None
        pages = self._link.execute("PRAGMA page_count").fetchone()[0] - self._free()
        return int(pages * self._link.execute("PRAGMA page_size").fetchone()[0])

    def _free(self) -> int:
        assert self._link is not None
        return int(self._link.execute("PRAGMA freelist_count").fetchone()[0])

    def _turn_off(self, error: Exception) -> None:
        self.cache_error = str(error)
        if self._link is not None:
            with suppress(sqlite3.Error):
                self._link.close()
        self._link = None
