"""Where cells lie on a map: steps along an axis, edges between them, and what is painted where nothing was measured.

Every distinct value of an axis is a step; edges lie half-way between neighbours, on the axis's own scale. A refined
grid has points at some crossings only: any other takes the colour of the nearest measured point (a Voronoi diagram,
rounded to the lattice), because that claims no more than was measured: no blend of points that differ, and a jump
where it may be anywhere between two. How it is drawn is `maps`'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.plot.save import script_json
from dumbbell.spec.axes import Axis, Scale

__all__ = ["Rect", "Steps", "key_among", "painted", "step_of", "steps", "title_of"]

Floats = npt.NDArray[np.float64]
ALONE = 0.5
"""Half the height of a cell that has no neighbour: of 1 on a linear axis, of a factor of ten on a log one."""
APART = 1e6
"""Between neighbouring names, so that no cell is painted as one of another name."""
LABEL_PX = 6.2
"""A character of 11 px, about."""


@dataclass(frozen=True)
class Steps:
    """One axis of a map."""

    shape: Axis
    labels: tuple[str, ...]
    """As written, in order."""
    numbers: tuple[float, ...]
    scale: Scale

    @property
    def places(self) -> Floats:
        """Where the steps lie, on a scale on which they are drawn evenly."""
        numbers = np.asarray(self.numbers, dtype=np.float64)
        return np.log10(numbers) if self.scale == "log" else numbers

    @property
    def edges(self) -> Floats:
        """One more than steps: half-way between neighbours, and as far beyond the ends."""
        places = self.places
        if len(places) == 1:
            return np.array([places[0] - ALONE, places[0] + ALONE])
        middles = (places[1:] + places[:-1]) / 2
        return np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])

    def back(self, place: float) -> float:
        """A place as the axis's own number."""
        return float(10**place) if self.scale == "log" else float(place)

    def pixels(self, step: int, length: float) -> float:
        """How long a step's side is on an axis of so many pixels."""
        edges = self.edges
        return float((edges[step + 1] - edges[step]) / (edges[-1] - edges[0]) * length)

    def encoding(self, kind: type[alt.X] | type[alt.Y], field: str, length: float) -> Any:
        """The axis, labelled at its steps, as far as they have room."""
        edges = self.edges
        domain = [self.back(edges[0]), self.back(edges[-1])]
        scale = alt.Scale(type="log" if self.scale == "log" else "linear", domain=domain, nice=False)
        if self.scale != "log":  # Vega complains of it on a logarithmic one.
            scale.zero = False
        across = kind is alt.X
        ticks = self._ticks(length, across=across)
        # Vega thins given values too, to the count that the style names.
        axis = alt.Axis(values=ticks, tickCount=len(ticks) + 1, grid=False, labelOverlap="greedy", ticks=True)
        if self.scale == "category":
            axis.labelExpr = f"{script_json(list(self.labels))}[datum.value]"
            axis.labelLimit = 200
            crowded = across and sum(len(label) for label in self.labels) * LABEL_PX > length
            axis.labelAngle = -35 if crowded else 0
        else:
            axis.format = "~g" if max(map(abs, self.numbers)) < 1e5 else "~s"
        return kind(f"{field}:Q", title=title_of(self.shape), scale=scale, axis=axis)

    def _ticks(self, length: float, *, across: bool) -> list[float]:
        """The steps that have room for a label, from the first."""
        edges, shown, last = self.edges, [], -np.inf
        for number, place, label in zip(self.numbers, self.places, self.labels, strict=True):
            at = (place - edges[0]) / (edges[-1] - edges[0]) * length
            room = 14.0 if not across or self.scale == "category" else 10 + LABEL_PX * min(len(label), 8)
            if at - last >= room:
                shown.append(number)
                last = at
        return shown


UNITS = {"ms": "ms", "mbps": "Mbit/s", "percent": "%", "bdp": "BDP", "bytes": "bytes"}


def title_of(shape: Axis) -> str:
    """The key, and the unit of its numbers."""
    return f"{shape.key}, {UNITS.get(shape.unit, shape.unit)}" if shape.unit else shape.key


def key_among(key: str, keys: Sequence[str]) -> str:
    """The last words of a dotted key, as many as tell it from the others.

    >>> key_among("path.rtt", ["path.rtt", "buffer"])
    'rtt'
    >>> key_among("flows.bbr.count", ["flows.bbr.count", "flows.cubic.count"])
    'bbr.count'
    """
    words = key.split(".")
    endings = (words[-count:] for count in range(1, len(words)))
    others = [each.split(".") for each in keys if each != key]
    return next((".".join(end) for end in endings if not any(each[-len(end) :] == end for each in others)), key)


def steps(shape: Axis, values: pl.DataFrame) -> Steps:
    """The steps that the columns of an axis hold; names in the order in which they were asked for."""
    pairs = values.select(shape.key, number=pl.col(shape.column)).unique(maintain_order=True)
    if shape.scale != "category":
        pairs = pairs.sort("number")
        numbers = tuple(float(each) for each in pairs["number"])
        labels = tuple(str(each) for each in pairs[shape.key])
        # Nothing at or below 0 lies on a logarithmic axis: then steps are even, and labelled.
        even = shape.scale == "log" and numbers[0] <= 0
        return Steps(
            shape,
            labels,
            tuple(map(float, range(len(labels)))) if even else numbers,
            "category" if even else shape.scale,
        )
    asked = {str(value): place for place, value in enumerate(shape.values)}
    found = sorted(
        ("none" if each is None else str(each) for each in pairs[shape.key]),
        key=lambda each: asked.get(each, len(asked)),
    )
    return Steps(shape, tuple(found), tuple(map(float, range(len(found)))), "category")


def step_of(along: Steps, values: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Which step each row is on."""
    places = {label: place for place, label in enumerate(along.labels)}
    return np.array([places["none" if each is None else str(each)] for each in values[along.shape.key]], dtype=np.int64)


@dataclass(frozen=True)
class Rect:
    """A rectangle of a map, from step to step of both axes, in the colour of a row of cells."""

    row: int
    left: int
    right: int
    """The first step that doesn't belong to it."""
    below: int


def painted(across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int]) -> list[Rect]:
    """What is painted: a rectangle for each measured crossing, and the others in the nearest one's colour.

    Neighbours on a line that have one colour are one rectangle.
    """
    owner = np.full((len(up.labels), len(across.labels)), -1, dtype=np.int64)
    owner[list(rows), list(columns)] = np.arange(len(rows))
    if (owner < 0).any():
        owner = np.where(owner < 0, _nearest(across, up, columns, rows), owner)
    found = []
    for below, line in enumerate(owner):
        ends = [0, *(np.flatnonzero(np.diff(line)) + 1), len(line)]
        found += [Rect(int(line[left]), int(left), int(right), below) for left, right in pairwise(ends)]
    return found


def _nearest(across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int]) -> npt.NDArray[np.int64]:
    """For each crossing the measured one nearest to it, each axis as long as the other; ties go to the first."""
    xs, ys = _evened(across), _evened(up)
    measured = np.column_stack([xs[list(columns)], ys[list(rows)]])
    found = np.empty((len(ys), len(xs)), dtype=np.int64)
    for place, y in enumerate(ys):
        squares = (xs[:, None] - measured[None, :, 0]) ** 2 + (y - measured[None, :, 1]) ** 2
        found[place] = squares.argmin(axis=1)
    return found


def _evened(along: Steps) -> Floats:
    places = along.places
    if along.scale == "category":
        return places * APART
    span = places[-1] - places[0]
    return (places - places[0]) / span if span else places * 0
