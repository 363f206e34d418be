"""The panels: each a function from a run to the layers of one Altair chart.

A panel knows its numbers, its axis and its marks. Which panels stand in a figure, and what
they share, is `figure`.
"""

import io
import re
from collections.abc import Callable
from typing import Literal

import altair as alt
import polars as pl

from dumbbell.analysis import retransmit_rate
from dumbbell.plot.colours import ALARM, HUES, INK, NOTE, dashes, shades
from dumbbell.plot.lines import NS, grouped, names, rate_lines, sample_lines, step_ns, thinned
from dumbbell.result import Run

__all__ = ["PANELS", "Panel"]

Panel = Callable[[Run, int], list[alt.Chart]]
"""Takes the run and how many points a line may have; gives the panel's layers."""


def throughput(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Goodput at the receiver, in bins."""
    return _flow_lines(run, rate_lines(run), f"Throughput in {step_ns(run) / NS:g} s, Mbit/s", curve="step")


def cwnd(run: Run, points: int) -> list[alt.Chart]:
    """Congestion window."""
    if run.flows["cwnd_packets"].null_count() == len(run.flows):  # Some logs know bytes only.
        kilobytes = sample_lines(run, pl.col("cwnd_bytes") / 1e3, add=True, points=points)
        return _flow_lines(run, kilobytes, "cwnd, kB")
    return _flow_lines(run, sample_lines(run, pl.col("cwnd_packets"), add=True, points=points), "cwnd, packets")


def rtt(run: Run, points: int) -> list[alt.Chart]:
    """Smoothed round-trip time."""
    values = pl.col("rtt_ns").replace(0, None) / 1e6
    return _flow_lines(run, sample_lines(run, values, add=False, points=points), "Smoothed RTT, ms")


def inflight(run: Run, points: int) -> list[alt.Chart]:
    """Packets in flight (RFC 6675's pipe)."""
    table = sample_lines(run, pl.col("inflight_packets"), add=True, points=points)
    return _flow_lines(run, table, "In flight, packets")


def rates(run: Run, points: int) -> list[alt.Chart]:
    """Delivery rate, and the pacing rate dashed and pale behind it."""
    delivery = sample_lines(run, pl.col("delivery_rate_bps") / 1e6, add=True, points=points)
    pacing = sample_lines(run, pl.col("pacing_rate_bps") / 1e6, add=True, points=points)
    # Start-up paces at many times the link's rate; the axis is the delivery's.
    top = max(_largest(delivery) * 1.5, min(_largest(pacing), _quantile(pacing, 0.99) * 1.2), 0.1)
    y = _y("Delivery (pacing: dots), Mbit/s", alt.Scale(domain=[0, top], nice=True))
    behind = _line(run, pacing, y, alt.MarkDef("line", clip=True, strokeWidth=1, opacity=0.6, strokeDash=[1, 2]))
    before = _line(run, delivery, y, alt.MarkDef("line", clip=True, strokeWidth=1.3))
    return [before, behind]


def retransmits(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Retransmitted segments a second."""
    per_second = pl.col("retransmit_packets") * NS / step_ns(run)
    table = retransmit_rate(run, step_ns(run)).select(
        (pl.col("time_ns") / NS).alias("s"), per_second.alias("v"), pl.col("group" if grouped(run) else "flow")
    )
    if grouped(run):
        table = table.rename({"group": "flow"}).group_by("s", "flow").agg(pl.col("v").sum()).sort("flow", "s")
    return _flow_lines(run, table, "Retransmits, packets/s", curve="step")


def queue(run: Run, points: int) -> list[alt.Chart]:
    """Backlog of the queues under test; the bottleneck's limit, drops and marks."""
    bottleneck = run.birth.get("bottleneck") or ""
    which = pl.col("under_test") | (pl.col("queue") == bottleneck)
    rows = run.queues.filter(which).select(
        (pl.col("time_ns") / NS).alias("s"), pl.col("backlog_packets").cast(pl.Float64).alias("v"), flow="queue"
    )
    table = thinned(rows.drop_nulls(), points)
    limit = _limit_packets(run)
    largest = _largest(table)
    shown = limit if limit is not None and limit[0] <= 3 * max(largest, 1.0) else None
    title = "Queue, packets" if shown is None or "B" not in shown[1] else f"Queue, packets ({shown[1]})"
    top = max(largest, shown[0] if shown else 0.0, 1.0) * 1.12
    y = _y(title, alt.Scale(domain=[0, top], nice=False))
    queues = list(dict.fromkeys(table["flow"]))
    # "stroke", not "color": queues must not enter the legend of the flows.
    colours = [INK, *HUES[::-1]][: len(queues)]
    legend = alt.Legend(title="queue") if len(queues) > 1 else None
    stroke = alt.Stroke("flow:N", legend=legend).scale(domain=queues[: len(colours)], range=colours)
    base = alt.Chart(_data(table)).mark_line(strokeWidth=1, clip=True)
    layers = [base.encode(x=_x(run), y=y, stroke=stroke, tooltip=_TOOLTIP)]
    if shown is not None:
        rule = alt.Chart(alt.InlineData(values=[{"v": shown[0]}])).mark_rule(color=ALARM, strokeDash=[4, 3])
        layers.append(rule.encode(y=alt.Y("v:Q")))
    layers += [
        _ticks(run, "drops_packets", ALARM, 4, points),
        _ticks(run, "marks_packets", NOTE, 10, points),
    ]
    return layers


def ping(run: Run, points: int) -> list[alt.Chart]:
    """Round-trip time of answered pings, and ticks where one was lost."""
    rows = run.probes.filter(pl.col("kind") == "ping").select(
        (pl.col("sent_ns") / NS).alias("s"), (pl.col("rtt_ns") / 1e6).alias("v"), flow="probe"
    )
    y = _y("Ping RTT, ms")
    line = alt.Chart(_data(thinned(rows.drop_nulls(), points))).mark_line(
        strokeWidth=1, color=INK, clip=True, point=alt.OverlayMarkDef(size=6, color=INK)
    )
    lost = rows.filter(pl.col("v").is_null())
    ticks = alt.Chart(_data(lost)).mark_tick(color=ALARM, orient="vertical", size=8, thickness=1, clip=True)
    return [line.encode(x=_x(run), y=y, detail="flow:N", tooltip=_TOOLTIP), ticks.encode(x=_x(run), y=alt.value(4))]


PANELS: dict[str, Panel] = {
    "throughput": throughput,
    "cwnd": cwnd,
    "rtt": rtt,
    "queue": queue,
    "rates": rates,
    "retransmits": retransmits,
    "inflight": inflight,
    "ping": ping,
}
"""Every panel, by the name that `--panels` knows."""

_TOOLTIP = [
    alt.Tooltip("flow:N", title="name"),
    alt.Tooltip("s:Q", title="time, s", format=".3f"),
    alt.Tooltip("v:Q", title="value", format=".4~g"),
]


def _flow_lines(
    run: Run, table: pl.DataFrame, title: str, curve: Literal["linear", "step"] = "linear"
) -> list[alt.Chart]:
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.3, interpolate=curve)
    line = _line(run, table, _y(title), mark)
    dash = dashes(names(run))
    scale = alt.Scale(domain=list(dash), range=list(dash.values()))
    return [line.encode(strokeDash=alt.StrokeDash("flow:N", title=None, scale=scale))]


def _line(run: Run, table: pl.DataFrame, y: alt.Y, mark: alt.MarkDef) -> alt.Chart:
    shade = shades(names(run))
    colour = alt.Color("flow:N", title=None).scale(domain=list(shade), range=list(shade.values()))
    return alt.Chart(_data(table), mark=mark).encode(x=_x(run), y=y, color=colour, tooltip=_TOOLTIP)


def _ticks(run: Run, column: str, colour: str, height: int, points: int) -> alt.Chart:
    """A tick at the panel's top for every sample in which the bottleneck's counter grew."""
    rows = run.queues.filter(pl.col("queue") == (run.birth.get("bottleneck") or "")).select("time_ns", pl.col(column))
    grew = rows.drop_nulls().filter(pl.col(column).diff() > 0)
    # Ticks closer than a pixel are one.
    bin_ns = max(round(run.birth["duration_s"] * NS / points * 2), 1)
    seconds = grew.select((pl.col("time_ns") // bin_ns * bin_ns / NS).alias("s")).unique(maintain_order=True)
    mark = alt.MarkDef("tick", orient="vertical", color=colour, size=7, thickness=1, clip=True)
    return alt.Chart(_data(seconds), mark=mark).encode(x=_x(run), y=alt.value(height))


def _limit_packets(run: Run) -> tuple[float, str] | None:
    """The bottleneck's limit in packets and as it was written; bytes count in packets of the mean size queued."""
    entry = next((queue for queue in run.birth["queues"] if queue["name"] == run.birth.get("bottleneck")), None)
    found = re.search(r"\blimit (\d+)(k?b?)\b", str(entry.get("qdisc") or "")) if entry else None
    if entry is None or found is None:
        return None
    limit = float(found[1]) * (1024 if found[2].startswith("k") else 1)
    if entry["kind"] not in {"bfifo", "tbf", "red", "gred"}:
        return limit, f"limit {limit:g}"
    rows = run.queues.filter((pl.col("queue") == entry["name"]) & (pl.col("backlog_packets") > 0))
    size = float(rows["backlog_bytes"].sum()) / max(float(rows["backlog_packets"].sum()), 1.0)
    return (limit / size, f"limit {limit:g} B") if size else None


def _x(run: Run) -> alt.X:
    scale = alt.Scale(domain=[0, run.birth["duration_s"]], nice=False)
    return alt.X("s:Q", title="Time, s", scale=scale)


def _y(title: str, scale: alt.Scale | None = None) -> alt.Y:
    return alt.Y("v:Q", title=title, scale=scale or alt.Scale(zero=True, nice=True))


def _largest(table: pl.DataFrame) -> float:
    return _quantile(table, 1.0)


def _quantile(table: pl.DataFrame, share: float) -> float:
    return float(table["v"].quantile(share) or 0.0)


def _data(table: pl.DataFrame) -> alt.InlineData:
    """A table as CSV inside the description: a third of the size of JSON."""
    short = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in table.schema.items()}
    text = io.StringIO()
    short.write_csv(text, line_terminator="\n")
    return alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv", parse=parse))
