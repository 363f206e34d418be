"""Both arms of a comparison on one time axis: a line for the mean over an arm's runs, a band for their range.

One panel for each metric and group, one colour for each arm. `series` supplies the lines.
"""

from collections.abc import Mapping

import altair as alt
import polars as pl

from dumbbell.plots.chart_axes import data
from dumbbell.plots.chart_style import WIDTH
from dumbbell.plots.colours import HUES
from dumbbell.plots.panel_stack import HEIGHT, stacked, view_names

__all__ = ["comparison_plot"]


def comparison_plot(arms: Mapping[str, pl.DataFrame], width: int = WIDTH) -> alt.VConcatChart | None:
    """The arms' bundles, by name, as one figure; None if they contain no line."""
    named = [table.with_columns(side=pl.lit(name)) for name, table in arms.items()]
    panels = list(dict.fromkeys(panel for table in named for panel in table["panel"].unique(maintain_order=True)))
    together = pl.concat(named)
    if not panels:
        return None
    # Values are at the middle of their bins: the first half a bin after 0, the last half a bin before the end.
    end_s = sum(together["s"].sort()[[0, -1]].to_list())
    charts = [
        _panel(together.filter(pl.col("panel") == panel), panel, list(arms), end_s).properties(
            width=width, height=HEIGHT
        )
        for panel in panels
    ]
    return stacked(charts, view_names(["comparison_plot"] * len(panels)))


def _panel(table: pl.DataFrame, title: str, arms: list[str], end_s: float) -> alt.LayerChart:
    colour = alt.Color("side:N", title=None).scale(domain=arms, range=list(HUES[: len(arms)]))
    x = alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, end_s], nice=False))
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=True, nice=True))
    base = alt.Chart(data(table.select("side", "s", "mean", "low", "high"))).encode(x=x)
    # Not `opacity`: it would make the legend as pale as the band.
    band = base.mark_area(clip=True, fillOpacity=0.25, strokeOpacity=0).encode(
        y=alt.Y("low:Q", title=title), y2="high:Q", color=colour
    )
    line = base.mark_line(clip=True, strokeWidth=1.5).encode(y=y, color=colour, tooltip=_TOOLTIP)
    return alt.LayerChart(layer=[line, band])


_TOOLTIP = [
    alt.Tooltip("side:N"),
    alt.Tooltip("s:Q", title="time, s", format=".3f"),
    *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("mean", "low", "high")),
]
