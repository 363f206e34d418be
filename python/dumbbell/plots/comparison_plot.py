"""Both arms of a comparison on one time axis: the mean over an arm's runs, and their range.

A series table has the columns `panel` (`bbr: cwnd, packets`), `s` (centre of the bin, seconds), `v`; a bundle has
`panel, s, mean, low, high`. A group's throughput is the sum of its flows, its window and RTT their mean, as in
`analysis.measures`.

One panel for each metric and group, one colour for each arm.
"""

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.queueing import of_bottleneck
from dumbbell.analysis.time_series import group_throughput
from dumbbell.plots.chart_style import HEIGHT, WIDTH, data, stacked, view_names
from dumbbell.plots.colours import HUES
from dumbbell.plots.layers import NS, cwnd_of, of_groups, round_step_ns
from dumbbell.results.result import Run

__all__ = ["GROUPS_MAX", "bundle", "comparison_plot", "grid_step_ns", "series"]


GROUPS_MAX = 6
"""Groups with panels; the others are omitted to keep the figure readable."""
POINTS_MAX = 12_000
"""Points of all lines on a page, to limit its size."""
BINS_MAX, BINS_MIN = 300, 50
PANELS_OF_GROUP, PANELS_OF_PATH = 3, 2


def grid_step_ns(length_s: float, groups: int, pages: int = 1) -> int:
    """The bin for a comparison of runs of that length; longer if a page shows several figures (`pages`)."""
    panels = pages * (PANELS_OF_GROUP * min(groups, GROUPS_MAX) + PANELS_OF_PATH)
    return round_step_ns(length_s * NS, max(BINS_MIN, min(BINS_MAX, POINTS_MAX // (2 * panels))))


def series(run: Run, step_ns: int) -> pl.DataFrame:
    """All series of a run that a comparison draws, panel after panel."""
    parts = [part.select(*_COLUMNS) for part in _parts(run, step_ns)]
    return pl.concat([pl.DataFrame(schema=_COLUMNS), *parts])


def bundle(several: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Mean, minimum and maximum over the runs for every bin, over the runs that have a value there."""
    together = pl.concat([pl.DataFrame(schema=_COLUMNS), *several])
    value = pl.col("v")
    return (
        together.group_by("panel", "s", maintain_order=True)
        .agg(value.mean().alias("mean"), value.min().alias("low"), value.max().alias("high"))
        .sort("s", maintain_order=True)
    )


_COLUMNS = {"panel": pl.String, "s": pl.Float64, "v": pl.Float64}


def _parts(run: Run, step_ns: int) -> Iterator[pl.DataFrame]:
    groups = list(dict.fromkeys(flow["group"] for flow in run.manifest["flows"]))[:GROUPS_MAX]
    rate = group_throughput(run, step_ns).drop_nulls().with_columns(v=pl.col("throughput_bps") / 1e6)
    yield _by_group(rate, groups, "throughput, Mbit/s")
    column, per, cwnd = cwnd_of([run])
    for value, what in (
        (pl.col(column) / per, cwnd),
        (pl.col("rtt_ns").replace(0, None) / 1e6, "smoothed RTT, ms"),
    ):
        rows = run.flows.select("time_ns", "flow", "group", v=value.cast(pl.Float64)).drop_nulls()
        yield _by_group(of_groups(_inside(rows, run), step_ns, add=False), groups, what)
    queue = run.queues.filter(of_bottleneck(run))
    yield _alone(queue.select("time_ns", v="backlog_packets"), run, step_ns, "Queue, packets")
    ping = run.probes.filter(pl.col("kind") == "ping")
    yield _alone(ping.select(time_ns="sent_ns", v=pl.col("rtt_ns") / 1e6), run, step_ns, "Ping RTT, ms")


def _by_group(table: pl.DataFrame, groups: Sequence[str], what: str) -> pl.DataFrame:
    """A panel for each group, in the order of the experiment; from `time_ns, group, v`."""
    parts = [table.filter(pl.col("group") == group) for group in groups]
    return pl.concat([table.clear(), *parts]).with_columns(
        panel=pl.col("group") + f": {what}", s=pl.col("time_ns") / NS
    )


def _alone(rows: pl.DataFrame, run: Run, step_ns: int, panel: str) -> pl.DataFrame:
    """One panel: the mean in every bin."""
    time = pl.col("time_ns") // step_ns * step_ns + step_ns // 2
    means = _inside(rows.cast({"v": pl.Float64}).drop_nulls(), run).group_by(time).agg(pl.col("v").mean())
    return means.sort("time_ns").with_columns(panel=pl.lit(panel), s=pl.col("time_ns") / NS)


def _inside(rows: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Drop the sample at the very end, which would start another bin."""
    return rows.filter(pl.col("time_ns") < round(run.manifest["duration_s"] * NS))


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
