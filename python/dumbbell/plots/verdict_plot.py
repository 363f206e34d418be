"""The values of a criterion over seeds, by controller, with its limit and the median's interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.plots.chart_style import WIDTH, data, styled
from dumbbell.plots.colours import ALARM, HUES, INK

__all__ = ["Judgement", "verdict_plot"]

ROW_PX = 34


@dataclass(frozen=True)
class Judgement:
    """One controller's values; the interval's ends are infinite if it is not known."""

    name: str
    values: Sequence[float]
    low: float
    high: float


def verdict_plot(judgements: Sequence[Judgement], limit: float, label: str) -> alt.LayerChart:
    """A row for each controller: a point for each seed, a bar for the interval, and the limit as a dashed line."""
    points = [(each.name, value) for each in judgements for value in each.values]
    intervals = [(each.name, each.low, each.high) for each in judgements if math.isfinite(each.low)]
    rows = [each.name for each in judgements]
    y = alt.Y("name:N", sort=rows, title=None)
    x = alt.X("value:Q", title=label, scale=alt.Scale(zero=False, nice=True))
    table = pl.DataFrame(points, schema={"name": pl.String, "value": pl.Float64}, orient="row")
    bars = pl.DataFrame(intervals, schema={"name": pl.String, "low": pl.Float64, "high": pl.Float64}, orient="row")
    limits = pl.DataFrame({"value": [limit]})
    chart = alt.layer(
        alt.Chart(data(bars)).mark_bar(height=12, color=HUES[0], opacity=0.25).encode(x="low:Q", x2="high:Q", y=y),
        alt.Chart(data(table)).mark_point(filled=True, size=36, color=HUES[0], opacity=0.8).encode(x=x, y=y),
        alt.Chart(data(limits)).mark_rule(color=ALARM, strokeDash=[6, 3], strokeWidth=2).encode(x="value:Q"),
        alt.Chart(data(limits)).mark_text(
            text="limit", color=ALARM, align="left", dx=4, y=-6, baseline="bottom"
        ).encode(x="value:Q"),
    ).properties(width=WIDTH, height=ROW_PX * max(len(rows), 1))  # fmt: skip
    styled_chart: alt.LayerChart = styled(chart.configure_text(color=INK))
    return styled_chart
