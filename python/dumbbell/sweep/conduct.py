"""Carries a sweep out, round by round: what is due, who does it, what becomes of the rows."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from dumbbell.spec.sweep import Sweep
from dumbbell.sweep.due import next_round
from dumbbell.sweep.task import Base, Row, Task, base_of
from dumbbell.sweep.work import carried_out

__all__ = ["Crew", "Here", "conduct"]


class Crew(Protocol):
    """Those who carry tasks out: processes here, or workers on a cluster."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """A row for every task, in the order in which they are done."""
        ...


class Here:
    """One task after the other, in this process."""

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        """See `Crew`."""
        for task in tasks:
            yield carried_out(base, task, lambda: None)


def conduct(sweep: Sweep, crew: Crew, told: Callable[[Row], None]) -> list[Row]:
    """Every run of the sweep; `told` hears of each row as it comes."""
    base, rows = base_of(sweep), list[Row]()
    while due := next_round(sweep, rows):
        for row in crew.rows(base, due):
            told(row)
            rows.append(row)
    return rows
