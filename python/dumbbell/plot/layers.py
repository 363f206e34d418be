"""A panel as data: which lines, bands and marks stand on it, in numbers and colours, before anybody draws them.

`flowpanels`, `pathpanels` and `bands` make a `Drawn` of a run. It has two readers: `charts` makes Altair's layers of it
(reports, downloads), `columns` what a page draws by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dumbbell.analysis.samples import Floats

__all__ = [
    "Bands", "Curve", "Drawn", "Layer", "Legend", "Line", "Lines", "Points", "Rule", "Scale", "Ticks", "Trace",
    "from_the_busiest",
]  # fmt: skip

Curve = Literal["linear", "step", "step-after"]
"""How a line goes from one point to the next: straight, changing halfway, or holding its value until then."""
Trace = tuple[Floats, Floats]
"""Times in seconds, and values."""


@dataclass(frozen=True)
class Scale:
    """The axis of values."""

    domain: tuple[float, float] | None = None
    """From and to; without one the data's, from zero on."""
    nice: bool = True
    """Does it end at round numbers?"""


@dataclass(frozen=True)
class Legend:
    """Names that only this panel has, with their colours in order; flows share one legend for all panels."""

    title: str
    entries: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Line:
    """One line; without points it stands in the legend only."""

    name: str
    colour: str
    s: Floats
    v: Floats
    dash: tuple[int, ...] = ()
    """Its own: pixels drawn and left out in turns."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines that look alike."""

    lines: tuple[Line, ...]
    of: Literal["flows", "panel", "nobody"]
    """Whose legend has their names: the one that all flows share, the panel's own, or none."""
    width: float
    curve: Curve = "linear"
    dash: tuple[int, ...] = ()
    """Of all of them; without one each has its own."""
    opacity: float | None = None


def from_the_busiest(lines: Sequence[Line]) -> list[Line]:
    """In the order to draw them: a line that goes up and down most lies lowest, so that it hides no calmer one."""
    return sorted(lines, key=lambda line: -float(np.nansum(np.abs(np.diff(line.v)))))


@dataclass(frozen=True)
class Rule:
    """A dashed line across the panel."""

    v: float
    colour: str
    dash: tuple[int, ...] = (4, 3)


@dataclass(frozen=True, eq=False)
class Ticks:
    """Moments: short upright strokes so many pixels below the panel's top, or in one of its rows."""

    colour: str
    s: Floats
    top: int = 0
    size: int = 7
    row: str | None = None
    packets: Floats = field(default_factory=lambda: np.empty(0))
    """In a row: how many packets each stands for."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Spans of time in which a row's controller was in one phase. Later bands lie over earlier ones."""

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
    """Their area in square pixels."""
    of: tuple[Line, ...]
    """Where they stand, by name."""


Layer = Lines | Rule | Ticks | Bands | Points


@dataclass(frozen=True, eq=False)
class Drawn:
    """One panel of a run."""

    title: str
    layers: tuple[Layer, ...]
    """From the lowest to the topmost."""
    note: str = ""
    """What else to know, below the title."""
    scale: Scale = Scale()
    rows: tuple[str, ...] = ()
    """From the top, of a panel that has rows in the place of values."""
    legend: Legend | None = None
