"""A panel as data: its lines, bands and marks, in numbers and colours.

`flow_panels`, `path_panels` and `state_bands` make a `Drawn` from a run. Two modules read it: `charts` makes Altair
layers (reports, downloads), `panel_data` makes binary data for a page that draws on its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dumbbell.analysis.sample_arrays import Floats

__all__ = [
    "Bands", "Curve", "Drawn", "Layer", "Legend", "Line", "Lines", "Points", "Rule", "Scale", "Ticks", "Trace",
    "from_the_busiest",
]  # fmt: skip

Curve = Literal["linear", "step", "step-after"]
"""Interpolation between points: straight, a step halfway, or a step at the next point."""
Trace = tuple[Floats, Floats]
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


Layer = Lines | Rule | Ticks | Bands | Points


@dataclass(frozen=True, eq=False)
class Drawn:
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
