"""Run a sweep round by round: determine pending tasks, execute them, store the rows.

A `Store` keeps the rows: in memory here, or in a `journal`, from which an interrupted sweep resumes. `runner` adds the
folder, the cache and worker processes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.pending import next_round
from dumbbell.sweeps.task import Base, Row, Task, base_of
from dumbbell.sweeps.task_runner import run_task

__all__ = ["Executor", "InProcessExecutor", "Store", "run_rounds", "run_sweep"]


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
        if sweep.until is None and sweep.refine is None:
            return  # A grid has one round; reading all rows back would cost time.
        kept = store.known()


def _before(store: Store, begun: set[tuple[int, int]]) -> list[Row]:
    return [row for row in store.rows() if (row.point, row.seed) in begun] if begun else []
