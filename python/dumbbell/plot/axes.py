"""What all pictures share: axes with their units, tables inside a description, lines of flows.

Which numbers stand on them is each figure's own module's; colours are `colours`.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from dumbbell.plot.colours import dashes, shades
from dumbbell.plot.lines import names
from dumbbell.result import Run

__all__ = [
    "TOOLTIP",
    "data",
    "flow_lines",
    "line",
    "named_lines",
    "quantile",
    "rule",
    "step_lines",
    "time_axis",
    "y_axis",
]


def time_axis(run: Run) -> alt.X:
    """The time of the whole run."""
    return alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, run.birth["duration_s"]], nice=False))


def y_axis(title: str, scale: alt.Scale | None = None, note: str = "") -> alt.Y:
    """The value, from zero unless a scale says otherwise; a note stands in a line of its own below the title."""
    named = [title, f"({note})"] if note else title
    return alt.Y("v:Q", title=named, scale=scale or alt.Scale(zero=True, nice=True))


def flow_lines(
    run: Run, table: pl.DataFrame, title: str | alt.Y, curve: Literal["linear", "step"] = "linear"
) -> list[alt.Chart]:
    """A line for each flow of a line table, with the flow's colour and dash."""
    y = y_axis(title) if isinstance(title, str) else title
    return [named_lines(names(run), table, time_axis(run), y, curve)]


def named_lines(
    members: Sequence[Mapping[str, Any]],
    table: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    curve: Literal["linear", "step"] = "linear",
) -> alt.Chart:
    """A line for each member (`name`, `group`): a hue for its group, a shade and a dash for itself."""
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.3, interpolate=curve)
    dash = dashes(members)
    scale = alt.Scale(domain=list(dash), range=list(dash.values()))
    return _coloured(members, table, x, y, mark).encode(strokeDash=alt.StrokeDash("flow:N", title=None, scale=scale))


def line(run: Run, table: pl.DataFrame, y: alt.Y, mark: alt.MarkDef) -> alt.Chart:
    """A line for each flow with its colour; the mark is the caller's."""
    return _coloured(names(run), table, time_axis(run), y, mark)


def step_lines(run: Run, table: pl.DataFrame, colour: str) -> alt.Chart:
    """A dashed line that holds each value (`s, v`) until the next: a rate that changes, a product that follows it."""
    mark = alt.MarkDef("line", clip=True, color=colour, strokeDash=[5, 3], strokeWidth=1.2, interpolate="step-after")
    return alt.Chart(data(table), mark=mark).encode(x=time_axis(run), y=alt.Y("v:Q"))


def rule(value: float, colour: str) -> alt.Chart:
    """A dashed line across the panel."""
    mark = alt.MarkDef("rule", color=colour, strokeDash=[4, 3])
    return alt.Chart(alt.InlineData(values=[{"v": value}]), mark=mark).encode(y=alt.Y("v:Q"))


def quantile(table: pl.DataFrame, share: float) -> float:
    """A quantile of a line table's values; 0 without any."""
    return float(table["v"].quantile(share) or 0.0)


def tips(**fields: str) -> list[alt.Tooltip]:
    """What a mouse on a mark is told: each field with its title, and after a bar its format: `s="time, s|.3f"`.

    Not for lines: Vega would tell their first point, wherever the mouse is.
    """
    parts = {name: text.partition("|") for name, text in fields.items()}
    return [
        alt.Tooltip(f"{name}:Q", title=title, format=number) if number else alt.Tooltip(f"{name}:N", title=title)
        for name, (title, _, number) in parts.items()
    ]


def data(table: pl.DataFrame) -> alt.InlineData:
    """A table as CSV inside the description: a third of the size of JSON."""
    short = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in table.schema.items()}
    text = io.StringIO()
    short.write_csv(text, line_terminator="\n")
    return alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv", parse=parse))


TOOLTIP = tips(flow="name", s="time, s|.3f", v="value|.4~g")
"""Of a line table: `s` (time), `v` (value), `flow` (name)."""


def _coloured(
    members: Sequence[Mapping[str, Any]], table: pl.DataFrame, x: alt.X, y: alt.Y, mark: alt.MarkDef
) -> alt.Chart:
    shade = shades(members)
    colour = alt.Color("flow:N", title=None).scale(domain=list(shade), range=list(shade.values()))
    return alt.Chart(data(table), mark=mark).encode(x=x, y=y, color=colour)
