"""Run a sweep on this host round by round, from the work directory to the final table.

A `Store` keeps the rows: in memory, or in a `workdir.Journal`, from which an interrupted sweep resumes. `pool` is the
default executor, `workdir` keeps the folder.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dumbbell.engines.base import NOTHING, Permissions, runs_folder
from dumbbell.errors import ExitStatus, OutputError
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.checks import check, check_metrics, engines_of
from dumbbell.sweeps.folder import manifest_of, table_of
from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.refinement import next_round, precisions
from dumbbell.sweeps.task import Base, Row, Task, base_of
from dumbbell.sweeps.task_runner import Cache, cache_file, run_task
from dumbbell.sweeps.workdir import WorkDir, opened

__all__ = [
    "Done",
    "Executor",
    "ExecutorFactory",
    "InProcessExecutor",
    "NoProgress",
    "ProgressListener",
    "Store",
    "SweepRequest",
    "carry_out",
    "default_folder",
    "run_rounds",
    "run_sweep",
]


class Executor(Protocol):
    """Executes tasks: in local processes, or on a cluster's workers."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """A row for every task, in order of completion."""
        ...


class Store(Protocol):
    """Stores rows, one per point and seed."""

    def add(self, row: Row) -> None:
        """Store a row."""
        ...

    def rows(self) -> Sequence[Row]:
        """All rows, sorted by point and seed."""
        ...

    def known(self) -> set[tuple[int, int]]:
        """Point and seed of every row."""
        ...


class InProcessExecutor:
    """Runs tasks one after the other in this process."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """See `Executor`."""
        for task in tasks:
            yield run_task(base, task, lambda: None)


class _Memory:
    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], Row] = {}

    def add(self, row: Row) -> None:
        self._rows[row.point, row.seed] = row

    def rows(self) -> list[Row]:
        return [self._rows[key] for key in sorted(self._rows)]

    def known(self) -> set[tuple[int, int]]:
        return set(self._rows)


def run_sweep(sweep: Sweep, executor: Executor, on_row: Callable[[Row], None]) -> list[Row]:
    """Run the whole sweep in memory; `on_row` is called with each row."""
    store = _Memory()
    run_rounds(sweep, base_of(sweep), executor, store, on_row, lambda _runs, _done: None)
    return store.rows()


def run_rounds(
    sweep: Sweep,
    base: Base,
    executor: Executor,
    store: Store,
    on_row: Callable[[Row], None],
    on_round: Callable[[int, int], None],
) -> None:
    """Run rounds until no task is pending; rows that the store has are not run again.

    `on_round` is called before each round with its number of runs and how many of them are done. The next round depends
    only on the rows of earlier rounds, so a resumed sweep has the same rounds.
    """
    begun: set[tuple[int, int]] = set()
    kept = store.known()
    while tasks := next_round(sweep, _before(store, begun)):
        begun |= {(task.point, task.seed) for task in tasks}
        pending = [task for task in tasks if (task.point, task.seed) not in kept]
        on_round(len(tasks), len(tasks) - len(pending))
        for row in executor.rows(base, pending):
            store.add(row)
            on_row(row)
        if sweep.until is None and sweep.refine is None and sweep.search is None:
            return  # A grid has one round; reading all rows back would cost time.
        kept = store.known()


def _before(store: Store, begun: set[tuple[int, int]]) -> list[Row]:
    return [row for row in store.rows() if (row.point, row.seed) in begun] if begun else []


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

    @property
    def status(self) -> ExitStatus:
        """Of the worst run."""
        if self.counts.get("failed", 0):
            return ExitStatus.FAILED
        return ExitStatus.of(valid=self.is_good, positive=True)


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
