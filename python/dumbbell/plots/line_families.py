"""Line families of a sweep: a value over one axis, a line for each value of another, bands for 95 % intervals.

A cross on the axis marks a point without a valid run. `sweep_map` chooses the family.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.errors import ResultError
from dumbbell.plots.chart_axes import data, tips
from dumbbell.plots.chart_style import WIDTH, styled
from dumbbell.plots.colours import CONTROLLERS, HUES, INK, shades
from dumbbell.plots.heatmap import CROSS, GAP, Panel, panel_title, reasons_text
from dumbbell.plots.heatmap_layout import Steps, step_of

__all__ = ["Values", "family"]

SHAPE = 0.62
TALLEST = 360
PADDING = 0.05
"""Share of the value range, above and below."""
FURTHEST = 3.0
"""On a logarithmic scale, bands are clipped this factor below the smallest mean, because an interval may reach 0."""


@dataclass(frozen=True)
class Values:
    """The value axis."""

    title: str
    levels: Sequence[float] = ()
    """Values of dashed horizontal lines."""
    log: bool = False


def family(
    panels: Sequence[Panel], across: Steps, lines: Steps | None, values: Values,
    title: alt.TitleParams, width: int = WIDTH,
) -> alt.ConcatChart | alt.LayerChart:  # fmt: skip
    """The figure; several panels share axes and colours. Raises `ResultError` for more lines than hues."""
    if lines is not None and len(lines.labels) > len(HUES):
        raise ResultError(
            f"{lines.shape.key} has {len(lines.labels)} values; at most {len(HUES)} lines are distinguishable: "
            "select some with --where, or draw a map with --y"
        )
    count = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    panel_width = (width - GAP * (count - 1)) / count
    size = (panel_width, min(panel_width * SHAPE, TALLEST))
    domain = _domain(panels, values)
    charts = [_panel(panel, across, lines, values, domain, size) for panel in panels]
    if len(charts) == 1:
        chart: alt.LayerChart = styled(charts[0].properties(title=title))
        return chart
    together = alt.concat(*charts, columns=count, spacing=18).resolve_scale(color="shared")
    several: alt.ConcatChart = styled(together.properties(title=title))
    return several


def _panel(
    panel: Panel, across: Steps, lines: Steps | None, values: Values, domain: list[float],
    size: tuple[float, float],
) -> alt.LayerChart:  # fmt: skip
    table = _table(panel.cells, across, lines)
    x = across.encoding(alt.X, "x", size[0])
    value, levels = values.title, values.levels
    scale = alt.Scale(type="log", domain=domain) if values.log else alt.Scale(domain=domain, nice=True, zero=False)
    y = alt.Y("mean:Q", title=value, scale=scale)
    names = ["all"] if lines is None else list(lines.labels)
    legend = None if lines is None else alt.Legend(title=lines.shape.key, labelLimit=240, symbolOpacity=1)
    colour = alt.Color("line:N", legend=legend).scale(domain=names, range=_colours(names))
    known = table.filter(pl.col("mean").is_not_null())
    cut = known.drop_nulls("low").with_columns(pl.col("low").clip(domain[0]))
    spans = alt.Chart(data(cut))
    # A categorical axis has no values in between: draw no line, and a separate interval for each point.
    between = across.scale != "category"
    band = alt.MarkDef("area", opacity=0.18, clip=True) if between else alt.MarkDef("rule", strokeWidth=2, opacity=0.6)
    spans.mark = band
    layers = [spans.encode(x=x, y=alt.Y("low:Q", title=value, scale=scale), y2="high:Q", color=colour)]
    if between:
        line = alt.MarkDef("line", strokeWidth=1.6, clip=True)
        layers.append(alt.Chart(data(known), mark=line).encode(x=x, y=y, color=colour))
    dots = alt.Chart(data(known), mark=alt.MarkDef("point", filled=True, size=36, opacity=1))
    tooltip = tips(
        line="line", xt=across.shape.key, mean="mean|.4~g", between="95 % interval", n="runs|d", invalid="invalid|d",
        failed="failed|d", unknown="value unknown|d", reasons="why", point="point|d",
    )  # fmt: skip
    layers.append(dots.encode(x=x, y=y, color=colour, tooltip=tooltip))
    missing = table.filter(pl.col("mean").is_null()).with_columns(mean=pl.lit(domain[0]))
    if not missing.is_empty():
        cross = alt.MarkDef("point", shape=CROSS, size=80, filled=True, opacity=1)
        layers.append(alt.Chart(data(missing), mark=cross).encode(x=x, y=y, color=colour, tooltip=tooltip))
    for level in levels:
        rule = alt.MarkDef("rule", color=INK, strokeDash=[4, 3])
        layers.append(alt.Chart(alt.InlineData(values=[{"mean": level}]), mark=rule).encode(y=y))
    layers[0].name = "panel_0"
    chart = alt.LayerChart(layer=layers).properties(width=size[0], height=size[1])
    return chart.properties(title=panel_title(panel)) if panel.title else chart


def _colours(names: Sequence[str]) -> list[str]:
    """The controllers' hues if all lines are controllers, else the hues in order."""
    if not all(name in CONTROLLERS for name in names):
        return list(HUES[: len(names)])
    return list(shades([{"name": name, "group": name, "cc": name} for name in names]).values())


def _table(cells: pl.DataFrame, across: Steps, lines: Steps | None) -> pl.DataFrame:
    on = step_of(across, cells).tolist()
    named = ["all"] * cells.height if lines is None else [lines.labels[step] for step in step_of(lines, cells)]
    spans = cells.select("low", "high").iter_rows()
    own = pl.DataFrame({
        "x": [across.numbers[step] for step in on], "xt": [across.labels[step] for step in on], "line": named,
        "between": ["unknown" if low is None or high is None else f"{low:.4g} … {high:.4g}" for low, high in spans],
    })  # fmt: skip
    kept = cells.select("point", "mean", "low", "high", "n", "unknown", "invalid", "failed", reasons_text())
    return kept.hstack(own).sort("line", "x", maintain_order=True)


def _domain(panels: Sequence[Panel], values: Values) -> list[float]:
    found = [value for panel in panels for name in ("mean", "low", "high") for value in panel.cells[name].drop_nulls()]
    if values.log:
        means = [value for panel in panels for value in panel.cells["mean"].drop_nulls()]
        shown = [*means, *(value for value in (*found, *values.levels) if value >= min(means) / FURTHEST)]
        return [min(shown) / (1 + PADDING), max(shown) * (1 + PADDING)]
    ends = [*found, *values.levels]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    padding = (high - low) * PADDING or abs(high) * PADDING or 1.0
    # Start at 0 if the values start near 0, so that padding never extends a share below 0.
    return [0.0 if 0 <= low <= (high - low) / 2 else low - padding, high + padding]
