"""Two sides of a comparison on one axis of time: a line for the mean over a side's runs, a band for their range.

One panel for each metric and group, one colour for each side. The lines come from `strands`.
"""

from collections.abc import Mapping

import altair as alt
import polars as pl

from dumbbell.plot.axes import data
from dumbbell.plot.colours import HUES
from dumbbell.plot.frame import WIDTH
from dumbbell.plot.stack import HEIGHT, stacked, view_names

__all__ = ["contrast"]


def contrast(sides: Mapping[str, pl.DataFrame], width: int = WIDTH) -> alt.VConcatChart | None:
    """The bundles of the sides, by name, as one figure; None when they hold no line."""
    named = [table.with_columns(side=pl.lit(name)) for name, table in sides.items()]
    panels = list(dict.fromkeys(panel for table in named for panel in table["panel"].unique(maintain_order=True)))
    together = pl.concat(named)
    if not panels:
        return None
    # A bin's middle stands for it: the first is half a bin after 0, the last half a bin before the end.
    end_s = sum(together["s"].sort()[[0, -1]].to_list())
    charts = [
        _panel(together.filter(pl.col("panel") == panel), panel, list(sides), end_s).properties(
            width=width, height=HEIGHT
        )
        for panel in panels
    ]
    return stacked(charts, view_names(["contrast"] * len(panels)))


def _panel(table: pl.DataFrame, title: str, sides: list[str], end_s: float) -> alt.LayerChart:
    colour = alt.Color("side:N", title=None).scale(domain=sides, range=list(HUES[: len(sides)]))
    x = alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, end_s], nice=False))
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=True, nice=True))
    base = alt.Chart(data(table.select("side", "s", "mean", "low", "high"))).encode(x=x)
    # Not `opacity`: the legend would be as pale as the band.
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
