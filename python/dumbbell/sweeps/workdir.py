"""The work directory of an unfinished sweep: created atomically, locked, resumed only with the same settings.

```text
sweep.toml       the sweep file, with the values of --set
experiment.toml  the experiment, without cases; and its referenced files
rows.sqlite      the journal: settings, build, and a row for every completed run
runs/            kept results, a folder each
.work/           temporary files of runs
runs.parquet, sweep.json    written when the sweep is complete
```

`runner` writes the last two. The running sweep holds a lock on the folder. A resumed folder may come from an untrusted
source, so links in it are not followed.

The journal's transactions (SQLite) are atomic, so committed rows survive a kill at any moment and a full disk. Rows are
committed within half a second. One process writes at a time: the one that holds the lock.
"""

import fcntl
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import polars as pl

from dumbbell import publish
from dumbbell.errors import OutputError, ResultError
from dumbbell.kernels.store import hash_of
from dumbbell.publish import clean, explained, scratch, staged
from dumbbell.spec.document import as_toml, toml
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.checks import referenced_files
from dumbbell.sweeps.folder import EXPERIMENT, MANIFEST, RUNS, SWEEP_FILE, TABLE, write
from dumbbell.sweeps.identity import build
from dumbbell.sweeps.task import Row, base_of

__all__ = [
    "JOURNAL",
    "Journal",
    "WorkDir",
    "journal_problem",
    "opened",
]


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
            raise journal_problem(error, file) from error

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
                raise journal_problem(error, self._file) from error

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
            self._failure = explained(error, self._kept or self._file)
            return
        except sqlite3.Error as error:
            self._failure = journal_problem(error, self._file)
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


def journal_problem(error: sqlite3.Error, file: Path) -> OutputError:
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


WORK = ".work"
OURS = {SWEEP_FILE, EXPERIMENT, TABLE, MANIFEST, JOURNAL, RUNS, WORK}
RESUME = "continue it with --resume, or choose another folder with --out"
ANOTHER = "choose another folder with --out"


@dataclass(frozen=True)
class WorkDir:
    """A sweep's folder, locked by this process."""

    folder: Path
    journal: Journal
    tmp_dir: Path
    """Folder for temporary files of runs; unused if the sweep is complete."""

    @property
    def experiment(self) -> Path:
        """The folder's copy of the experiment, unaffected by later edits of the original."""
        return self.folder / EXPERIMENT

    @property
    def kept(self) -> Path:
        """Folder of the kept results."""
        return self.folder / RUNS

    @property
    def is_done(self) -> bool:
        """Have the table and the manifest been written?"""
        return (self.folder / MANIFEST).exists()

    def publish(self, table: pl.DataFrame, manifest: Mapping[str, Any]) -> None:
        """Write the table and then the manifest, each atomically. Raises `OutputError`."""
        try:
            write(self.tmp_dir, manifest, table)
            for name in (TABLE, MANIFEST):
                with (self.tmp_dir / name).open("rb") as written:
                    os.fsync(written.fileno())
                (self.tmp_dir / name).replace(self.folder / name)
        except OSError as error:
            raise explained(error, self.folder) from error


@contextmanager
def opened(sweep: Sweep, out: Path, engines: list[dict[str, Any]], *, resume: bool) -> Iterator[WorkDir]:
    """Create or resume the work directory.

    Raises `OutputError` if the folder exists and `resume` is False, if another sweep uses it, if it was created with
    other settings, by another build or on another kernel, or if it can't be written.
    """
    files = referenced_files(sweep)
    hashes = {name: hash_of(content) for name, content in files.items()}
    settings = {"sweep file": sweep.document, "experiment": sweep.experiment, "file": hashes}
    about = {"asked": settings, "build": build(), "engines": {_label(each): each for each in engines}}
    about = json.loads(json.dumps(about, default=str))
    if not out.exists():
        _begin(sweep, out, about, files)
    else:
        _check_resumable(out, resume=resume)
    with _locked(out), Journal(out / JOURNAL, out / RUNS if sweep.keep == "runs" else None) as journal:
        _check_same_sweep(out, journal.about, about)
        try:
            with nullcontext(out) if (out / MANIFEST).exists() else scratch(out / WORK) as tmp_dir:
                workdir = WorkDir(out, journal, tmp_dir)
                if sweep.keep == "runs":
                    _make_kept(workdir.kept)
                yield workdir
        except OSError as error:
            raise explained(error, out) from error


def _make_kept(kept: Path) -> None:
    """Create the folder of kept results and remove leftovers of killed sweeps. Raises `OutputError` if it is a link."""
    kept.mkdir(exist_ok=True)
    if kept.is_symlink():
        raise OutputError(f"{kept}: is a link; results are not written through links; remove it, or {ANOTHER}")
    clean(kept)


def _check_resumable(out: Path, *, resume: bool) -> None:
    if not os.path.lexists(out / JOURNAL):
        raise OutputError(f"{out}: exists already and is not a sweep's folder: it has no {JOURNAL}; {ANOTHER}")
    if not resume:
        raise OutputError(f"{out}: exists already; {ANOTHER if (out / MANIFEST).exists() else RESUME}")


def _begin(sweep: Sweep, out: Path, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    if reserved := sorted(name for name in files if _is_ours(Path(name).parts[0])):
        raise OutputError(f"{out}: the experiment references a file {reserved[0]}, a reserved name in a sweep's folder")
    with staged(out) as folder:
        (folder / SWEEP_FILE).write_text(_as_requested(sweep), encoding="utf-8")
        (folder / EXPERIMENT).write_text(as_toml(base_of(sweep).experiment), encoding="utf-8")
        for name, content in files.items():
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        Journal.create(folder / JOURNAL, about)


def _is_ours(name: str) -> bool:
    """Is this a reserved name: one of the sweep's files, or one of SQLite's (rows.sqlite-wal)?"""
    return name.lower() in OURS or name.lower().startswith(JOURNAL)


def _as_requested(sweep: Sweep) -> str:
    """The sweep file; with its comments, unless `--set` changed it."""
    if sweep.file.is_file():
        text = sweep.file.read_text(encoding="utf-8")
        if toml(text) == sweep.document:
            return text
    return as_toml(sweep.document)


def _label(engine: Mapping[str, Any]) -> str:
    return " ".join(str(engine[key]) for key in ("engine", "kernel") if key in engine)


def _check_same_sweep(out: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key, what in (
        ("asked", "started with other settings"),
        ("build", "started by another build"),
        ("engines", "started on another engine"),
    ):
        if differing := list(_differences(then.get(key), now[key])):
            shown = "; ".join(differing[:3]) + (f"; and {len(differing) - 3} more" if len(differing) > 3 else "")
            raise OutputError(f"{out}: can't resume: this sweep was {what}: {shown}; {ANOTHER}")


def _differences(then: Any, now: Any, at: str = "") -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(then.get(key), now.get(key), f"{at} {key}".strip())
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _differences(old, new, f"{at} {number}".strip())
    elif then != now:
        yield f"{at} was {_short(then)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock the folder for one sweep at a time; the lock ends with its process."""
    try:
        folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise explained(error, out) from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{out}: in use by another sweep; {ANOTHER}") from None
        yield
    finally:
        os.close(folder)
