"""Several runs on one axis of time: the same numbers of each, a line for each run.

A run with several flows has a line for each of them, or for each group of many. What the numbers are is
`lines` and the panels'; which runs these are, `labels`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.errors import ResultError
from dumbbell.plot.axes import named_lines
from dumbbell.plot.charts import table
from dumbbell.plot.flowpanels import fairness_lines, rtt_lines
from dumbbell.plot.frame import framed, runs_title
from dumbbell.plot.labels import labels
from dumbbell.plot.layers import Trace
from dumbbell.plot.lines import cwnd_of, names, rate_lines, sample_lines
from dumbbell.plot.pathpanels import ping_lines, queue_lines
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["OVERLAYS", "Overlay", "overlay", "overlay_lines"]


@dataclass(frozen=True)
class Overlay:
    """Numbers that several runs can show on one axis."""

    about: str
    title: str
    lines: Callable[[Run, int], dict[str, Trace]]
    log: bool = False


OVERLAYS: dict[str, Overlay] = {
    "throughput": Overlay("goodput of several runs", "Throughput, Mbit/s", lambda run, _: rate_lines(run)),
    "cwnd": Overlay(
        "congestion windows of several runs", "cwnd, packets",
        lambda run, points: sample_lines(run, "cwnd_packets", add=True, points=points),
    ),
    "rtt": Overlay("RTT of several runs, on a log axis", "Smoothed RTT, ms", rtt_lines, log=True),
    "queue": Overlay("queues of several runs, such as several limits", "Queue, packets", queue_lines),
    "ping": Overlay("pings of several runs, on a log axis", "Ping RTT, ms", ping_lines, log=True),
    "fairness": Overlay("Jain's index of several runs", "Jain's index", lambda run, _: fairness_lines(run)),
}  # fmt: skip
"""By the name of the panel that shows the same of one run."""


def overlay(runs: Sequence[Run], name: str, width: int, points: int = POINTS) -> alt.LayerChart:
    """These numbers of all runs, on one axis of time."""
    kind = OVERLAYS[name]
    lines, members = overlay_lines(runs, name, points)
    title = cwnd_of(runs)[2] if name == "cwnd" else kind.title
    end_s = max(run.birth["duration_s"] for run in runs)
    x = alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=[0, end_s], nice=False))
    scale = alt.Scale(type="log", nice=True) if kind.log else alt.Scale(zero=True, nice=True)
    # Without ticks of our own a log axis writes every 1, 2, 3 … 9 over each other.
    axis = alt.Axis(labelExpr=_ROUND, tickCount=10) if kind.log else alt.Axis()
    y = alt.Y("v:Q", title=title, scale=scale, axis=axis)
    chart = named_lines(members, lines, x, y, "step" if name == "throughput" else "linear")
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    return framed([chart.encode(opacity=shown)], runs_title(runs, kind.about), width)


def overlay_lines(runs: Sequence[Run], name: str, points: int) -> tuple[pl.DataFrame, list[dict[str, str | None]]]:
    """A line table of all runs, and its lines' members: the hue of their controller, or one of the run's own."""
    kind, parts = OVERLAYS[name], []
    members: list[dict[str, str | None]] = []
    column, per, _ = cwnd_of(runs)  # All of them in one unit.
    for run, label in zip(runs, labels(runs), strict=True):
        cwnd = name == "cwnd"
        inner = sample_lines(run, column, per, add=True, points=points) if cwnd else kind.lines(run, points)
        if not any(s.size for s, _ in inner.values()):
            raise ResultError(f"{run.folder}: can't draw '{name}' beside the others: it isn't known in their unit")
        called = {f"{label}: {flow}" if len(inner) > 1 else label: trace for flow, trace in inner.items()}
        controllers = {member["name"]: member.get("cc") for member in names(run)}
        alone = next(iter(controllers.values())) if len(set(controllers.values())) == 1 else None
        members += [
            {"name": line, "group": label, "cc": controllers.get(flow, alone)}
            for line, flow in zip(called, inner, strict=True)
        ]
        parts.append(table(called))
    whole = pl.concat(parts)
    return (whole.filter(pl.col("v") > 0) if kind.log else whole), members


_ROUND = (
    "indexof(['1', '2', '5'], format(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)), '.2~f')) >= 0"
    " ? format(datum.value, '~g') : ''"
)
"""Vega's expression for the labels 1, 2, 5, 10, 20, 50 …"""
