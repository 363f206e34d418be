"""Several runs on one time axis: both arms of a comparison, or the same metric of each run.

Arms: the mean over an arm's runs, and their range; one panel for each metric and group, one colour for each arm. A
series table has the columns `panel` (`bbr: cwnd, packets`), `s` (centre of the bin, seconds), `v`; a bundle has
`panel, s, mean, low, high`. A group's throughput is the sum of its flows, its window and RTT their mean, as in
`analysis.summary`.

Overlay: a line per run. A run with several flows has a line for each flow, or for each group if there are many; more
than eight lines become small multiples, a panel per run. `layers` and the panels supply the values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from dumbbell.analysis.native import NS
from dumbbell.analysis.queueing import of_bottleneck
from dumbbell.analysis.sample_arrays import by_flow
from dumbbell.analysis.time_series import group_throughput
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import (
    HEIGHT,
    WIDTH,
    data,
    framed,
    named_lines,
    noted,
    runs_title,
    stacked,
    table,
    time_axis,
    view_names,
)
from dumbbell.plots.colours import HUES
from dumbbell.plots.layers import (
    FLOWS_MAX,
    POINTS,
    Curve,
    names,
    round_step_ns,
    step_ns,
)
from dumbbell.plots.panels import lines as lines_of
from dumbbell.plots.run_figures import labels
from dumbbell.plots.view import EVERYTHING, View
from dumbbell.results.result import Run

__all__ = [
    "GROUPS_MAX",
    "OVERLAYS",
    "bundle",
    "comparison_plot",
    "grid_step_ns",
    "overlay",
    "overlay_lines",
    "series",
]


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
    groups = list(dict.fromkeys(flow.group for flow in run.manifest.flows))[:GROUPS_MAX]
    rate = group_throughput(run, step_ns).drop_nulls().with_columns(v=pl.col("throughput_bps") / 1e6)
    yield _by_group(rate, groups, "throughput, Mbit/s")
    column, per, cwnd = cwnd_of([run])
    for value, what in (
        (pl.col(column) / per, cwnd),
        (pl.col("rtt_ns").replace(0, None) / 1e6, "smoothed RTT, ms"),
    ):
        rows = run.flows.select("time_ns", "flow", "group", v=value.cast(pl.Float64)).drop_nulls()
        yield _by_group(_of_groups(_inside(rows, run), step_ns), groups, what)
    queue = run.queues.filter(of_bottleneck(run))
    yield _alone(queue.select("time_ns", v="backlog_packets"), run, step_ns, "Queue, packets")
    ping = run.probes.filter(pl.col("kind") == "ping")
    yield _alone(ping.select("time_ns", v=pl.col("rtt_ns") / 1e6), run, step_ns, "Ping RTT, ms")


def cwnd_of(runs: Sequence[Run]) -> tuple[str, float, str]:
    """A common window unit for these runs, kB if more flows' logs record only bytes: column, divisor, axis title."""
    known = {
        column: sum(times.size > 0 for run in runs for times, _ in by_flow(run, column).values())
        for column in ("cwnd_packets", "cwnd_bytes")
    }
    if known["cwnd_bytes"] > known["cwnd_packets"]:
        return "cwnd_bytes", 1e3, "cwnd, kB"
    return "cwnd_packets", 1.0, "cwnd, packets"


def _of_groups(rows: pl.DataFrame, bin_ns: int) -> pl.DataFrame:
    """Samples (`time_ns, flow, group, v`) as one line per group: `time_ns` (the bin's centre), `group`, `v`.

    Flows are sampled at slightly different times: average each flow within a bin, then the flows of the group.
    """
    time = pl.col("time_ns") // bin_ns * bin_ns + bin_ns // 2
    means = rows.group_by(time, "group", "flow").agg(pl.col("v").mean())
    return means.group_by("time_ns", "group").agg(pl.col("v").mean()).sort("group", "time_ns")


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
    return rows.filter(pl.col("time_ns") < round(run.manifest.duration_s * NS))


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


MULTIPLE_HEIGHT = 110
"""Height of one of the small multiples, in pixels."""
BINNED = ("delivered", "throughput", "fairness")
"""Overlays of rates in bins."""


@dataclass(frozen=True)
class Overlay:
    """A metric that several runs can show on one axis."""

    about: str
    title: str
    log: bool = False


OVERLAYS: dict[str, Overlay] = {
    "delivered": Overlay("delivered data of several runs", "Delivered, Mbit/s"),
    "throughput": Overlay("goodput of several runs", "Throughput in order, Mbit/s"),
    "cwnd": Overlay("congestion windows of several runs", "cwnd, packets"),
    "rtt": Overlay("RTT of several runs, on a log axis", "Smoothed RTT, ms", log=True),
    "queue": Overlay("bottleneck queues of several runs", "Queue, packets"),
    "ping": Overlay("pings of several runs, on a log axis", "Ping RTT, ms", log=True),
    "fairness": Overlay("Jain's index of several runs", "Jain's index"),
}
"""By the name of the panel that shows the same for one run."""


def overlay(
    runs: Sequence[Run], name: str, width: int, points: int = POINTS, view: View = EVERYTHING
) -> alt.LayerChart | alt.VConcatChart:
    """The metric of all runs on one time axis; with more than `FLOWS_MAX` lines a panel per run."""
    kind = OVERLAYS[name]
    lines, members = overlay_lines(runs, name, points)
    title = cwnd_of(runs)[2] if name == "cwnd" else kind.title
    if name == "queue" and len(members) > FLOWS_MAX:
        title, members = "Bottleneck's queue, packets", _of_bottlenecks(runs, members)
        lines = lines.filter(pl.col("flow").is_in([member["name"] for member in members]))
    first, last = view.window(max(runs, key=lambda run: float(run.manifest.duration_s)))
    lines = lines.filter(pl.col("s").is_between(first, last))
    x = time_axis((first, last))
    scale = alt.Scale(type="log", nice=True) if kind.log else alt.Scale(zero=True, nice=True)
    note = _bins(runs, name)
    if view.top is not None:
        scale = alt.Scale(type="log" if kind.log else "linear", domainMax=view.top)
        largest = float(lines["v"].max() or 0.0)  # type: ignore[arg-type]
        if largest > view.top:
            note = "; ".join(filter(None, (note, f"above the axis: up to {largest:,.{0 if largest >= 100 else 2}f}")))
    # Without explicit ticks, a log axis prints overlapping labels 1, 2, 3 … 9.
    axis = alt.Axis(labelExpr=_ROUND, tickCount=10) if kind.log else alt.Axis()
    y = alt.Y("v:Q", title=noted(title, note), scale=scale, axis=axis)
    curve: Curve = "step" if name in {"delivered", "throughput"} else "linear"
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    if len(members) <= FLOWS_MAX:
        chart = named_lines(members, lines, x, y, curve)
        return framed([chart.encode(opacity=shown)], runs_title(runs, kind.about), width)
    return _multiples(members, lines, _Axes(x, title, scale, axis, curve), width, runs_title(runs, kind.about))


def _of_bottlenecks(runs: Sequence[Run], members: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """If runs have several queues, only the bottleneck's, instead of a panel per run."""
    names = {run.manifest.bottleneck for run in runs}
    return [member for member in members if member["flow"] in names]


@dataclass(frozen=True)
class _Axes:
    """The common properties of all small multiples."""

    x: alt.X
    title: str
    scale: alt.Scale
    axis: alt.Axis
    curve: Curve


def _multiples(
    members: Sequence[Mapping[str, Any]], lines: pl.DataFrame, axes: _Axes, width: int, title: alt.TitleParams
) -> alt.VConcatChart:
    """A panel for each run (`group`), stacked, with a common value range."""
    end = float(lines["v"].max() or 1.0)  # type: ignore[arg-type]
    start = float(lines["v"].min() or 1.0) if axes.scale["type"] == "log" else 0.0  # type: ignore[arg-type]
    scale = axes.scale.copy()
    scale.domain = [start, end]
    charts = []
    for group in dict.fromkeys(member["group"] for member in members):
        mine = [member for member in members if member["group"] == group]
        renamed = {member["name"]: member["flow"] for member in mine}
        part = lines.filter(pl.col("flow").is_in(list(renamed))).with_columns(pl.col("flow").replace(renamed))
        y = alt.Y("v:Q", title=[axes.title, group], scale=scale, axis=axes.axis)
        inner = [{**member, "name": member["flow"], "group": member["run_group"]} for member in mine]
        chart = named_lines(inner, part, axes.x.copy(), y, axes.curve)
        charts.append(alt.LayerChart(layer=[chart]).properties(width=width, height=MULTIPLE_HEIGHT))
    return stacked(charts, view_names(["overlay"] * len(charts))).properties(title=title)


def _bins(runs: Sequence[Run], name: str) -> str:
    """The bin length of rates: one, or its range if longer runs have longer bins."""
    if name not in BINNED:
        return ""
    steps = sorted({step_ns(run) / NS for run in runs})
    return f"bins of {steps[0]:g} s" if len(steps) == 1 else f"bins of {steps[0]:g} to {steps[-1]:g} s"


def overlay_lines(runs: Sequence[Run], name: str, points: int) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """A line table of all runs, and the members of its lines: the hue of their controller, or a hue per run.

    A member has `name`, `group` (the run), `cc`, and its name and group within the run: `flow`, `run_group`.
    """
    kind, parts = OVERLAYS[name], []
    members: list[dict[str, Any]] = []
    in_bytes = cwnd_of(runs)[0] == "cwnd_bytes"  # One unit for all.
    for run, label in zip(runs, labels(runs), strict=True):
        inner = lines_of(run, name, points, cwnd_in_bytes=in_bytes)
        if not inner:
            raise ResultError(f"{run.folder}: lacks the metric of '{name}' in the unit of the other runs")
        renamed = {f"{label}: {flow}" if len(inner) > 1 else label: line for flow, line in inner.items()}
        known = {member["name"]: member for member in names(run)}
        controllers = {member.get("cc") for member in known.values()}
        alone = {"group": label, "cc": next(iter(controllers)) if len(controllers) == 1 else None}
        for line, flow in zip(renamed, inner, strict=True):
            own = known.get(flow, alone)
            place = {"flow": flow, "run_group": own["group"], "cc": own.get("cc")}
            members.append({"name": line, "group": label, **place})
        parts.append(table(renamed))
    if len({member["cc"] for member in members}) == 1 and len(runs) > 1:
        # One controller everywhere: the runs differ in something else, so each has a hue.
        members = [{**member, "cc": None} for member in members]
    table_ = pl.concat(parts)
    return (table_.filter(pl.col("v") > 0) if kind.log else table_), members


_ROUND = (
    "indexof(['1', '2', '5'], format(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)), '.2~f')) >= 0"
    " ? format(datum.value, '~g') : ''"
)
"""Vega expression for the labels 1, 2, 5, 10, 20, 50 …"""
