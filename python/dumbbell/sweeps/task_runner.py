"""Run one task of a sweep, or look up its row in the cache of earlier sweeps: `<cache>/sweeps/rows.sqlite`.

An error of a run becomes a failed row. Only errors of the host, such as a full disk or an interrupt, are raised.

A key of the cache hashes everything that a row depends on (`identity.key_of`), so rows never become stale. When the
file exceeds its limit, the oldest rows are deleted. An error disables the cache; the sweep continues without it.
"""

import json
import re
import sqlite3
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from dumbbell import spec
from dumbbell.analysis.summary import measures
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.engines.base import NOTHING, Permissions, engine_called, repeat_command
from dumbbell.errors import DumbbellError, OutputError
from dumbbell.publish import remove
from dumbbell.publish.cache import cache_folder
from dumbbell.results.result import Run
from dumbbell.spec.document import inline_toml, with_settings
from dumbbell.sweeps.task import Base, Row, Status, Task

__all__ = [
    "MOST_BYTES",
    "Cache",
    "Known",
    "cache_file",
    "case_of",
    "clear",
    "command_for",
    "row_of",
    "run_task",
    "setting",
]


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

    def __init__(self, file: Path, max_bytes: int = MOST_BYTES) -> None:
        """Open the file, creating it if needed."""
        self.file = file
        self.cache_error: str | None = None
        """The error that disabled the cache, if any."""
        self._most_bytes = max_bytes
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


def command_for(task: Task, experiment: str, hosts: Sequence[str] = ()) -> str:
    """The full command that runs this task alone, in the folder of the sweep's `experiment.toml`."""
    settings = [setting(key, value) for key, value in task.settings]
    return repeat_command(experiment, task.engine, task.seed, settings, task.kernel, hosts)


def setting(key: str, value: Any) -> str:
    """`KEY=VALUE` that `--set` parses back to this value."""
    return f"{key}={_text(value)}"


def _text(value: Any) -> str:
    """The value as TOML; a string without quotes if it can't be mistaken for TOML: `20ms`, but `"1e3"`, `"true"`."""
    if isinstance(value, str) and not _is_toml(value) and value == value.strip():
        return value
    return inline_toml(value)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return False
    return True


Tick = Callable[[], None]
"""Called periodically during a run; may raise to abort it."""
Lookup = Callable[[spec.Case], Known | None]
"""Called before a run; returns its cached row, if any."""


def run_task(
    base: Base,
    task: Task,
    tick: Tick,
    keep: Path | None = None,
    *,
    tmp_dir: Path | None = None,
    lookup: Lookup | None = None,
) -> Row:
    """Run one task. `keep` is the folder for its result; without it, temporary files go to `tmp_dir`.

    Raises `OutputError` if files can't be written, and whatever `tick` raises.
    """
    began = time.perf_counter()
    try:
        row = _measured_row(base, task, tick, keep, tmp_dir, lookup)
    except OutputError:
        raise
    except DumbbellError as error:
        row = row_of(task, "failed", _without_paths(error, base, tmp_dir, keep))
    except Exception as error:
        # A bug fails one row, not the sweep; the source line helps to find it.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        row = row_of(task, "failed", f"{_without_paths(error, base, tmp_dir, keep)} (a bug in Dumbbell: {where})")
    return replace(row, wall_s=time.perf_counter() - began)


def case_of(base: Base, task: Task) -> spec.Case:
    """The experiment that a task runs. Raises `ExperimentError`."""
    (case,) = spec.read(with_settings(base.experiment, dict(task.settings), base.file), base.file)
    return case


def row_of(task: Task, status: Status, reason: str | None, found: dict[str, float] | None = None) -> Row:
    """The row of a task."""
    return Row(task.point, task.seed, task.engine, _kernel(task), task.values, status, reason, found or {})


def _measured_row(
    base: Base, task: Task, tick: Tick, keep: Path | None, tmp_dir: Path | None, lookup: Lookup | None
) -> Row:
    case = case_of(base, task)
    if lookup is not None and (known := lookup(case)) is not None:
        return replace(row_of(task, known.status, known.reason, known.metrics), cached=True)
    engine = _engine(task.engine, task.kernel, base.allowed)
    command = command_for(task, base.file.name, base.allowed.hosts)
    request = Request(base.name, case, task.seed, keep or Path(_NOWHERE), command)
    if keep is not None:
        # The folder exists if a sweep was killed between writing the result and storing its row.
        remove(keep)
        return _row_of_run(base, task, engine.run_and_keep(request, lambda _seconds: tick()))
    if isinstance(engine, Simulator):
        return _row_of_run(base, task, engine.simulate(request, lambda _seconds: tick()))
    with tempfile.TemporaryDirectory(prefix=_NOWHERE, dir=tmp_dir, ignore_cleanup_errors=True) as private:
        request = replace(request, out=Path(private) / "run")
        return _row_of_run(base, task, engine.run_and_keep(request, lambda _seconds: tick()))


@cache
def _engine(name: str, kernel: str | None, allowed: Permissions = NOTHING) -> Engine:
    return engine_called(name, kernel, "engine", allowed=allowed)


def _row_of_run(base: Base, task: Task, run: Run) -> Row:
    end_ns = round(run.manifest.duration_s * 1e9)
    window = None if base.window is None else (base.window[0], base.window[1] or end_ns)
    if base.read is not None:
        found = base.read(run, task)
    else:
        # A run may end before the window begins: its flows completed, or it was cut off. Then its metrics are missing.
        found = measures(run, window, base.metrics) if window is None or window[0] < end_ns else {}
    if run.manifest.valid:
        return row_of(task, "ok", None, found)
    return row_of(task, "invalid", "; ".join(run.manifest.invalid), found)


def _kernel(task: Task) -> str | None:
    """The task's kernel, or the default kernel if it names none."""
    if task.engine != "kernel" or task.kernel:
        return task.kernel
    try:
        engine = _engine(task.engine, task.kernel)
    except DumbbellError:
        return None
    return str(engine.kernel.name) if isinstance(engine, KernelEngine) else None


def _without_paths(error: Exception, base: Base, tmp_dir: Path | None, keep: Path | None) -> str:
    """An error's text without this host's folders, so that the table is the same on every host."""
    text = f"{type(error).__name__}: {error}"
    folders = [keep and keep.parent, tmp_dir or Path(tempfile.gettempdir()), base.file.parent]
    for folder in folders:
        text = text.replace(f"{folder}/", "") if folder else text
    return re.sub(rf"{_NOWHERE}[a-z0-9_]{{8}}/", "", text)


_NOWHERE = "run-"
"""Prefix of temporary folders."""
