"""Values with a confidence interval: downloads of several kinds, and a criterion's values over seeds.

Downloads: the time of each, and below it the ratio with its interval; `analysis.sequential` defines the numbers,
`transfer` makes the downloads. A criterion: its values by controller, with its limit and the median's interval.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import WIDTH, data, styled, tips
from dumbbell.plots.colours import ALARM, HUES, INK, shades
from dumbbell.plots.layers import group_members
from dumbbell.results.result import Run

__all__ = [
    "Judgement",
    "downloads",
    "verdict_plot",
]


ROW_HEIGHT = 56
SUBTITLE_COLUMNS = 110
MARGIN = 1.15
"""Margin factor beyond the outermost values of the ratio axis."""


def downloads(run: Run, width: int) -> alt.VConcatChart:
    """The figure of a `fetch` result. Raises `ResultError` for other runs."""
    fetch: dict[str, Any] | None = run.manifest.fetch
    if fetch is None:
        raise ResultError(f"{run.folder}: not a fetch result; this figure needs one from dumbbell fetch --out")
    parts: list[alt.LayerChart] = [_times(run, width)]
    if ratios := [each for each in fetch["comparisons"] if each.get("ratio") is not None]:
        parts.append(_ratios(ratios, width))
    return styled(alt.VConcatChart(vconcat=parts, title=_title(run, fetch["verdicts"])))


def _title(run: Run, verdicts: list[str]) -> alt.TitleParams:
    verdict_lines = [line for verdict in verdicts for line in textwrap.wrap(verdict, SUBTITLE_COLUMNS)]
    facts = [f"INVALID: {'; '.join(run.manifest['invalid'])}"] if not run.manifest.valid else verdict_lines
    colour = "#555555" if run.manifest.valid else "#B00020"
    return alt.TitleParams(run.manifest.title, subtitle=facts, subtitleColor=colour, anchor="start")


def _times(run: Run, width: int) -> alt.LayerChart:
    flows = [flow for flow in run.manifest.flows if "block" in flow]
    rows = [(flow["group"], flow["block"] + 1, flow["fct_s"], flow["name"]) for flow in flows]
    schema = {"flow": pl.String, "block": pl.Int64, "v": pl.Float64, "name": pl.String}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    colours = shades(group_members(run))
    kinds = list(colours)
    y = alt.Y("flow:N", title=None, sort=kinds)
    x = alt.X("v:Q", title="download time, s (box: quartiles and median; dots: downloads)")
    x = x.scale(zero=False, nice=True)
    colour = alt.Color("flow:N", legend=None).scale(domain=kinds, range=list(colours.values()))
    boxes = alt.BoxPlotDef("boxplot", extent="min-max", size=26, opacity=0.55, median=alt.MarkConfig(color=INK))
    mark = alt.MarkDef("point", filled=True, size=22, color=INK, opacity=0.7)
    tooltip = tips(name="download", block="block|d", v="s|.4~g")
    dots = alt.Chart(data(table), mark=mark).encode(x=x, y=y, tooltip=tooltip)
    drawn = alt.Chart(data(table), mark=boxes).encode(x=x, y=y, color=colour)
    return alt.LayerChart(layer=[drawn, dots]).properties(width=width, height=ROW_HEIGHT * len(kinds))


def _ratios(ratios: list[dict[str, Any]], width: int) -> alt.LayerChart:
    """The ratios on a logarithmic axis, where half and twice the time are equally far from 1."""
    rows = [
        (f"{each['first']} ÷ {each['second']}", each["ratio"], *(each.get("interval") or [each["ratio"]] * 2))
        for each in ratios
    ]
    schema = {"flow": pl.String, "v": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    confidence = 100 * min(each.get("confidence", 0) for each in ratios)
    title = f"ratio of times (line: {confidence:.3g} % confidence interval of the median)"
    ends = [min(1.0, *table["low"]) / MARGIN, max(1.0, *table["high"]) * MARGIN]
    scale = alt.Scale(type="log", nice=False, domain=ends)
    x = alt.X("v:Q", title=title, scale=scale)
    y = alt.Y("flow:N", title=None, sort=None)
    lines = alt.Chart(data(table), mark=alt.MarkDef("rule", strokeWidth=2.5, color=INK)).encode(
        x=alt.X("low:Q", title=title, scale=scale), x2="high:Q", y=y
    )
    tooltip = tips(flow="comparison", v="ratio|.3~g", low="from|.3~g", high="to|.3~g")
    dots = alt.Chart(data(table), mark=alt.MarkDef("point", filled=True, size=90, color=INK)).encode(
        x=x, y=y, tooltip=tooltip
    )
    one = alt.Chart(data(pl.DataFrame({"v": [1.0]})), mark=alt.MarkDef("rule", strokeDash=[4, 3], color="#777777"))
    return alt.LayerChart(layer=[lines, dots, one.encode(x=x)]).properties(width=width, height=ROW_HEIGHT * len(rows))


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
