"""Determine the pending runs: first the grid, then the runs that adaptive repeats and refinement add, per round.

A pure function of the sweep and the rows of earlier rounds, in any order, so that a resumed sweep gives the same
result. `repeats` decides when a point is precise enough, `refinement` where to add points.
"""

from collections.abc import Sequence

from dumbbell.spec.axes import Point
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.refinement import next_points
from dumbbell.sweeps.repeats import PointPrecision, first_runs, precision_of, runs_needed, seeds_of
from dumbbell.sweeps.sample import Sample, sample_of
from dumbbell.sweeps.task import Row, Task, tasks_at

__all__ = ["next_round", "precisions"]


def next_round(sweep: Sweep, rows: Sequence[Row]) -> list[Task]:
    """The tasks of the next round, given all rows of earlier rounds; empty when the sweep is complete."""
    if not rows:
        return [task for point in sweep.each_point() for task in _first(sweep, point)]
    if sweep.until is None and sweep.refine is None:
        return []
    points = _by_point(rows)
    return _repeats(sweep, points) or _refined(sweep, points)


def precisions(sweep: Sweep, rows: Sequence[Row]) -> dict[int, PointPrecision]:
    """The precision of each point, by number; empty without `[until]`."""
    if sweep.until is None:
        return {}
    return {
        number: precision_of(sweep.until, sample_of(of, sweep.until.metric)) for number, of in _by_point(rows).items()
    }


def _first(sweep: Sweep, point: Point) -> list[Task]:
    return tasks_at(sweep, point, seeds_of(sweep, first_runs(sweep)))


def _repeats(sweep: Sweep, points: dict[int, list[Row]]) -> list[Task]:
    """More runs of the points that are not precise enough."""
    tasks: list[Task] = []
    if sweep.until is None:
        return tasks
    for number, rows in points.items():
        runs = runs_needed(sweep.until, sample_of(rows, sweep.until.metric))
        if runs > len(rows):
            tasks += tasks_at(sweep, Point(number, rows[0].values), seeds_of(sweep, runs)[len(rows) :])
    return tasks


def _refined(sweep: Sweep, points: dict[int, list[Row]]) -> list[Task]:
    """The first runs of new points, once the existing points are complete."""
    if sweep.refine is None:
        return []
    samples: dict[int, Sample] = {number: sample_of(rows, sweep.refine.metric) for number, rows in points.items()}
    return [task for point in next_points(sweep, samples) for task in _first(sweep, point)]


def _by_point(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """The rows of each point, by point number."""
    points: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.point, row.seed)):
        points.setdefault(row.point, []).append(row)
    return points
