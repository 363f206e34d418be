"""Panels of the path on the time axis: the queue, its losses, and what a ping felt."""

import altair as alt
import polars as pl

from dumbbell.analysis import loss as loss_over_time
from dumbbell.analysis import of_bottleneck
from dumbbell.plot.axes import TOOLTIP, data, quantile, rule, time_axis, tips, y_axis
from dumbbell.plot.colours import ALARM, HUES, INK, NOTE, shades
from dumbbell.plot.lines import NS, grouped, names, step_ns, thinned
from dumbbell.plot.path import limit_packets
from dumbbell.result import Run

__all__ = ["loss", "loss_rate", "ping", "ping_lines", "queue", "queue_lines"]


def queue(run: Run, points: int) -> list[alt.Chart]:
    """Backlog of the queues under test; the bottleneck's limit, drops and marks."""
    table = queue_lines(run, points)
    limit = limit_packets(run)
    largest = quantile(table, 1)
    shown = limit if limit is not None and limit[0] <= 3 * max(largest, 1.0) else None
    top = max(largest, shown[0] if shown else 0.0, 1.0) * 1.18
    y = y_axis("Queue, packets", alt.Scale(domain=[0, top], nice=False), note=f"dashed: {shown[1]}" if shown else "")
    queues = list(dict.fromkeys(table["flow"]))
    # "stroke", not "color": queues must not enter the legend of the flows.
    colours = [INK, *HUES[-2::-1]][: len(queues)]  # The last hue is black, too.
    legend = alt.Legend(title="queue") if len(queues) > 1 else None
    stroke = alt.Stroke("flow:N", legend=legend).scale(domain=queues[: len(colours)], range=colours)
    base = alt.Chart(data(table)).mark_line(strokeWidth=1, clip=True)
    layers = [base.encode(x=time_axis(run), y=y, stroke=stroke)]
    if shown is not None:
        layers.append(rule(shown[0], ALARM))
    return [*layers, _ticks(run, "drops_packets", ALARM, 4, points), _ticks(run, "marks_packets", NOTE, 10, points)]


def queue_lines(run: Run, points: int) -> pl.DataFrame:
    """Backlog in packets of the bottleneck and of whatever else is under test."""
    which = pl.col("under_test") | of_bottleneck(run)
    rows = run.queues.filter(which).select(
        (pl.col("time_ns") / NS).alias("s"), pl.col("backlog_packets").cast(pl.Float64).alias("v"), flow="queue"
    )
    return thinned(rows.drop_nulls(), points)


def ping(run: Run, points: int) -> list[alt.Chart]:
    """Round-trip time of answered pings, and ticks where one was lost."""
    y = y_axis("Ping RTT, ms")
    table = data(ping_lines(run, points))
    line = alt.Chart(table, mark=alt.MarkDef("line", strokeWidth=1, color=INK, clip=True))
    dots = alt.Chart(table, mark=alt.MarkDef("point", filled=True, size=6, color=INK, opacity=1, clip=True))
    lost = run.probes.filter((pl.col("kind") == "ping") & pl.col("rtt_ns").is_null())
    mark = alt.MarkDef("tick", color=ALARM, orient="vertical", size=8, thickness=1, clip=True)
    ticks = alt.Chart(data(lost.select((pl.col("sent_ns") / NS).alias("s"))), mark=mark)
    x = time_axis(run)
    return [
        line.encode(x=x, y=y, detail="flow:N"),
        dots.encode(x=x, y=y, tooltip=TOOLTIP),
        ticks.encode(x=x, y=alt.value(4)),
    ]


def ping_lines(run: Run, points: int) -> pl.DataFrame:
    """Round-trip times of answered pings in ms."""
    rows = run.probes.filter(pl.col("kind") == "ping").select(
        (pl.col("sent_ns") / NS).alias("s"), (pl.col("rtt_ns") / 1e6).alias("v"), flow="probe"
    )
    return thinned(rows.drop_nulls(), points)


def loss(run: Run, points: int) -> list[alt.Chart]:
    """A row for each flow, marked wherever it repeated a packet; one for the bottleneck's drops, one for its marks."""
    shade = shades(names(run))
    row = "group" if grouped(run) else "flow"
    flows = _grown(run, run.flows.select("time_ns", row=row, of="flow", count="retrans_packets"), points)
    bottleneck = run.queues.filter(of_bottleneck(run))
    parts = [flows]
    for column, label in (("drops_packets", DROPPED), ("marks_packets", MARKED)):
        parts.append(_grown(run, _counter(bottleneck, column, label), points))
    table = pl.concat(parts)
    rows = [*shade, *(label for label in (DROPPED, MARKED) if label in table["row"])]
    colours = [*shade.values(), *(colour for label, colour in ((DROPPED, INK), (MARKED, NOTE)) if label in rows)]
    mark = alt.MarkDef("tick", orient="vertical", thickness=1, clip=True, bandSize=11)
    y = alt.Y("row:N", title="Repeats, drops", sort=None, scale=alt.Scale(domain=rows))
    stroke = alt.Stroke("row:N", legend=None).scale(domain=rows, range=colours)
    tooltip = tips(row="of", s="time, s|.3f", packets="packets|d")
    return [alt.Chart(data(table), mark=mark).encode(x=time_axis(run), y=y, stroke=stroke, tooltip=tooltip)]


DROPPED = "queue's drops"
MARKED = "queue's marks"


def loss_rate(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Share of the packets that the bottleneck dropped, in bins."""
    rows = loss_over_time(run, step_ns(run)).filter(of_bottleneck(run))
    table = rows.select((pl.col("time_ns") / NS).alias("s"), (pl.col("loss_rate") * 100).alias("v"), flow="queue")
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.2, color=INK, interpolate="step")
    y = y_axis("Dropped by the queue, %", note=f"bins of {step_ns(run) / NS:g} s")
    return [alt.Chart(data(table.drop_nulls()), mark=mark).encode(x=time_axis(run), y=y)]


def _grown(run: Run, counted: pl.DataFrame, points: int) -> pl.DataFrame:
    """`s, row, packets`: where a counter (`time_ns, row, of, count`) grew, and by how many; a pixel has one mark."""
    bin_ns = _bin_ns(run, points)
    count = pl.col("count").cast(pl.Int64)
    growth = counted.drop_nulls().with_columns(packets=count.diff().over("of").fill_null(count))
    marks = growth.filter(pl.col("packets") > 0).with_columns(at=pl.col("time_ns") // bin_ns)
    found = marks.group_by("row", "at", maintain_order=True).agg(pl.col("time_ns").first(), pl.col("packets").sum())
    return found.select((pl.col("time_ns") / NS).alias("s"), "row", "packets")


def _ticks(run: Run, column: str, colour: str, height: int, points: int) -> alt.Chart:
    """A tick at the panel's top for every sample in which the bottleneck's counter grew."""
    rows = run.queues.filter(of_bottleneck(run))
    mark = alt.MarkDef("tick", orient="vertical", color=colour, size=7, thickness=1, clip=True)
    drawn = alt.Chart(data(_grown(run, _counter(rows, column, column), points).select("s")), mark=mark)
    return drawn.encode(x=time_axis(run), y=alt.value(height))


def _counter(rows: pl.DataFrame, column: str, label: str) -> pl.DataFrame:
    return rows.select("time_ns", pl.lit(label).alias("row"), of="queue", count=column)


def _bin_ns(run: Run, points: int) -> int:
    """Marks closer than a pixel are one: as many bins as a line has pixels."""
    return max(round(float(run.birth["duration_s"]) * NS / points * 2), 1)
