"""Pending runs: the grid, repeats, and points where a metric's mean changes most.

The first grid's levels along one or two axes form boxes (intervals or rectangles), for each setting of the other axes.
A box is halved along an axis across which its corners differ. Its weight is the largest difference times its share of
the grid, on the axes' scales. If only one corner has the metric (no cycle found, no transfer completed), the difference
counts as the largest in the whole grid. Each round halves the boxes whose weight is at least half of the largest,
heaviest first, while points remain.

A pure function of the sweep and the rows of earlier rounds, in any order, so that a resumed sweep gives the same
result. `repeats` decides when a point is precise enough.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dumbbell.spec.axes import Axis, Point, between, written
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.repeats import (
    PointPrecision,
    Sample,
    apart,
    first_runs,
    only_one_known,
    precision_of,
    runs_needed,
    sample_of,
    seeds_of,
)
from dumbbell.sweeps.task import Row, Task, tasks_at
from dumbbell.sweeps.trials import next_trials

if TYPE_CHECKING:
    from dumbbell.spec.keys import Refine

__all__ = ["next_points", "next_round", "precisions"]


DEEPEST = 10
"""Maximum halvings of a box of the first grid; they reach a thousandth of its width."""
ROUNDING = 0.01
"""Tolerance: values have four digits, so halves are not exact."""
NEAR = 0.5
"""Share of the largest weight: boxes above it are halved in the same round, which keeps all workers busy."""

Position = tuple[float, ...]
"""A point's value on each refined axis."""


@dataclass(frozen=True)
class _AxisEnd:
    """A box along one axis."""

    low: float
    high: float
    depth: int = 0


_Box = tuple[_AxisEnd, ...]


@dataclass
class _Cell:
    """The points and boxes for one setting of the axes that are not refined."""

    others: Mapping[str, object]
    known: dict[Position, Sample] = field(default_factory=dict)
    boxes: dict[_Box, None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Cut:
    """A box to halve, and along which axes."""

    weight: float
    part: int
    box: _Box
    along: tuple[int, ...]


def next_points(sweep: Sweep, samples: Mapping[int, Sample]) -> list[Point]:
    """The points of the next round, given the samples so far; empty when the grid is fine enough."""
    assert sweep.refine is not None
    lattice = _Lattice(sweep, sweep.refine)
    number = lattice.begin(samples)
    while cuts := lattice.cuts(sweep.refine.most - number):
        new = list(lattice.halve(cuts, number))
        if any(point.number not in samples for point, _, _ in new):
            return [point for point, _, _ in new]
        for point, part, position in new:
            part.known[position] = samples[point.number]
        number += len(new)
    return []


class _Lattice:
    """The state of all parts of the grid after some rounds."""

    def __init__(self, sweep: Sweep, refine: "Refine") -> None:
        self.sweep, self.refine = sweep, refine
        named = {each.key: each for each in sweep.every_axis}
        self.axes: list[Axis] = [named[key] for key in refine.axes]
        self.parts: list[_Cell] = []
        self.values = [dict(zip(each.numbers or (), each.values, strict=True)) for each in self.axes]
        self.middles: list[dict[tuple[float, float], float | None]] = [{} for _ in self.axes]
        self.edge = 0.0
        """The difference assigned if only one of two neighbours has the metric."""
        self.spans = [_length(each, min(each.numbers or ()), max(each.numbers or ())) for each in self.axes]

    def begin(self, samples: Mapping[int, Sample]) -> int:
        """Add the first grid; returns its number of points."""
        parts: dict[tuple[object, ...], _Cell] = {}
        for point in self.sweep.each_point():
            others = {key: value for key, value in point.values.items() if key not in self.refine.axes}
            part = parts.setdefault(tuple(written(value) for value in others.values()), _Cell(others))
            part.known[tuple(each.number(point.values[each.key]) for each in self.axes)] = samples[point.number]
        self.parts = list(parts.values())
        sides = [_axis_ends(sorted(each.numbers or ())) for each in self.axes]
        for part in self.parts:
            part.boxes = dict.fromkeys(itertools.product(*sides))
        return self.sweep.counted.least

    def cuts(self, budget: int) -> list[_Cut]:
        """The boxes to halve in this round, adding at most `budget` points."""
        means = [sample.mean for part in self.parts for sample in part.known.values() if sample.count]
        # Always above `change`, and of the order of other differences, so that one edge doesn't consume all points.
        self.edge = max(max(means) - min(means), 2 * self.refine.change) or 1.0 if means else 0.0
        found = [cut for at, part in enumerate(self.parts) for box in part.boxes if (cut := self._cut(at, part, box))]
        found.sort(key=lambda cut: (-cut.weight, cut.part, [(side.low, side.high) for side in cut.box]))
        chosen: list[_Cut] = []
        planned = set[tuple[int, Position]]()
        for cut in found:
            if chosen and cut.weight < NEAR * chosen[0].weight:
                break
            needs = {
                (cut.part, position) for position in self._positions(cut) if position not in self.parts[cut.part].known
            }
            if len(planned | needs) <= budget:
                chosen.append(cut)
                planned |= needs
        return chosen

    def halve(self, cuts: Sequence[_Cut], number: int) -> Iterator[tuple[Point, _Cell, Position]]:
        """Replace boxes by their halves; yields the new points."""
        new = set[tuple[int, Position]]()
        for cut in cuts:
            part = self.parts[cut.part]
            new |= {(cut.part, position) for position in self._positions(cut) if position not in part.known}
            del part.boxes[cut.box]
            part.boxes |= dict.fromkeys(
                itertools.product(*(self._halves(at, side, cut) for at, side in enumerate(cut.box)))
            )
        for at, (part_at, position) in enumerate(sorted(new)):
            part = self.parts[part_at]
            refined = {axis.key: self.values[n][position[n]] for n, axis in enumerate(self.axes)}
            everything = {**part.others, **refined}
            yield Point(number + at, {axis.key: everything[axis.key] for axis in self.sweep.every_axis}), part, position

    def _cut(self, at: int, part: _Cell, box: _Box) -> _Cut | None:
        changes = [self._change(part, box, along) for along in range(len(box))]
        open_to = [
            along
            for along, change in enumerate(changes)
            if change > self.refine.change
            and change >= NEAR * max(changes)
            and self._middle(along, box[along]) is not None
        ]
        if not open_to:
            return None
        size = math.prod(
            _length(axis, side.low, side.high) / span if span else 1.0
            for axis, side, span in zip(self.axes, box, self.spans, strict=True)
        )
        return _Cut(max(changes[along] for along in open_to) * size, at, box, tuple(open_to))

    def _change(self, part: _Cell, box: _Box, along: int) -> float:
        """The largest difference between neighbours along an axis, over the box's corners and known points between."""
        levels = [self._levels(at, side) for at, side in enumerate(box)]
        largest = 0.0
        for across in itertools.product(*(each for at, each in enumerate(levels) if at != along)):
            positions = ((*across[:along], level, *across[along:]) for level in levels[along])
            line = [part.known[position] for position in positions if position in part.known]
            largest = max([largest, *(self._apart(*pair) for pair in itertools.pairwise(line))])
        return largest

    def _apart(self, first: Sample, second: Sample) -> float:
        distance = apart(first, second)
        if distance is None:
            return self.edge if only_one_known(first, second) else 0.0
        return distance

    def _levels(self, along: int, side: _AxisEnd) -> list[float]:
        middle = self._middle(along, side)
        return sorted({side.low, side.high} | ({middle} if middle is not None else set()))

    def _middle(self, along: int, side: _AxisEnd) -> float | None:
        """The midpoint of a side, if it can be halved; records its value."""
        if side.depth >= DEEPEST or side.low == side.high:
            return None
        span = self.spans[along]
        if _length(self.axes[along], side.low, side.high) < 2 * self.refine.finest * span * (1 - ROUNDING):
            return None
        ends = (side.low, side.high)
        if ends not in self.middles[along]:
            value, number = between(self.axes[along], *ends) or (None, None)
            self.middles[along][ends] = number
            if number is not None:
                self.values[along].setdefault(number, value)
        return self.middles[along][ends]

    def _positions(self, cut: _Cut) -> Iterator[Position]:
        """The corners of a box's halves."""
        return itertools.product(
            *(
                self._levels(at, side) if at in cut.along else sorted({side.low, side.high})
                for at, side in enumerate(cut.box)
            )
        )

    def _halves(self, along: int, side: _AxisEnd, cut: _Cut) -> list[_AxisEnd]:
        middle = self._middle(along, side)
        if along not in cut.along or middle is None:
            return [side]
        return [_AxisEnd(side.low, middle, side.depth + 1), _AxisEnd(middle, side.high, side.depth + 1)]


def _axis_ends(levels: Sequence[float]) -> list[_AxisEnd]:
    return [_AxisEnd(low, high) for low, high in itertools.pairwise(levels)] or [_AxisEnd(levels[0], levels[0])]


def _length(axis: Axis, low: float, high: float) -> float:
    """Length on the axis's scale."""
    return math.log(high / low) if axis.scale == "log" else high - low


def next_round(sweep: Sweep, rows: Sequence[Row]) -> list[Task]:
    """The tasks of the next round, given all rows of earlier rounds; empty when the sweep is complete."""
    if sweep.search is not None:
        return next_trials(sweep, rows)
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
