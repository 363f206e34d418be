"""Carries a sweep out, round by round: what is due, who does it, what becomes of the rows.

Where rows are kept is a `Store`'s affair: in memory here, or in a `journal`, from which a sweep that was cut off goes
on. A sweep with its folder, cache and processes is `whole`'s.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.due import next_round
from dumbbell.sweeps.task import Base, Row, Task, base_of
from dumbbell.sweeps.work import carried_out

__all__ = ["Crew", "Here", "Store", "conduct", "rounds"]


class Crew(Protocol):
    """Those who carry tasks out: processes here, or workers on a cluster."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """A row for every task, in the order in which they are done."""
        ...


class Store(Protocol):
    """Where rows are kept; by point and seed, each of which has one."""

    def add(self, row: Row) -> None:
        """Keep a row."""
        ...

    def rows(self) -> Sequence[Row]:
        """All of them, by point and seed."""
        ...

    def known(self) -> set[tuple[int, int]]:
        """Point and seed of each."""
        ...


class Here:
    """One task after the other, in this process."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """See `Crew`."""
        for task in tasks:
            yield carried_out(base, task, lambda: None)


class _Memory:
    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], Row] = {}

    def add(self, row: Row) -> None:
        self._rows[row.point, row.seed] = row

    def rows(self) -> list[Row]:
        return [self._rows[place] for place in sorted(self._rows)]

    def known(self) -> set[tuple[int, int]]:
        return set(self._rows)


def conduct(sweep: Sweep, crew: Crew, told: Callable[[Row], None]) -> list[Row]:
    """Every run of the sweep; `told` hears of each row as it comes."""
    store = _Memory()
    rounds(sweep, base_of(sweep), crew, store, told, lambda _due, _done: None)
    return store.rows()


def rounds(
    sweep: Sweep, base: Base, crew: Crew, store: Store, told: Callable[[Row], None], due: Callable[[int, int], None]
) -> None:
    """Round after round until nothing is due; what the store knows already is not run again.

    Before each round `due` hears how many runs it has, and how many of those are done. Which round comes next is asked
    with the rows of all rounds before and no other: a sweep that was cut off comes through the same ones.
    """
    begun: set[tuple[int, int]] = set()
    kept = store.known()
    while tasks := next_round(sweep, _before(store, begun)):
        begun |= {(task.point, task.seed) for task in tasks}
        wanted = [task for task in tasks if (task.point, task.seed) not in kept]
        due(len(tasks), len(tasks) - len(wanted))
        for row in crew.rows(base, wanted):
            store.add(row)
            told(row)
        if sweep.until is None and sweep.refine is None:
            return  # A grid has one round: no need to read every row again.
        kept = store.known()


def _before(store: Store, begun: set[tuple[int, int]]) -> list[Row]:
    return [row for row in store.rows() if (row.point, row.seed) in begun] if begun else []
