"""Layout of a map's cells: steps along an axis, edges between them, contour lines through their centres.

Every distinct value of an axis is a step; edges are midway between neighbours on the axis's scale. A refined grid has
points at some crossings only. The others take the colour of the nearest measured point (a Voronoi diagram, rounded to
the grid), so the map neither blends points nor invents transitions. `heatmap` draws it.

Values between centres are interpolated linearly (marching squares, by contourpy); a refined grid is first filled by
linear interpolation between its points (Delaunay). Lines skip unknown points and don't cross categorical axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import contourpy
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.late import interpolate, spatial
from dumbbell.plots.render import script_json
from dumbbell.spec.axes import Axis, Scale

__all__ = ["Rect", "Steps", "contours", "key_among", "painted", "step_of", "steps", "title_of"]


Floats = npt.NDArray[np.float64]
ALONE = 0.5
"""Half the height of a cell without neighbours: of 1 on a linear axis, of a factor of ten on a log one."""
APART = 1e6
"""Distance between categories, so that no cell takes the colour of another category."""
LABEL_PX = 6.2
"""Approximate width of a character at 11 px."""


@dataclass(frozen=True)
class Steps:
    """One axis of a map."""

    shape: Axis
    labels: tuple[str, ...]
    """As written in the sweep file, in order."""
    numbers: tuple[float, ...]
    scale: Scale

    @property
    def positions(self) -> Floats:
        """Positions of the steps on the scale on which the axis is linear."""
        numbers = np.asarray(self.numbers, dtype=np.float64)
        return np.log10(numbers) if self.scale == "log" else numbers

    @property
    def edges(self) -> Floats:
        """The edges, one more than steps: midway between neighbours, and as far beyond the ends."""
        positions = self.positions
        if len(positions) == 1:
            return np.array([positions[0] - ALONE, positions[0] + ALONE])
        middles = (positions[1:] + positions[:-1]) / 2
        return np.concatenate([[2 * positions[0] - middles[0]], middles, [2 * positions[-1] - middles[-1]]])

    def value_at(self, position: float) -> float:
        """A position as the axis's own number."""
        return float(10**position) if self.scale == "log" else float(position)

    def pixels(self, step: int, length: float) -> float:
        """The size of a step on an axis of that many pixels."""
        edges = self.edges
        return float((edges[step + 1] - edges[step]) / (edges[-1] - edges[0]) * length)

    def encoding(self, kind: type[alt.X] | type[alt.Y], field: str, length: float) -> Any:
        """The axis, with labels at as many steps as fit."""
        edges = self.edges
        domain = [self.value_at(edges[0]), self.value_at(edges[-1])]
        scale = alt.Scale(type="log" if self.scale == "log" else "linear", domain=domain, nice=False)
        if self.scale != "log":  # Vega warns about it on a logarithmic axis.
            scale.zero = False
        across = kind is alt.X
        ticks = self._ticks(length, across=across)
        # Vega also thins explicit values, to the style's tick count.
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
        """The steps whose labels fit, from the first."""
        edges, shown, last = self.edges, [], -np.inf
        for number, position, label in zip(self.numbers, self.positions, self.labels, strict=True):
            at = (position - edges[0]) / (edges[-1] - edges[0]) * length
            padding = 14.0 if not across or self.scale == "category" else 10 + LABEL_PX * min(len(label), 8)
            if at - last >= padding:
                shown.append(number)
                last = at
        return shown


UNITS = {"ms": "ms", "mbps": "Mbit/s", "percent": "%", "bdp": "BDP", "bytes": "bytes"}


def title_of(shape: Axis) -> str:
    """The key with its unit."""
    return f"{shape.key}, {UNITS.get(shape.unit, shape.unit)}" if shape.unit else shape.key


def key_among(key: str, keys: Sequence[str]) -> str:
    """The shortest suffix of a dotted key that distinguishes it from the others.

    >>> key_among("path.rtt", ["path.rtt", "buffer"])
    'rtt'
    >>> key_among("flows.bbr.count", ["flows.bbr.count", "flows.cubic.count"])
    'bbr.count'
    """
    suffix = key.split(".")
    endings = (suffix[-count:] for count in range(1, len(suffix)))
    others = [each.split(".") for each in keys if each != key]
    return next((".".join(end) for end in endings if not any(each[-len(end) :] == end for each in others)), key)


def steps(shape: Axis, values: pl.DataFrame) -> Steps:
    """The steps in an axis's columns; categories in the sweep file's order."""
    pairs = values.select(shape.key, number=pl.col(shape.column)).unique(maintain_order=True)
    if shape.scale != "category":
        pairs = pairs.sort("number")
        numbers = tuple(float(each) for each in pairs["number"])
        labels = tuple(str(each) for each in pairs[shape.key])
        # A logarithmic axis can't show values ≤ 0: use even, labelled steps.
        even = shape.scale == "log" and numbers[0] <= 0
        return Steps(
            shape,
            labels,
            tuple(map(float, range(len(labels)))) if even else numbers,
            "category" if even else shape.scale,
        )
    order = {str(value): position for position, value in enumerate(shape.values)}
    found = sorted(
        ("none" if each is None else str(each) for each in pairs[shape.key]),
        key=lambda each: order.get(each, len(order)),
    )
    return Steps(shape, tuple(found), tuple(map(float, range(len(found)))), "category")


def step_of(along: Steps, values: pl.DataFrame) -> npt.NDArray[np.int64]:
    """The step of each row."""
    positions = {label: position for position, label in enumerate(along.labels)}
    return np.array(
        [positions["none" if each is None else str(each)] for each in values[along.shape.key]], dtype=np.int64
    )


@dataclass(frozen=True)
class Rect:
    """A rectangle of a map, from step to step on both axes, in the colour of a row of cells."""

    row: int
    left: int
    right: int
    """Exclusive."""
    below: int


def painted(across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int]) -> list[Rect]:
    """The rectangles to paint: one for each measured crossing, the others in the colour of the nearest one.

    Adjacent crossings of one colour in a row are merged into one rectangle.
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
    """The nearest measured crossing for each crossing, with both axes scaled to equal length; ties go to the first."""
    xs, ys = _evened(across), _evened(up)
    measured = np.column_stack([xs[list(columns)], ys[list(rows)]])
    found = np.empty((len(ys), len(xs)), dtype=np.int64)
    for position, y in enumerate(ys):
        squares = (xs[:, None] - measured[None, :, 0]) ** 2 + (y - measured[None, :, 1]) ** 2
        found[position] = squares.argmin(axis=1)
    return found


def _evened(along: Steps) -> Floats:
    positions = along.positions
    if along.scale == "category":
        return positions * APART
    span = positions[-1] - positions[0]
    return (positions - positions[0]) / span if span else positions * 0


def contours(
    across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int], values: Sequence[float | None],
    levels: Sequence[float],
) -> pl.DataFrame:  # fmt: skip
    """The lines as points: `x`, `y` in the axes' numbers, `piece`, `order`, `level`."""
    schema = {"x": pl.Float64, "y": pl.Float64, "piece": pl.Int64, "order": pl.Int64, "level": pl.Float64}
    drawn = []
    if "category" not in (across.scale, up.scale) and len(across.labels) > 1 and len(up.labels) > 1:
        heights = _heights(across, up, columns, rows, values)
        made = contourpy.contour_generator(across.positions, up.positions, np.ma.masked_invalid(heights))
        pieces = [(level, line) for level in levels for line in made.lines(level)]
        for piece, (level, line) in enumerate(pieces):
            drawn += [
                (across.value_at(x), up.value_at(y), piece, order, float(level))
                for order, (x, y) in enumerate(np.asarray(line))
            ]
    return pl.DataFrame(drawn, schema=schema, orient="row")


def _heights(
    across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int], values: Sequence[float | None]
) -> Floats:
    """The values on the full grid; NaN where unknown, or outside the known points."""
    heights = np.full((len(up.labels), len(across.labels)), np.nan)
    heights[list(rows), list(columns)] = [np.nan if value is None else value for value in values]
    if len(values) == heights.size:
        return heights
    known = np.array([(c, r) for c, r, value in zip(columns, rows, values, strict=True) if value is not None])
    ends = [(along.positions[0], np.ptp(along.positions)) for along in (across, up)]
    grid = [(along.positions - low) / span for along, (low, span) in zip((across, up), ends, strict=True)]
    try:
        between = interpolate.LinearNDInterpolator(
            np.column_stack([grid[0][known[:, 0]], grid[1][known[:, 1]]]),
            [value for value in values if value is not None],
        )
    except (spatial.QhullError, IndexError, ValueError):  # Fewer than three points, or all collinear.
        return heights
    filled: Floats = between(*np.meshgrid(*grid))
    unknown = {(c, r) for c, r, value in zip(columns, rows, values, strict=True) if value is None}
    for column, row in unknown:
        filled[row, column] = np.nan
    return filled
