"""Throughput against delay: a point for each controller in each run, an ellipse for each controller.

The usual comparison of controllers (Winstein & Balakrishnan 2013; Pantheon, Yan et al. 2018): delay grows to the left,
so that better is up and right. `dumbbell.analysis.power` computes it.
"""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.power import throughput_and_delay_p95
from dumbbell.plots.chart_axes import data, tips
from dumbbell.plots.chart_style import framed, runs_title
from dumbbell.plots.colours import shades
from dumbbell.plots.ellipse import POINTS_MIN, ellipse
from dumbbell.plots.labels import configurations, labels
from dumbbell.results.result import Run

__all__ = ["points", "throughput_delay"]

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
PADDING = 0.08
"""Share of the value range, beyond the outermost points."""


def throughput_delay(runs: Sequence[Run], width: int) -> alt.LayerChart:
    """Mean goodput per flow against the 95th percentile of delay."""
    table = points(runs)
    controllers = dict(table.select("flow", "cc").iter_rows())
    order = list(controllers)
    rings = [_ring(part) for part in table.partition_by("flow", maintain_order=True) if part.height >= POINTS_MIN]
    shown = pl.concat([part.select("ms", "mbps") for part in (table, *rings)])
    x = alt.X("ms:Q", title="95th-percentile delay, ms (reversed: better is up and right)")
    x = x.scale(reverse=True, zero=False, nice=False, domain=_domain(shown["ms"]))
    y = alt.Y("mbps:Q", title="Throughput per flow, Mbit/s")
    y = y.scale(zero=False, nice=False, domain=_domain(shown["mbps"]))
    hues = list(shades([{"name": name, "group": name, "cc": controllers[name]} for name in order]).values())
    colour = alt.Color("flow:N", title=None).scale(domain=order, range=hues)
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(order))]
    shape = alt.Shape("flow:N", title=None).scale(domain=order, range=shapes)
    picked = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.85), alt.value(0.08))
    tooltip = tips(flow="controller", run="run", ms="delay, ms|.4~g", mbps="Mbit/s|.4~g")
    mark = alt.MarkDef("point", filled=True, size=45, clip=True)
    dots = alt.Chart(data(table), mark=mark).encode(
        x=x, y=y, color=colour, shape=shape, opacity=picked, tooltip=tooltip
    )
    layers = [dots]
    if rings:
        line = alt.MarkDef("line", clip=True, strokeWidth=1.5)
        ring = alt.Chart(data(pl.concat(rings)), mark=line)
        layers.append(ring.encode(x=x, y=y, color=colour, order="turn:Q", opacity=picked))
    chart = framed(layers, runs_title(runs, "Throughput against delay"), width, 380)
    chart.config.legend.symbolSize = 70
    return chart


def points(runs: Sequence[Run]) -> pl.DataFrame:
    """A point for each controller in each run, the mean over its flows: `flow` (its name), `run, cc, ms, mbps`."""
    setups = configurations(runs)
    several = len(set(setups)) > 1
    parts = []
    for run, label, setup in zip(runs, labels(runs), setups, strict=True):
        # Logs may not record the controller; then use the flow's name.
        controllers = {flow["name"]: flow["cc"] or flow["name"] for flow in run.manifest["flows"]}
        means = (
            throughput_and_delay_p95(run)
            .with_columns(cc=pl.col("flow").replace_strict(controllers, return_dtype=pl.String))
            .drop_nulls()
            .group_by("cc", maintain_order=True)
            .agg(ms=pl.col("delay_p95_ms").mean(), mbps=pl.col("throughput_bps").mean() / 1e6)
        )
        alone = means.height == 1 and several
        name = pl.lit(setup) if alone else pl.concat_str([pl.col("cc"), pl.lit(f" ({setup})" if several else "")])
        known = pl.when(pl.col("cc").is_in([flow["cc"] for flow in run.manifest["flows"] if flow["cc"]])).then("cc")
        parts.append(means.select(name.alias("flow"), pl.lit(label).alias("run"), known.alias("cc"), "ms", "mbps"))
    return pl.concat(parts).drop_nulls(["ms", "mbps"])


def _domain(values: pl.Series) -> list[float]:
    """The value range with padding on both sides, but never below 0."""
    low, high = float(values.min() or 0.0), float(values.max() or 0.0)  # type: ignore[arg-type]
    padding = PADDING * (high - low) or PADDING * high or 1.0
    return [max(low - padding, 0.0), high + padding]


def _ring(part: pl.DataFrame) -> pl.DataFrame:
    outline = ellipse(part["ms"].to_numpy(), part["mbps"].to_numpy())
    outline_table = pl.DataFrame({"ms": outline[:, 0], "mbps": outline[:, 1]})
    return outline_table.with_row_index("turn").with_columns(flow=pl.lit(part["flow"][0]))
