"""What of a run a figure shows: some flows, a time window, a largest value; dense lines as a band with a median.

A panel is drawn from the run as a whole and then cut to the view, so that bins stay where they are. Nothing is cut in
silence: values above the axis have a mark at the top and a note with the largest one.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from dumbbell.analysis.sample_arrays import Floats
from dumbbell.errors import ResultError
from dumbbell.plots.colours import ALARM
from dumbbell.plots.layers import (
    POINTS,
    Bands,
    Layer,
    Line,
    Lines,
    PanelData,
    Points,
    Scale,
    Spread,
    SpreadLine,
    Ticks,
)
from dumbbell.results.result import Run

__all__ = ["EVERYTHING", "View", "of_flows", "of_lines"]

DENSE_S = 60.0
"""Shorter figures show every swing."""
BINS = 190
"""Of a band: four pixels each in a figure of the usual width."""


@dataclass(frozen=True)
class View:
    """What to show."""

    start_s: float | None = None
    end_s: float | None = None
    top: float | None = None
    """The largest value of the axis."""
    by_group: bool = False
    """A panel for each group, each with an axis of its own?"""
    bands: bool = False
    """Draw lines that are denser than the figure's pixels as a band with a median?"""

    def window(self, run: Run) -> tuple[float, float]:
        """From and to, in seconds. Raises `ResultError` for an empty window."""
        end = float(run.manifest.duration_s)
        first, last = self.start_s or 0.0, min(self.end_s if self.end_s is not None else end, end)
        # A log of one moment is a window of no length, which nobody asked for.
        if first >= last and (self.start_s, self.end_s, end) != (None, None, 0.0):
            raise ResultError(f"{run.folder}: the window {first:g} to {last:g} s is empty; the run lasted {end:g} s")
        return first, last

    def points(self, run: Run) -> int:
        """Points of a line of the whole run, so that the window has enough of them."""
        first, last = self.window(run)
        if self.bands and last - first >= DENSE_S:
            return 10_000_000
        return round(POINTS * float(run.manifest.duration_s) / (last - first))

    def of(self, panel: PanelData, run: Run) -> PanelData:
        """The part of a panel that is seen."""
        first, last = self.window(run)
        layers = [_cut(layer, first, last) for layer in panel.layers]
        if panel.rows:
            return replace(panel, layers=tuple(layers))
        largest = max((float(np.nanmax(line.v)) for line in _lines(layers) if line.v.size), default=0.0)
        scale, top = panel.scale, panel.scale.domain[1] if panel.scale.domain else None
        if self.top is not None:
            scale, top = Scale((panel.scale.domain[0] if panel.scale.domain else 0.0, self.top), nice=False), self.top
        note = panel.note
        if top is not None and largest > top:
            note = "; ".join(
                filter(None, (note, f"red marks: above the axis, up to {largest:,.{0 if largest >= 100 else 2}f}"))
            )
            layers.append(Ticks(ALARM, _above(layers, top, (last - first) / POINTS), top=3, size=6))
        if self.bands and last - first >= DENSE_S:
            layers = [each for layer in layers for each in _with_bands(layer, first, last)]
        return replace(panel, layers=tuple(layers), scale=scale, note=note)


EVERYTHING = View()


def of_flows(run: Run, wanted: Sequence[str]) -> Run:
    """The run with these flows only; `wanted` names flows or groups. Raises `ResultError` with the known names."""
    flows = run.manifest.flows
    for name in wanted:
        if all(name not in (flow["name"], flow["group"]) for flow in flows):
            known = dict.fromkeys([*(flow["group"] for flow in flows), *(flow["name"] for flow in flows)])
            raise ResultError(f"{run.folder}: has no flow or group '{name}'; choose from: {', '.join(known)}")
    kept = [flow for flow in flows if not wanted or flow["name"] in wanted or flow["group"] in wanted]
    return run if kept == flows else run.replaced(manifest={**run.manifest, "flows": kept})


def of_lines(panel: PanelData, mine: Set[str], group: str) -> PanelData:
    """A panel with the lines of one group, on an axis of its own; others keep their place in the legend."""
    layers = (
        replace(layer, lines=tuple(line if line.name in mine else _emptied(line) for line in layer.lines))
        if isinstance(layer, Lines) and layer.of == "flows"
        else layer
        for layer in panel.layers
    )
    title = f"{group}: {panel.title}"
    return replace(panel, title=title, layers=tuple(layers), scale=Scale())


def _emptied(line: Line) -> Line:
    return replace(line, s=np.empty(0), v=np.empty(0))


def _cut(layer: Layer, first: float, last: float) -> Layer:
    """The part of a layer inside the window; a line keeps the points next to it, so that it reaches the edges."""
    match layer:
        case Lines():
            return replace(layer, lines=tuple(_part(line, first, last) for line in layer.lines))
        case Points():
            return replace(layer, of=tuple(_part(line, first, last) for line in layer.of))
        case Ticks():
            inside = (layer.s >= first) & (layer.s <= last)
            return replace(
                layer, s=layer.s[inside], packets=layer.packets[inside] if layer.packets.size else layer.packets
            )
        case Bands():
            inside = (layer.e >= first) & (layer.s <= last)
            return replace(layer, s=np.maximum(layer.s[inside], first), e=np.minimum(layer.e[inside], last))
        case _:
            return layer


def _part(line: Line, first: float, last: float) -> Line:
    if not line.s.size:
        return line
    start = max(int(np.searchsorted(line.s, first, "right")) - 1, 0)
    stop = int(np.searchsorted(line.s, last, "left")) + 1
    return replace(line, s=line.s[start:stop], v=line.v[start:stop])


def _lines(layers: Sequence[Layer]) -> list[Line]:
    return [line for layer in layers if isinstance(layer, Lines) for line in layer.lines]


def _above(layers: Sequence[Layer], top: float, pixel_s: float) -> Floats:
    """When a line is above the axis, once a pixel."""
    times = np.concatenate([np.empty(0), *(line.s[line.v > top] for line in _lines(layers))])
    return np.unique(np.round(times / pixel_s)) * pixel_s


def _with_bands(layer: Layer, first: float, last: float) -> list[Layer]:
    """The layer; dense lines as their medians above a band from their smallest to their largest value."""
    if not isinstance(layer, Lines) or layer.curve != "linear":
        return [layer]
    spreads, lines = [], []
    for line in layer.lines:
        if line.s.size <= POINTS:
            lines.append(line)
            continue
        s, low, median, high = _summary(line, first, last)
        spreads.append(SpreadLine(line.name, line.colour, s, low, high))
        lines.append(replace(line, s=s, v=median))
    return [*([Spread(tuple(spreads), layer.of)] if spreads else []), replace(layer, lines=tuple(lines))]


def _summary(line: Line, first: float, last: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each bin with samples: its middle, and the smallest, the middle and the largest value."""
    known = ~np.isnan(line.v) & (line.s >= first) & (line.s <= last)
    times, values = line.s[known], line.v[known]
    bins = np.minimum((times - first) / (last - first) * BINS, BINS - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    parts = np.split(values, starts[1:])
    middle = first + (bins[starts] + 0.5) * (last - first) / BINS
    low, median, high = (np.array([how(part) for part in parts]) for how in (np.min, np.median, np.max))
    return middle, low, median, high
