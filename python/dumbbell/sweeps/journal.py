"""The journal of a sweep, `rows.sqlite`: its settings, its build, and a row for every completed run.

SQLite transactions are atomic, so committed rows survive a kill at any moment and a full disk. Rows are committed
within half a second. One process writes at a time; `workdir` holds the lock.
"""

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from dumbbell import publish
from dumbbell.errors import OutputError, ResultError
from dumbbell.sweeps.task import Row

__all__ = ["JOURNAL", "Journal", "explained"]

JOURNAL = "rows.sqlite"
COMMIT_S = 0.5
"""Interval between commits; each one waits for the disk."""
MOST_PENDING = 1000
"""Maximum rows waiting for the next commit."""

OF_SEVERAL = bytes.fromhex("d9d505f920a163d7")
"""Magic number at the end of a rollback journal that belongs to a multi-database transaction
(sqlite.org/fileformat.html); ours never does."""

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    point INTEGER, seed INTEGER, engine TEXT, kernel TEXT, axis_values TEXT, status TEXT, reason TEXT, metrics TEXT,
    wall_s REAL, cached INTEGER, done_at TEXT,
    PRIMARY KEY (point, seed)
) WITHOUT ROWID;
"""
_ADD = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ALL = (
    "SELECT point, seed, engine, kernel, axis_values, status, reason, metrics, wall_s, cached FROM rows"
    " ORDER BY point, seed"
)


class Journal:
    """An open journal; `add` returns immediately, and a background thread commits."""

    def __init__(self, file: Path, kept: Path | None = None) -> None:
        """Open a journal made by `create`. Raises `ResultError` if the file can't be read.

        Before rows are committed, the file system of `kept` is synced, so that every row's result is on disk.
        """
        _refuse_planted(file)
        self._file, self._kept = file, kept
        self._pending: list[Row] = []
        self._failure: OutputError | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        try:
            self._link = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, check_same_thread=False)
            self.about = {key: json.loads(value) for key, value in self._link.execute("SELECT key, value FROM about")}
        except (sqlite3.Error, ValueError) as error:
            raise ResultError(f"{file}: not a sweep's journal: {error}") from error
        self._committer = threading.Thread(target=self._commit_often, name="journal", daemon=True)
        self._committer.start()

    @staticmethod
    def create(file: Path, about: Mapping[str, Any]) -> None:
        """Create a journal. Raises `OutputError`."""
        try:
            with closing(sqlite3.connect(file)) as link:
                link.executescript(_SCHEMA)
                link.executemany("INSERT INTO about VALUES (?, ?)", [(k, json.dumps(v)) for k, v in about.items()])
                link.commit()
        except sqlite3.Error as error:
            raise explained(error, file) from error

    def add(self, row: Row) -> None:
        """Store a row. Raises `OutputError` if this or an earlier row can't be written."""
        with self._lock:
            self._pending.append(row)
            if len(self._pending) >= MOST_PENDING:
                self._commit()
            if self._failure is not None:
                raise self._failure

    def rows(self) -> list[Row]:
        """All rows, sorted by point and seed. Raises `OutputError`."""
        return self._query(_ALL, lambda found: list(_read(found)))

    def known(self) -> set[tuple[int, int]]:
        """Point and seed of every row. Raises `OutputError`."""
        return self._query("SELECT point, seed FROM rows", set)

    def counts(self) -> dict[str, int]:
        """The number of rows by status. Raises `OutputError`."""
        return self._query("SELECT status, count(*) FROM rows GROUP BY status", dict)

    def close(self) -> None:
        """Commit pending rows and close. Rows that can't be committed are lost; `add` or `rows` report the error."""
        self._ended.set()
        self._committer.join()
        with self._lock:
            self._commit()
            self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _query(self, statement: str, read: Callable[[Iterator[tuple[Any, ...]]], T]) -> T:
        with self._lock:
            self._commit()
            if self._failure is not None:
                raise self._failure
            try:
                return read(self._link.execute(statement))
            except sqlite3.Error as error:
                raise explained(error, self._file) from error

    def _commit_often(self) -> None:
        while not self._ended.wait(COMMIT_S):
            with self._lock:
                self._commit()

    def _commit(self) -> None:
        """Commit pending rows, with the lock held. The next call reports a failure and tries again."""
        if not self._pending:
            return
        try:
            if self._kept is not None:
                publish.synced_with_all(self._kept)
            with self._link:
                self._link.executemany(_ADD, map(_written, self._pending))
        except OSError as error:
            self._failure = publish.explained(error, self._kept or self._file)
            return
        except sqlite3.Error as error:
            self._failure = explained(error, self._file)
            return
        self._pending.clear()
        self._failure = None


def _refuse_planted(file: Path) -> None:
    """Raise `ResultError` for files planted in an untrusted folder.

    SQLite writes through links, and a rollback journal may name another file, which SQLite deletes.
    """
    for path in (file, *(file.with_name(f"{file.name}{end}") for end in ("-journal", "-wal", "-shm"))):
        if not os.path.lexists(path):
            continue
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            raise ResultError(f"{path}: not a sweep's journal: it is a link or not a regular file; remove it")
        if path.name.endswith("-journal"):
            with path.open("rb") as read:
                read.seek(-min(len(OF_SEVERAL), about.st_size), os.SEEK_END)
                if read.read() == OF_SEVERAL:
                    raise ResultError(f"{path}: not a sweep's journal: it names another file to delete; remove it")


def explained(error: sqlite3.Error, file: Path) -> OutputError:
    """Convert an SQLite error."""
    # Code and not text: SQLITE_FULL, and writes that ran into a quota or a limit (SQLITE_IOERR_WRITE).
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return OutputError(f"{file}: the disk is full")
    return OutputError(f"{file}: can't be used: {error}")


def _written(row: Row) -> tuple[Any, ...]:
    return (
        row.point, row.seed, row.engine, row.kernel, json.dumps(dict(row.values), default=str), row.status, row.reason,
        json.dumps(dict(row.metrics)), row.wall_s, row.cached, datetime.now(UTC).isoformat(timespec="milliseconds"),
    )  # fmt: skip


def _read(found: Iterator[tuple[Any, ...]]) -> Iterator[Row]:
    names: dict[str, str] = {}
    for point, seed, engine, kernel, values, status, reason, metrics, wall_s, cached in found:
        # Share one string per metric name among all rows.
        measured = {names.setdefault(name, name): value for name, value in json.loads(metrics).items()}
        yield Row(
            point, seed, engine, kernel, json.loads(values), status, reason, measured, wall_s, cached=bool(cached)
        )
