"""Run a sweep on this host: work directory, journal, cache and executor, up to the final table.

`scheduler` runs the rounds, `pool` is the default executor, `workdir` keeps the folder.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dumbbell.engines.permissions import NOTHING, Permissions
from dumbbell.engines.requests import runs_folder
from dumbbell.errors import OutputError
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.cache import Cache, cache_file
from dumbbell.sweeps.manifest import manifest_of
from dumbbell.sweeps.metric_names import check_metrics
from dumbbell.sweeps.pending import precisions
from dumbbell.sweeps.plan_check import check, engines_of
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.scheduler import Executor, run_rounds
from dumbbell.sweeps.table import table_of
from dumbbell.sweeps.task import Base, Row, base_of
from dumbbell.sweeps.workdir import WorkDir, opened

__all__ = ["Done", "ExecutorFactory", "NoProgress", "ProgressListener", "SweepRequest", "carry_out", "default_folder"]

ExecutorFactory = Callable[[WorkDir, Cache | None], AbstractContextManager[Executor]]


@dataclass(frozen=True)
class SweepRequest:
    """A sweep and the options of its run."""

    sweep: Sweep
    out: Path
    resume: bool = False
    jobs: int | None = None
    use_cache: bool = True
    settings: Sequence[str] = ()
    """Arguments of `--set`."""
    executor: ExecutorFactory | None = None
    """Replaces this host's worker processes."""
    allowed: Permissions = NOTHING
    """Engines, kernels and hosts that the user, not the sweep's file, permits."""
    engine: str | None = None
    """The argument of `--engine`."""

    @property
    def options(self) -> list[str]:
        """The command-line options that determine what runs."""
        options = [option for setting in self.settings for option in ("--set", setting)]
        options += ["--engine", self.engine] if self.engine else []
        return options + (["--hosts", ",".join(self.allowed.hosts)] if self.allowed.hosts else [])


@dataclass(frozen=True)
class Done:
    """The outcome of a sweep."""

    folder: Path
    counts: dict[str, int]
    """Rows by status."""
    cached: int
    """Rows taken from the cache in this invocation."""
    was_finished: bool
    wall_s: float
    cache_error: str | None
    """The error that disabled the cache, if any."""
    unmet: tuple[str, ...] = ()
    """The points that miss the precision of `[until]`, each with the reason."""

    @property
    def runs(self) -> int:
        """Rows of the table."""
        return sum(self.counts.values())

    @property
    def is_good(self) -> bool:
        """Is every run valid?"""
        return self.counts.get("ok", 0) == self.runs


class ProgressListener(Protocol):
    """Gets progress events."""

    def add_pending(self, runs: int, done: int) -> None:
        """A round starts; `done` of its `runs` are complete."""
        ...

    def row(self, row: Row) -> None:
        """A run has completed."""
        ...


class NoProgress:
    """Ignores progress events."""

    def add_pending(self, runs: int, done: int) -> None:
        """See `ProgressListener`."""

    def row(self, row: Row) -> None:
        """See `ProgressListener`."""


def default_folder(sweep: Sweep) -> Path:
    """The default output folder, fixed per sweep so that `--resume` finds it. Raises `OutputError`."""
    return runs_folder() / f"sweep-{sweep.name}"


def carry_out(request: SweepRequest, listener: ProgressListener) -> Done:
    """Run or resume a sweep and write its table.

    Raises `ExperimentError` for errors found before the first run, and `OutputError` if the folder can't be used or the
    disk is full; completed rows stay.
    """
    began, sweep = time.monotonic(), request.sweep
    check(sweep, request.allowed)
    check_metrics(sweep)
    engines = engines_of(sweep, request.allowed)
    with opened(sweep, request.out, engines, resume=request.resume) as workdir:
        if workdir.is_done:
            counts, unmet = workdir.journal.counts(), _unmet(sweep, workdir.journal.rows())
            return Done(workdir.folder, counts, 0, True, time.monotonic() - began, None, unmet)
        counted = _CacheCounter(listener)
        try:
            cache_error = _run(request, workdir, counted)
            rows, counts = workdir.journal.rows(), workdir.journal.counts()
            unmet = _unmet(sweep, rows)
            workdir.publish(table_of(rows, sweep.every_axis), manifest_of(sweep, request.options, engines, counts))
        except OutputError as error:
            raise OutputError(f"{error}; completed rows are kept; continue with --resume") from error
    return Done(workdir.folder, counts, counted.cached, False, time.monotonic() - began, cache_error, unmet)


def _unmet(sweep: Sweep, rows: Sequence[Row]) -> tuple[str, ...]:
    if sweep.until is None:
        return ()
    values = {row.point: row.values for row in rows}
    found = {point: each for point, each in precisions(sweep, rows).items() if each.state != "met"}
    return tuple(
        f"{', '.join(f'{key} = {value}' for key, value in values[point].items())}: {each.shortfall(sweep.until)}"
        for point, each in found.items()
    )


def _run(request: SweepRequest, workdir: WorkDir, counted: "_CacheCounter") -> str | None:
    """Run all rounds; returns the error that disabled the cache, if any."""
    base: Base = replace(base_of(request.sweep, request.allowed), file=workdir.experiment)
    with ExitStack() as stack:
        cache = stack.enter_context(Cache(cache_file())) if request.use_cache else None
        executor_for = request.executor or _local(request)
        executor = stack.enter_context(executor_for(workdir, cache))
        run_rounds(request.sweep, base, executor, workdir.journal, counted.row, counted.add_pending)
    return cache.cache_error if cache else None


def _local(request: SweepRequest) -> ExecutorFactory:
    def executor(workdir: WorkDir, cache: Cache | None) -> Local:
        return Local(request.jobs, workdir.tmp_dir, workdir.kept if request.sweep.keep == "runs" else None, cache)

    return executor


class _CacheCounter:
    """Forwards progress events and counts cached rows."""

    def __init__(self, listener: ProgressListener) -> None:
        self.cached = 0
        self.add_pending = listener.add_pending
        self._row = listener.row

    def row(self, row: Row) -> None:
        self.cached += row.cached
        self._row(row)
