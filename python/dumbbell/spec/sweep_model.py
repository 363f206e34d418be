"""The tables of a sweep file as frozen values, in nanoseconds.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell.spec.axes import Axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Repeat each point until its mean is known well enough."""

    metric: str
    """The metric whose mean is estimated."""
    half_width: float | str
    """Half of the width of the 95 % interval of the mean: in the metric's unit, or `"5%"` of the mean."""
    least: int
    """Runs of a point before the first look."""
    most: int
    """Runs of a point, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine:
    """Put more points where the metric changes most."""

    metric: str
    """The metric whose change decides."""
    axes: tuple[str, ...]
    """One or two axes of numbers."""
    most: int
    """Points, at most, those of the first grid included."""
    change: float
    """Neighbours whose means differ by less than this are left alone."""
    finest: float
    """Neighbours are never nearer than this share of the axis, on its scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Search within the axes' bounds for the point where a value is least or largest, instead of running the grid."""

    minimize: str | None
    """The metric, or arithmetic with several, whose least value is searched."""
    maximize: str | None
    """The one whose largest value is searched."""
    trials: int
    """Points that are tried."""
    seed: int
    """Seed of the search's own random draws."""
    best: int
    """So many of the best points also run with the other `seeds`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Run some of the grid's points on a second engine too, so that a map shows where the two agree."""

    engine: str
    """The second engine."""
    at: Mapping[str, Sequence[Any]]
    """Values of axes, as the axes have them; all values of an axis that isn't listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A map that the sweep's report shows."""

    value: str
    """The column or formula that the colours show."""
    x: str
    """The horizontal axis."""
    y: str | None
    """The vertical axis."""
    panels: tuple[str, ...]
    """Axes with a panel for each of their values."""
    lines: str | None
    """The axis with a line for each of its values."""
    difference: str | None
    """An axis with two values, such as `engine=sim,kernel`, whose difference is shown."""
    contour: tuple[float, ...]
    """Values at which a line is drawn."""
    middle: float | None
    """The value of the middle colour."""
    within: float | None
    """Half of the widest interval that is not marked; of a difference, what counts as none."""
    log: bool
    """Values on a logarithmic scale."""
    where: str | None
    """A condition in SQL that rows must meet."""
    title: str | None
    """The map's title."""
    text: str | None
    """A text below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Origin of the sweep's question."""

    title: str
    """The source's title."""
    url: str | None
    """Its address."""
    note: str | None
    """More about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep: an experiment, the axes along which it changes, how often, and what to keep."""

    title: str | None
    """One line, without control characters. Without it, the experiment's."""
    experiment: str | Mapping[str, Any]
    """The experiment: the name of a scenario, a file below the sweep's folder (no link, no `..`), or a table
    `[experiment]` with the keys of [an experiment file](experiment.md).
    """
    case: str | None
    """One of the experiment's cases, if it has any."""
    engine: str
    """What runs it; may be an axis too. A file can't start `"host"`: add `--engine host`, and `--hosts` for an
    experiment with [`[hosts]`](experiment.md#hosts).
    """
    kernel: str | None
    """The kernel, by name or version; may be an axis too. A file can't start one given by its path: add `--set
    kernel=PATH`.
    """
    seeds: tuple[int, ...] | None
    """Runs of each point: `7`, `[1, 2]` or `"1..5"`. Without it, the experiment's."""
    keep: Literal["metrics", "runs"]
    """`"metrics"`: one row of numbers per run; `"runs"`: also each run's result folder."""
    metrics: tuple[str, ...]
    """Names of `dumbbell run --json`, with `*` as wildcard."""
    window: tuple[int, int | None] | None
    """The part of each run that is measured: `"from 5s to 60s"`, `"from 5s"`, `"to 60s"`. Without it, all of it."""
    set: Mapping[str, Any]
    """Settings of every run, as for `--set`; their texts may have [placeholders](#placeholders)."""
    axes: tuple[tuple[Axis, ...], ...]
    """[Keys and their values](#axes). The axes of one table vary together."""
    until: Until | None
    """[Repeat](#repeat-until-the-interval-is-narrow) each point until its interval is narrow enough."""
    refine: Refine | None
    """[Put more points](#add-points-where-the-metric-changes) where a metric changes most."""
    search: Search | None
    """[Search](search.md) for the worst point instead of running the grid."""
    validate: Validation | None
    """[Run some points](#validate-some-points-on-another-engine) on a second engine too."""
    maps: tuple[Map, ...]
    """[Maps](#maps-for-the-report) for the report."""
    source: Origin | None
    """Origin of the question."""
