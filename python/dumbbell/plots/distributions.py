"""Distributions of a run's delays (CDFs).

`dumbbell.analysis.delays` computes them.
"""

import altair as alt
import polars as pl

from dumbbell.analysis.delays import one_way_delays, queue_delay_cdf, rtt_cdf
from dumbbell.plots.chart_axes import named_lines
from dumbbell.plots.chart_style import framed, run_title
from dumbbell.plots.downsample import downsample
from dumbbell.results.result import Run

__all__ = ["delay_curves", "delays", "round_trips", "rtt_curves"]

POINTS = 1000


def round_trips(run: Run, width: int) -> alt.LayerChart:
    """Distribution of each flow's smoothed RTT."""
    x = alt.X("s:Q", title="Smoothed RTT, ms", scale=alt.Scale(zero=False, nice=True))
    members = run.manifest["flows"]
    return _framed(run, named_lines(members, rtt_curves(run), x, _SHARE, "step"), width)


def delays(run: Run, width: int) -> alt.LayerChart:
    """Distribution of the probes' one-way delays and of the queueing delay."""
    table = delay_curves(run)
    x = alt.X("s:Q", title="Delay, ms", scale=alt.Scale(zero=True, nice=True))
    members = [{"name": name, "group": name} for name in dict.fromkeys(table["flow"])]
    return _framed(run, named_lines(members, table, x, _SHARE, "step"), width)


def rtt_curves(run: Run) -> pl.DataFrame:
    """A curve for each flow: `s` (RTT in ms), `v` (share of samples at most that), `flow`."""
    return _thinned(rtt_cdf(run).select(s="ms", v="share", flow="flow"))


def delay_curves(run: Run) -> pl.DataFrame:
    """A curve for each kind of probe and direction, and for the bottleneck's queue: `s` (ms), `v` (share), `flow`."""
    probes = one_way_delays(run).select(
        s="ms", v="share", flow=pl.col("kind") + pl.lit(", one way ") + pl.col("direction")
    )
    queue = queue_delay_cdf(run).select(s="ms", v="share", flow=pl.lit("queue (backlog ÷ rate)"))
    return _thinned(pl.concat([probes, queue]))


_SHARE = alt.Y("v:Q", title="Share of samples (CDF)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _thinned(curves: pl.DataFrame) -> pl.DataFrame:
    """Start every curve at share 0 and downsample it to the points that each pixel needs."""
    parts = [_from_zero(part) for part in curves.partition_by("flow", maintain_order=True)]
    return pl.concat([curves.clear(), *(part[downsample(part["s"], part["v"], POINTS)] for part in parts)])


def _from_zero(curve: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([curve.head(1).with_columns(v=pl.lit(0.0)), curve])


def _framed(run: Run, chart: alt.Chart, width: int) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    # A CDF holds its value up to the next delay.
    chart.mark.interpolate = "step-after"
    return framed([chart.encode(opacity=shown)], run_title(run), width)
