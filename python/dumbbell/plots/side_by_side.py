"""Two traces over time in stacked panels: what was recorded, and what a model of it gives."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.plots.chart_style import HEIGHT, WIDTH, data, stacked, view_names, y_axis
from dumbbell.plots.colours import HUES

__all__ = ["side_by_side"]

Values = npt.NDArray[np.float64]


def side_by_side(
    at_s: Values, panels: Mapping[str, Sequence[Values]], names: tuple[str, str], duration_s: float
) -> alt.VConcatChart:
    """A panel for each title, with a line for each of the two names; NaN is a gap."""
    x = alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, duration_s], nice=False))
    colour = alt.Color("line:N", title=None).scale(domain=list(names), range=[HUES[0], HUES[1]])
    dash = alt.StrokeDash("line:N", title=None).scale(domain=list(names), range=[[1, 0], [5, 3]])
    charts = []
    for title, both in panels.items():
        parts = [
            pl.DataFrame({"s": at_s, "v": values, "line": pl.Series([name] * at_s.size, dtype=pl.String)})
            for name, values in zip(names, both, strict=True)
        ]
        table = pl.concat(parts).with_columns(pl.col("v").fill_nan(None))
        lines = alt.Chart(data(table), mark=alt.MarkDef("line", clip=True, strokeWidth=1.6))
        drawn = lines.encode(x=x.copy(), y=y_axis(title), color=colour, strokeDash=dash)
        charts.append(alt.LayerChart(layer=[drawn]).properties(width=WIDTH, height=HEIGHT))
    return stacked(charts, view_names([f"panel-{number}" for number in range(len(charts))]))
