"""The panels by name: stacked on one time axis as a figure, or as binary data for a page that draws them on its own.

`crates/figures` computes them; `chart_style` has the parts common to all stacks. Panels share colours and legend; a
click on the legend selects flows. States of the controllers are bands over time; a figure of its own has the share of
each flow's time in each state.

Binary data: a four-byte header length (little-endian), the header (JSON, padded with spaces so that the data starts at
a multiple of eight), and columns of 64-bit floats, little-endian. The header names a column by `[offset, length]`,
counted in floats from the end of the header.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.analysis.native import NS, native, remembered
from dumbbell.analysis.sample_arrays import Floats
from dumbbell.analysis.states import phases
from dumbbell.control_characters import json_text
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import (
    WIDTH,
    charted,
    data,
    filled,
    framed,
    run_title,
    stacked,
    time_axis,
    tips,
    view_names,
)
from dumbbell.plots.layers import POINTS, Legend, Lines, PanelData, Series, names, panel
from dumbbell.plots.view import EVERYTHING, View, of_lines
from dumbbell.results.result import Run

__all__ = [
    "DEFAULT",
    "PANELS",
    "Panel",
    "available",
    "columns",
    "figure",
    "lacks",
    "life_shares",
    "lines",
    "packed",
    "panel_data",
]


STATE_LEGEND = "state"


def life_shares(run: Run, width: int) -> alt.LayerChart:
    """A bar for each flow: the share of its time that its controller spent in each state."""
    table = phases(run)
    spent = table.with_columns(took=(pl.col("stop_ns") - pl.col("start_ns")) / NS)
    sums = spent.group_by("flow", "phase", maintain_order=True).agg(
        seconds=pl.col("took").sum(), times=pl.len(), median_s=pl.col("took").median()
    )
    known = set(table["flow"])
    flows = [flow.name for flow in run.manifest.flows if flow.name in known]
    colours = dict(_sim.state_colours(table["phase"].unique(maintain_order=True).to_list()))
    order = {name: index for index, name in enumerate(colours)}
    sums = sums.with_columns(rank=pl.col("phase").replace_strict(order, return_dtype=pl.Int64))
    y = alt.Y("flow:N", title=None, sort=None, scale=alt.Scale(domain=flows))
    x = alt.X("seconds:Q", title="Share of the flow's time", stack="normalize", axis=alt.Axis(format="%"))
    tooltip = tips(flow="flow", phase="state", seconds="total, s|.3f", times="times|d", median_s="median, s|.3f")
    bars = alt.Chart(data(sums), mark=alt.MarkDef("bar", strokeWidth=0))
    shown = bars.encode(x=x, y=y, fill=filled(Legend(STATE_LEGEND, colours)), order="rank:Q", tooltip=tooltip)
    return framed([shown], run_title(run), width, max(26 * len(flows), 60), zoom=False, pick=False)


@dataclass(frozen=True)
class Panel:
    """One panel."""

    about: str
    needs: tuple[str, ...]
    """Columns (`table.column`), of which one must have values; none: any run has it."""
    of_flows: bool
    """Has it a line for each flow, which a group can have alone?"""


PANELS: dict[str, Panel] = {name: Panel(about, tuple(needs), of_flows) for name, about, needs, of_flows in _sim.PANELS}
"""All panels by the names that `--panels` accepts; `crates/figures` declares them."""


def panel_data(run: Run, wanted: Sequence[str], points: int) -> list[PanelData]:
    """The named panels. Raises `ResultError` for an unknown name, or a panel without data in this run."""
    heads, numbers = _checked(run, wanted, points)
    return [panel(head, numbers) for head in heads]


def _checked(run: Run, wanted: Sequence[str], points: int) -> tuple[list[dict[str, Any]], Floats]:
    """Descriptions of the named panels, and the numbers that they name."""
    if not wanted:
        raise ResultError(f"a figure needs at least one panel; choose from: {', '.join(PANELS)}")
    for name in wanted:
        if name not in PANELS:
            raise ResultError(f"unknown panel '{name}'; choose from: {', '.join(PANELS)}")
        if (missing := lacks(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    heads, numbers = _sim.figure(native(run), list(wanted), points)
    return heads, np.asarray(numbers)


@remembered
def lacks(run: Run, name: str) -> str | None:
    """The data that the run lacks for this panel, with a possible reason; None if the panel can be drawn."""
    return _sim.figure_lacks(native(run), name)


def lines(run: Run, name: str, points: int = POINTS, *, cwnd_in_bytes: bool | None = None) -> dict[str, Series]:
    """The lines of a panel's first layer, by name; without those that have no points."""
    heads, numbers = _sim.figure(native(run), [name], points, cwnd_in_bytes)
    first = panel(heads[0], np.asarray(numbers)).layers[0]
    return {line.name: (line.s, line.v) for line in first.lines if line.s.size} if isinstance(first, Lines) else {}


def available(run: Run, names: Sequence[str]) -> list[str]:
    """The named panels for which this run has data."""
    return [name for name in names if lacks(run, name) is None]


DEFAULT = ("delivered", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS,
    view: View = EVERYTHING,
) -> alt.VConcatChart:  # fmt: skip
    """The named panels, stacked, as the `view` shows them.

    Raises `ResultError` for an unknown name, a panel without data in this run, or an empty window.
    """
    points = points if view == EVERYTHING else max(points, view.points(run))
    shown = [
        part
        for name, each in zip(panels, panel_data(run, panels, points), strict=True)
        for part in _parts(run, name, each, view)
    ]
    panels, made = [name for name, _ in shown], [view.of(each, run) for _, each in shown]
    views = view_names(panels)
    charts = [_panel(run, each, width, view) for each in made]
    stack = stacked(
        charts, views, _picked([view for view, each in zip(views, made, strict=True) if any(_by_flow(each))])
    )
    return stack.properties(title=run_title(run)) if title else stack


def _parts(run: Run, name: str, made: PanelData, view: View) -> list[tuple[str, PanelData]]:
    """The panel, or one for each group, with the name."""
    groups = list(dict.fromkeys(flow.group for flow in run.manifest.flows))
    if not view.by_group or len(groups) == 1 or not PANELS[name].of_flows:
        return [(name, made)]
    members = {each["name"]: each["group"] for each in names(run)}
    lines = [(group, {line for line, of in members.items() if of == group}) for group in groups]
    return [(name, of_lines(made, mine, group)) for group, mine in lines if mine]


def _panel(run: Run, made: PanelData, width: int, view: View) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    layers = charted(made, time_axis(view.window(run)))
    if any(picked := _by_flow(made)):
        layers = [layer.encode(opacity=shown) if by else layer for layer, by in zip(layers, picked, strict=True)]
    return alt.LayerChart(layer=layers).properties(width=width, height=made.height)


def _by_flow(made: PanelData) -> list[bool]:
    """For each layer, whether the flow legend selects its lines. Limits and BDP are not selectable."""
    return [isinstance(layer, Lines) and layer.of == "flows" for layer in made.layers]


def _picked(views: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """A legend selection: a click highlights a flow, a second click deselects it."""
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []


WORD = 8
"""Bytes per number."""


def columns(run: Run, panels: Sequence[str], points: int = POINTS) -> tuple[list[dict[str, Any]], list[Floats]]:
    """The headers of the named panels, and their columns.

    Raises `ResultError` for an unknown name, or a panel without data in this run.
    """
    heads, numbers = _checked(run, panels, points)
    return heads, [numbers]


def packed(header: Mapping[str, Any], arrays: Sequence[Floats]) -> bytes:
    """A header and its columns as one response."""
    text = json_text(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % WORD)
    return b"".join(
        [struct.pack("<I", len(text)), text, *(array.astype("<f8", copy=False).tobytes() for array in arrays)]
    )
