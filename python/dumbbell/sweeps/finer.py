"""Adaptive grids: new points where a metric's mean changes most, between those that there are.

The first grid's levels along one or two axes make boxes (intervals, rectangles), for each setting of the other axes. A
box is halved along an axis across which its corners differ; its weight is the largest difference times its share of the
grid, on the axes' scales: how much of the picture is in doubt. Where the metric is known on one side and not on the
other (no cycle was found, no transfer ended), the difference is as large as any in the whole grid. Each round halves
the boxes whose weight is at least half of the largest, the heaviest first, as long as points are left.

All of it follows from the means of the points so far, replayed round by round: what was cut off goes on the same.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dumbbell.spec.axes import Axis, Point, between, written
from dumbbell.spec.sweep import Refine, Sweep
from dumbbell.sweeps.sample import Sample, apart, part_ways

__all__ = ["next_points"]

DEEPEST = 10
"""Halvings of a box of the first grid: a step needs no more than a thousandth of it."""
ROUNDING = 0.01
"""Values have four digits, so halves are not exact."""
NEAR = 0.5
"""Of the heaviest: boxes of this weight are halved in the same round, so that a round keeps all workers busy."""

Place = tuple[float, ...]
"""Of a point, a number for each axis that is refined."""


@dataclass(frozen=True)
class _Side:
    """A box along one axis."""

    low: float
    high: float
    depth: int = 0


_Box = tuple[_Side, ...]


@dataclass
class _Part:
    """The points and boxes of one setting of the other axes."""

    others: Mapping[str, object]
    known: dict[Place, Sample] = field(default_factory=dict)
    boxes: dict[_Box, None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Cut:
    """A box that may be halved."""

    weight: float
    part: int
    box: _Box
    along: tuple[int, ...]


def next_points(sweep: Sweep, samples: Mapping[int, Sample]) -> list[Point]:
    """The points of the next round, given what is known of every point so far; none when the grid is fine enough."""
    assert sweep.refine is not None
    lattice = _Lattice(sweep, sweep.refine)
    number = lattice.begin(samples)
    while cuts := lattice.cuts(sweep.refine.most - number):
        new = list(lattice.halve(cuts, number))
        if any(point.number not in samples for point, _, _ in new):
            return [point for point, _, _ in new]
        for point, part, place in new:
            part.known[place] = samples[point.number]
        number += len(new)
    return []


class _Lattice:
    """All parts of a sweep's grid, as they are after some rounds."""

    def __init__(self, sweep: Sweep, refine: Refine) -> None:
        self.sweep, self.refine = sweep, refine
        named = {each.key: each for each in sweep.every_axis}
        self.axes: list[Axis] = [named[key] for key in refine.axes]
        self.parts: list[_Part] = []
        self.values = [dict(zip(each.numbers or (), each.values, strict=True)) for each in self.axes]
        self.middles: list[dict[tuple[float, float], float | None]] = [{} for _ in self.axes]
        self.edge = 0.0
        """What it counts for that a metric is known on one side only."""
        self.spans = [_length(each, min(each.numbers or ()), max(each.numbers or ())) for each in self.axes]

    def begin(self, samples: Mapping[int, Sample]) -> int:
        """Takes in the first grid; how many points it has."""
        parts: dict[tuple[object, ...], _Part] = {}
        for point in self.sweep.each_point():
            others = {key: value for key, value in point.values.items() if key not in self.refine.axes}
            part = parts.setdefault(tuple(written(value) for value in others.values()), _Part(others))
            part.known[tuple(each.number(point.values[each.key]) for each in self.axes)] = samples[point.number]
        self.parts = list(parts.values())
        sides = [_sides(sorted(each.numbers or ())) for each in self.axes]
        for part in self.parts:
            part.boxes = dict.fromkeys(itertools.product(*sides))
        return self.sweep.counted.least

    def cuts(self, budget: int) -> list[_Cut]:
        """The boxes to halve in this round, together at most so many points."""
        means = [sample.mean for part in self.parts for sample in part.known.values() if sample.count]
        # Above `change` always, and comparable with what differs elsewhere, so that one edge doesn't take every point.
        self.edge = max(max(means) - min(means), 2 * self.refine.change) or 1.0 if means else 0.0
        found = [cut for at, part in enumerate(self.parts) for box in part.boxes if (cut := self._cut(at, part, box))]
        found.sort(key=lambda cut: (-cut.weight, cut.part, [(side.low, side.high) for side in cut.box]))
        chosen: list[_Cut] = []
        planned = set[tuple[int, Place]]()
        for cut in found:
            if chosen and cut.weight < NEAR * chosen[0].weight:
                break
            needs = {(cut.part, place) for place in self._places(cut) if place not in self.parts[cut.part].known}
            if len(planned | needs) <= budget:
                chosen.append(cut)
                planned |= needs
        return chosen

    def halve(self, cuts: Sequence[_Cut], number: int) -> Iterator[tuple[Point, _Part, Place]]:
        """Replaces boxes by their halves; the points that this needs, with their numbers."""
        due = set[tuple[int, Place]]()
        for cut in cuts:
            part = self.parts[cut.part]
            due |= {(cut.part, place) for place in self._places(cut) if place not in part.known}
            del part.boxes[cut.box]
            part.boxes |= dict.fromkeys(
                itertools.product(*(self._halves(at, side, cut) for at, side in enumerate(cut.box)))
            )
        for at, (part_at, place) in enumerate(sorted(due)):
            part = self.parts[part_at]
            refined = {axis.key: self.values[n][place[n]] for n, axis in enumerate(self.axes)}
            everything = {**part.others, **refined}
            yield Point(number + at, {axis.key: everything[axis.key] for axis in self.sweep.every_axis}), part, place

    def _cut(self, at: int, part: _Part, box: _Box) -> _Cut | None:
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

    def _change(self, part: _Part, box: _Box, along: int) -> float:
        """The largest difference between neighbours along an axis, on the box's corners and what is known between."""
        levels = [self._levels(at, side) for at, side in enumerate(box)]
        largest = 0.0
        for across in itertools.product(*(each for at, each in enumerate(levels) if at != along)):
            places = ((*across[:along], level, *across[along:]) for level in levels[along])
            line = [part.known[place] for place in places if place in part.known]
            largest = max([largest, *(self._apart(*pair) for pair in itertools.pairwise(line))])
        return largest

    def _apart(self, first: Sample, second: Sample) -> float:
        distance = apart(first, second)
        if distance is None:
            return self.edge if part_ways(first, second) else 0.0
        return distance

    def _levels(self, along: int, side: _Side) -> list[float]:
        middle = self._middle(along, side)
        return sorted({side.low, side.high} | ({middle} if middle is not None else set()))

    def _middle(self, along: int, side: _Side) -> float | None:
        """The number half-way, where there is one; its value is remembered."""
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

    def _places(self, cut: _Cut) -> Iterator[Place]:
        """Of the corners of a box's halves."""
        return itertools.product(
            *(
                self._levels(at, side) if at in cut.along else sorted({side.low, side.high})
                for at, side in enumerate(cut.box)
            )
        )

    def _halves(self, along: int, side: _Side, cut: _Cut) -> list[_Side]:
        middle = self._middle(along, side)
        if along not in cut.along or middle is None:
            return [side]
        return [_Side(side.low, middle, side.depth + 1), _Side(middle, side.high, side.depth + 1)]


def _sides(levels: Sequence[float]) -> list[_Side]:
    return [_Side(low, high) for low, high in itertools.pairwise(levels)] or [_Side(levels[0], levels[0])]


def _length(axis: Axis, low: float, high: float) -> float:
    """On the axis's scale."""
    return math.log(high / low) if axis.scale == "log" else high - low
