"""Which runs are due: the grid first, then what adaptive repeats and refined grids add, round by round.

A pure function of the sweep and of the rows of all rounds before, in any order, so that a sweep that was cut off goes
on as if it had not been. When a point is known well enough is `repeats`'s, where new ones go `finer`'s.
"""

from collections.abc import Sequence

from dumbbell.spec.axes import Point
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.finer import next_points
from dumbbell.sweeps.repeats import Standing, first_runs, runs_wanted, seeds_of, standing
from dumbbell.sweeps.sample import Sample, sample_of
from dumbbell.sweeps.task import Row, Task, tasks_at

__all__ = ["next_round", "standings"]


def next_round(sweep: Sweep, rows: Sequence[Row]) -> list[Task]:
    """The tasks of the next round, given every row of all rounds before; none when the sweep is done."""
    if not rows:
        return [task for point in sweep.each_point() for task in _first(sweep, point)]
    if sweep.until is None and sweep.refine is None:
        return []
    points = _by_point(rows)
    return _repeats(sweep, points) or _refined(sweep, points)


def standings(sweep: Sweep, rows: Sequence[Row]) -> dict[int, Standing]:
    """How well each point is known, by number; nothing where nobody asked."""
    if sweep.until is None:
        return {}
    return {number: standing(sweep.until, sample_of(of, sweep.until.metric)) for number, of in _by_point(rows).items()}


def _first(sweep: Sweep, point: Point) -> list[Task]:
    return tasks_at(sweep, point, seeds_of(sweep, first_runs(sweep)))


def _repeats(sweep: Sweep, points: dict[int, list[Row]]) -> list[Task]:
    """More runs of the points that are not known well enough."""
    due: list[Task] = []
    if sweep.until is None:
        return due
    for number, rows in points.items():
        wanted = runs_wanted(sweep.until, sample_of(rows, sweep.until.metric))
        if wanted > len(rows):
            due += tasks_at(sweep, Point(number, rows[0].values), seeds_of(sweep, wanted)[len(rows) :])
    return due


def _refined(sweep: Sweep, points: dict[int, list[Row]]) -> list[Task]:
    """The first runs of new points, when those of before are known."""
    if sweep.refine is None:
        return []
    samples: dict[int, Sample] = {number: sample_of(rows, sweep.refine.metric) for number, rows in points.items()}
    return [task for point in next_points(sweep, samples) for task in _first(sweep, point)]


def _by_point(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """The rows of each point, in the order of their numbers."""
    points: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.point, row.seed)):
        points.setdefault(row.point, []).append(row)
    return points
