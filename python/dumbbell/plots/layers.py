"""A panel as data: its lines, bands and marks.

`crates/figures` computes them (`panel`, `lines`); `chart_style` makes Altair layers of them, for reports and downloads,
and `view` cuts them. A page draws the same data on its own (`panels.columns`).

Lines are traces by name: times in seconds, values. More than eight flows are reduced to one line per group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dumbbell import _sim
from dumbbell.analysis.native import NS, native
from dumbbell.analysis.sample_arrays import Floats
from dumbbell.results.result import Run

__all__ = [
    "FLOWS_MAX",
    "PICKED",
    "POINTS",
    "Bands",
    "Curve",
    "Layer",
    "Legend",
    "Line",
    "Lines",
    "PanelData",
    "Points",
    "Rule",
    "Scale",
    "Series",
    "Spread",
    "SpreadLine",
    "Ticks",
    "downsample",
    "from_the_busiest",
    "group_members",
    "grouped",
    "names",
    "panel",
    "round_step_ns",
    "step_ns",
]


Curve = Literal["linear", "step", "step-after"]
"""Interpolation between points: straight, a step halfway, or a step at the next point."""
Series = tuple[Floats, Floats]
"""Times in seconds, and values."""


@dataclass(frozen=True)
class Scale:
    """The value axis."""

    domain: tuple[float, float] | None = None
    """From and to; None: from zero to the largest value."""
    nice: bool = True
    """Round the ends to nice numbers?"""


@dataclass(frozen=True)
class Legend:
    """Names of this panel only, with their colours in order; all panels share the legend of flows."""

    title: str
    entries: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Line:
    """One line; without points it appears only in the legend."""

    name: str
    colour: str
    s: Floats
    v: Floats
    dash: tuple[int, ...] = ()
    """Lengths of dashes and gaps in pixels."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines with a common style."""

    lines: tuple[Line, ...]
    of: Literal["flows", "panel", "none"]
    """The legend with their names: the flows' shared one, the panel's own, or none."""
    width: float
    curve: Curve = "linear"
    dash: tuple[int, ...] = ()
    """Common to all lines; if empty each line has its own."""
    opacity: float | None = None


@dataclass(frozen=True, eq=False)
class SpreadLine:
    """The smallest and the largest value of a line's samples around each time."""

    name: str
    colour: str
    s: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """Bands below lines of the same names."""

    parts: tuple[SpreadLine, ...]
    of: Literal["flows", "panel", "none"]
    """As of `Lines`."""


def from_the_busiest(lines: Sequence[Line]) -> list[Line]:
    """The lines in drawing order: those with the most variation first, so that they don't hide steadier ones."""
    return sorted(lines, key=lambda line: -float(np.nansum(np.abs(np.diff(line.v)))))


@dataclass(frozen=True)
class Rule:
    """A dashed line across the panel."""

    v: float
    colour: str
    dash: tuple[int, ...] = (4, 3)


@dataclass(frozen=True, eq=False)
class Ticks:
    """Points in time: short vertical ticks that many pixels below the panel's top, or in one of its rows."""

    colour: str
    s: Floats
    top: int = 0
    size: int = 7
    row: str | None = None
    packets: Floats = field(default_factory=lambda: np.empty(0))
    """For ticks in a row: the packets of each tick."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Time spans in which a row's controller was in one state. Later bands cover earlier ones."""

    row: str
    phase: str
    colour: str
    s: Floats
    e: Floats


@dataclass(frozen=True, eq=False)
class Points:
    """Dots."""

    colour: str
    size: int
    """Area in square pixels."""
    of: tuple[Line, ...]
    """Their positions, by name."""


Layer = Lines | Spread | Rule | Ticks | Bands | Points


@dataclass(frozen=True, eq=False)
class PanelData:
    """One panel of a run."""

    title: str
    layers: tuple[Layer, ...]
    """From bottom to top."""
    note: str = ""
    """A note below the title."""
    scale: Scale = Scale()
    rows: tuple[str, ...] = ()
    """Row names from the top, for a panel with rows instead of values."""
    legend: Legend | None = None
    height: int = 150
    """In pixels."""


POINTS = _sim.POINTS
"""Points per line: two for each pixel of a wide figure."""
FLOWS_MAX = _sim.FLOWS_MAX
"""The most distinguishable lines. Above that, groups replace flows; of more groups, those with the highest goodput."""
STEPS_MAX = 300


def downsample(times: npt.ArrayLike, values: npt.ArrayLike, points: int = POINTS) -> npt.NDArray[np.int64]:
    """The indices of the samples to keep, in order: min and max of every time bin, the first and the last.

    `crates/figures/src/lines.rs` defines it. Keeps at most `points` + 2 samples, or all if there are no more.
    """
    time, value = (np.ascontiguousarray(each, dtype=np.float64) for each in (times, values))
    return np.asarray(_sim.kept_rows(time, value, points))


def grouped(run: Run) -> bool:
    """Whether groups replace flows."""
    return len(run.manifest.flows) > FLOWS_MAX


def names(run: Run) -> list[dict[str, Any]]:
    """The legend's entries: flows, or groups in their place, each with `name`, `group` and `cc`."""
    return [_member(*each) for each in _sim.figure_members(native(run))]


def group_members(run: Run) -> list[dict[str, Any]]:
    """The groups, each with `name`, `group`, and `cc` if all of its flows have the same."""
    return [_member(*each) for each in _sim.figure_groups(native(run))]


def _member(name: str, group: str, cc: str | None) -> dict[str, Any]:
    return {"name": name, "group": group, "cc": cc}


def step_ns(run: Run) -> int:
    """The bin of a rate: 1, 2 or 5 times a power of ten, at least 10 ms; at most 300 bins."""
    return round_step_ns(run.manifest.duration_s * NS, STEPS_MAX)


def round_step_ns(length_ns: float, bins: int) -> int:
    """1, 2 or 5 times a power of ten, at least 10 ms, such that `length_ns` has at most `bins` bins."""
    return _sim.step_ns(length_ns, bins)


def panel(head: Mapping[str, Any], numbers: Floats) -> PanelData:
    """A panel of `_sim.figure`, by its description and the numbers that it names."""
    entries = {entry["name"]: entry["colour"] for entry in head["entries"]}
    return PanelData(
        head["title"],
        tuple(_joined_points([_layer(each, numbers) for each in head["layers"]])),
        head["note"],
        Scale(tuple(head["y"]["domain"]) if head["y"]["domain"] else None, nice=head["y"]["nice"]),
        tuple(head["rows"]),
        Legend(head["legend"], entries) if head["legend"] else None,
        head["height"],
    )


def _layer(head: Mapping[str, Any], numbers: Floats) -> Layer:
    def column(key: str) -> Floats:
        offset, length = head[key]
        return numbers[offset : offset + length]

    match head["kind"]:
        case "lines":
            lines = tuple(_line(each, numbers) for each in head["lines"])
            # A selection in the legend decides the opacity of flows.
            opacity = None if head["opacity"] in (PICKED, 1) else head["opacity"]
            return Lines(lines, head["of"], head["width"], head["curve"], tuple(head["dash"]), opacity)
        case "rule":
            return Rule(head["v"], head["colour"], tuple(head["dash"]))
        case "ticks":
            packets = column("packets") if "packets" in head else np.empty(0)
            return Ticks(head["colour"], column("s"), head["top"], head["size"], head.get("row"), packets)
        case "bands":
            return Bands(head["row"], head["phase"], head["colour"], column("s"), column("e"))
        case _:
            line = Line(head["name"], head["colour"], column("s"), column("v"))
            return Points(head["colour"], head["size"], (line,))


def _joined_points(layers: Sequence[Layer]) -> list[Layer]:
    """The layers, dots of several lines as one."""
    points = [layer for layer in layers if isinstance(layer, Points)]
    if len(points) < 2:
        return list(layers)
    together = Points(points[0].colour, points[0].size, tuple(line for layer in points for line in layer.of))
    return [together if layer is points[0] else layer for layer in layers if layer not in points[1:]]


def _line(head: Mapping[str, Any], numbers: Floats) -> Line:
    (s, length), (v, _) = head["s"], head["v"]
    dash = tuple(head["dash"])
    return Line(head["name"], head["colour"], numbers[s : s + length], numbers[v : v + length], dash)


PICKED = 0.9
"""Opacity of a flow's line, so that lines behind it show through."""
