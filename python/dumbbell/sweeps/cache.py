"""What earlier sweeps measured, by content: `<cache>/sweeps/rows.sqlite`.

A key says everything that a row depends on (`identity.key_of`), so a row is never wrong, only unneeded; the oldest go
when the file grows past a limit. Losing it costs time and nothing else, so whatever goes wrong here turns the cache off
and stops no sweep.
"""

import json
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from dumbbell.publish import cache_dir
from dumbbell.sweeps.task import Status

__all__ = ["MOST_BYTES", "Cache", "Known", "cache_file", "clear"]

MOST_BYTES = 1 << 30
KEPT_OF_FULL = 0.8
"""What is left when the oldest went: it is not full again at once."""
COMMIT_S = 0.5
WAIT_S = 10.0
"""For another sweep that is writing."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, status TEXT NOT NULL, reason TEXT, metrics TEXT NOT NULL
)
"""


class Known(NamedTuple):
    """What a run gave, without the point of the sweep that asked first."""

    status: Status
    reason: str | None
    metrics: dict[str, float]


def cache_file() -> Path:
    """Where rows are kept, of all sweeps of one user."""
    return cache_dir() / "sweeps" / "rows.sqlite"


def clear() -> int:
    """Forget everything; how many bytes that were."""
    freed = 0
    for file in cache_file().parent.glob(f"{cache_file().name}*"):
        freed += file.stat().st_size
        file.unlink(missing_ok=True)
    return freed


class Cache:
    """The cache, open. Many processes may read and write it at once."""

    def __init__(self, file: Path, most_bytes: int = MOST_BYTES) -> None:
        """Open it, made where it isn't there."""
        self.file = file
        self.trouble: str | None = None
        """Why it was turned off, if it was."""
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
        """What is known of this run."""
        found = self._asked("SELECT status, reason, metrics FROM rows WHERE key = ?", key)
        return Known(found[0], found[1], json.loads(found[2])) if found else None

    def put(self, key: str, known: Known) -> None:
        """Keep what a run gave."""
        self._asked(
            "INSERT OR IGNORE INTO rows (key, status, reason, metrics) VALUES (?, ?, ?, ?)",
            key, known.status, known.reason, json.dumps(known.metrics),
        )  # fmt: skip
        if time.monotonic() >= self._committed + COMMIT_S:
            self._commit()

    def close(self) -> None:
        """Commit what was put, make room where there is too much, and end."""
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

    def _asked(self, words: str, *values: Any) -> Any:
        if self._link is None:
            return None
        try:
            return self._link.execute(words, values).fetchone()
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
        if self._link is None or (held := self._bytes()) <= self._most_bytes:
            return
        share = 1 - KEPT_OF_FULL * self._most_bytes / held
        gone = "SELECT number FROM rows ORDER BY number LIMIT (SELECT CAST(count(*) * ? AS INTEGER) FROM rows)"
        self._link.execute(f"DELETE FROM rows WHERE number IN ({gone})", (share,))  # noqa: S608 — ours
        self._link.commit()
        # As a script: a statement without columns is otherwise stepped once, and frees one page.
        self._link.executescript("PRAGMA incremental_vacuum")

    def _bytes(self) -> int:
        assert self._link is not None
        pages = self._link.execute("PRAGMA page_count").fetchone()[0] - self._free()
        return int(pages * self._link.execute("PRAGMA page_size").fetchone()[0])

    def _free(self) -> int:
        assert self._link is not None
        return int(self._link.execute("PRAGMA freelist_count").fetchone()[0])

    def _turn_off(self, error: Exception) -> None:
        self.trouble = str(error)
        if self._link is not None:
            with suppress(sqlite3.Error):
                self._link.close()
        self._link = None
