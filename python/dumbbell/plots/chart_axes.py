"""Elements that all figures share: axes with units, inline tables, colours and dashes by name.

Each figure's module supplies the numbers, `colours` the colours.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from dumbbell.plots.colours import dashes, shades
from dumbbell.plots.layers import Curve
from dumbbell.results.result import Run

__all__ = ["TOOLTIP", "coloured", "dashed", "data", "named_lines", "noted", "time_axis", "tips", "y_axis"]


def time_axis(run: Run) -> alt.X:
    """The time axis over the whole run."""
    return alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, run.manifest["duration_s"]], nice=False))


def y_axis(title: str, scale: alt.Scale | None = None, note: str = "") -> alt.Y:
    """The value axis; starts at zero unless `scale` is given."""
    return alt.Y("v:Q", title=noted(title, note), scale=scale or alt.Scale(zero=True, nice=True))


def noted(title: str, note: str) -> str | list[str]:
    """An axis title; a note goes on a second line."""
    return [title, f"({note})"] if note else title


def named_lines(
    members: Sequence[Mapping[str, Any]],
    table: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    curve: Curve = "linear",
) -> alt.Chart:
    """A line for each member (`name`, `group`, `cc`) in its controller's hue, with its own shade and dash.

    Lines with the most variation are drawn first, so that they don't hide steadier ones.
    """
    parts = table.partition_by("flow", maintain_order=True)
    table = pl.concat([table.clear(), *sorted(parts, key=lambda part: -(part["v"].diff().abs().sum() or 0.0))])
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.3, interpolate=curve)
    chart = alt.Chart(data(table), mark=mark)
    return chart.encode(x=x, y=y, color=coloured(shades(members)), strokeDash=dashed(dashes(members)))


def coloured(colours: Mapping[str, str]) -> alt.Color:
    """A colour for each `flow` of a table."""
    return alt.Color("flow:N", title=None).scale(domain=list(colours), range=list(colours.values()))


def dashed(dash: Mapping[str, list[int]]) -> alt.StrokeDash:
    """A dash for each `flow` of a table."""
    return alt.StrokeDash("flow:N", title=None, scale=alt.Scale(domain=list(dash), range=list(dash.values())))


def tips(**fields: str) -> list[alt.Tooltip]:
    """Tooltips: each field with its title, and after a bar its format: `s="time, s|.3f"`.

    Not for lines: Vega always shows their first point.
    """
    parts = {name: text.partition("|") for name, text in fields.items()}
    return [
        alt.Tooltip(f"{name}:Q", title=title, format=number) if number else alt.Tooltip(f"{name}:N", title=title)
        for name, (title, _, number) in parts.items()
    ]


def data(table: pl.DataFrame) -> alt.InlineData:
    """A table as inline CSV, a third of the size of JSON."""
    short = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in table.schema.items()}
    text = io.StringIO()
    short.write_csv(text, line_terminator="\n")
    return alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv", parse=parse))


TOOLTIP = tips(flow="name", s="time, s|.3f", v="value|.4~g")
"""Tooltips of a line table: `s` (time), `v` (value), `flow` (name)."""
