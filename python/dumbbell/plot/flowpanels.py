"""Panels of flows on the time axis: a line for each flow, or for each group of many.

What queues and probes say is `pathpanels`, what a controller was doing `bands`; which panel has
which name is `panels`.
"""

import altair as alt
import polars as pl

from dumbbell.analysis import group_throughput, retransmit_rate
from dumbbell.analysis.fairness import jain_over_time
from dumbbell.analysis.window import long_lived
from dumbbell.plot.axes import data as inline
from dumbbell.plot.axes import flow_lines, line, named_lines, quantile, rule, step_lines, time_axis, y_axis
from dumbbell.plot.colours import ALARM, INK
from dumbbell.plot.lines import NS, cwnd_of, grouped, rate_lines, sample_lines, step_ns
from dumbbell.plot.path import bdp_packets, link_rate_mbps
from dumbbell.result import Run

__all__ = [
    "bandwidth", "cwnd", "fairness", "gains", "groups", "inflight", "rates", "retransmits", "rtt", "throughput",
]  # fmt: skip


def throughput(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Goodput at the receiver, in bins."""
    return flow_lines(run, rate_lines(run), y_axis("Throughput, Mbit/s", note=_bins(run)), curve="step")


def groups(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Goodput of each group: the sum of its flows; thick, so that it isn't taken for a flow."""
    rates_bps = group_throughput(run, step_ns(run)).drop_nulls()
    table = rates_bps.select(
        (pl.col("time_ns") / NS).alias("s"), (pl.col("throughput_bps") / 1e6).alias("v"), flow="group"
    )
    members = [{"name": name, "group": name} for name in dict.fromkeys(flow["group"] for flow in run.birth["flows"])]
    y = y_axis("Groups, Mbit/s", note=_bins(run))
    chart = named_lines(members, table, time_axis(run), y, "step")
    # "stroke", not "color": where flows have other names than groups, each has its own legend.
    scale = chart.encoding.color["scale"]
    chart.encoding.color = alt.Undefined
    chart.encoding.strokeDash = alt.Undefined
    return [chart.encode(stroke=alt.Stroke("flow:N", title="group", scale=scale, legend=alt.Legend()))]


def cwnd(run: Run, points: int) -> list[alt.Chart]:
    """Congestion window, in the unit in which it is known."""
    value, title = cwnd_of([run])
    return flow_lines(run, sample_lines(run, value, add=True, points=points), title)


def rtt(run: Run, points: int) -> list[alt.Chart]:
    """Smoothed round-trip time."""
    return flow_lines(run, rtt_lines(run, points), "Smoothed RTT, ms")


def rtt_lines(run: Run, points: int) -> pl.DataFrame:
    """Smoothed RTT in ms; a flow that has measured none yet has none, not 0."""
    return sample_lines(run, pl.col("rtt_ns").replace(0, None) / 1e6, add=False, points=points)


def inflight(run: Run, points: int) -> list[alt.Chart]:
    """Packets in flight (RFC 6675's pipe), and the path's BDP where rate and RTT are known."""
    table = sample_lines(run, pl.col("inflight_packets"), add=True, points=points)
    bdp = bdp_packets(run)
    y = y_axis("In flight, packets", note="" if bdp.is_empty() else "dashed: BDP")
    return [*flow_lines(run, table, y), *([] if bdp.is_empty() else [step_lines(run, bdp, INK)])]


def rates(run: Run, points: int) -> list[alt.Chart]:
    """Delivery rate, and the pacing rate dashed and pale behind it."""
    delivery = sample_lines(run, pl.col("delivery_rate_bps") / 1e6, add=True, points=points)
    pacing = sample_lines(run, pl.col("pacing_rate_bps") / 1e6, add=True, points=points)
    # Start-up paces at many times the link's rate; the axis is the delivery's.
    top = max(quantile(delivery, 1) * 1.5, min(quantile(pacing, 1), quantile(pacing, 0.99) * 1.2), 0.1)
    y = y_axis("Delivery rate, Mbit/s", alt.Scale(domain=[0, top], nice=True), note="dots: pacing rate")
    behind = line(run, pacing, y, alt.MarkDef("line", clip=True, strokeWidth=1, opacity=0.6, strokeDash=[1, 2]))
    before = line(run, delivery, y, alt.MarkDef("line", clip=True, strokeWidth=1.3))
    return [before, behind]


def bandwidth(run: Run, points: int) -> list[alt.Chart]:
    """What BBR believes to be its bottleneck's bandwidth, and the rate that the link has."""
    table = sample_lines(run, pl.col("bbr_bw_bps") / 1e6, add=True, points=points)
    rate = link_rate_mbps(run)
    y = y_axis("BBR's bandwidth, Mbit/s", note="" if rate.is_empty() else "dashed: the link's")
    return [*flow_lines(run, table, y), *([] if rate.is_empty() else [step_lines(run, rate, INK)])]


def gains(run: Run, points: int) -> list[alt.Chart]:
    """BBR's pacing gain, and its cwnd gain dotted."""
    pacing = sample_lines(run, pl.col("bbr_pacing_gain"), add=False, points=points)
    cwnd_gain = sample_lines(run, pl.col("bbr_cwnd_gain"), add=False, points=points)
    y = y_axis("BBR's pacing gain", alt.Scale(domain=[0, 3.1], nice=False), note="dots: cwnd gain")
    before = line(run, pacing, y, alt.MarkDef("line", clip=True, strokeWidth=1.1, interpolate="step-after"))
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.2, strokeDash=[1, 2], interpolate="step-after")
    return [before, line(run, cwnd_gain, y, mark)]


def retransmits(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Retransmitted segments a second."""
    per_second = pl.col("retransmit_packets") * NS / step_ns(run)
    table = retransmit_rate(run, step_ns(run)).select(
        (pl.col("time_ns") / NS).alias("s"), per_second.alias("v"), pl.col("group" if grouped(run) else "flow")
    )
    if grouped(run):
        table = table.rename({"group": "flow"}).group_by("s", "flow").agg(pl.col("v").sum()).sort("flow", "s")
    return flow_lines(run, table, "Retransmits, packets/s", curve="step")


def fairness(run: Run, points: int) -> list[alt.Chart]:  # noqa: ARG001 - bins are few already
    """Jain's index in every bin, and 1/n dashed: what it is when one of n flows has everything."""
    table = fairness_lines(run)
    y = y_axis("Jain's index", alt.Scale(domain=[0, 1.05], nice=False), note=f"{_bins(run)}; dashed: 1/n")
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.2, color=INK)
    drawn = alt.Chart(inline(table), mark=mark).encode(x=time_axis(run), y=y)
    return [drawn, rule(1 / max(len(long_lived(run)), 1), ALARM)]


def fairness_lines(run: Run) -> pl.DataFrame:
    """Jain's index over time as a line table with one line."""
    table = jain_over_time(run, step_ns(run)).drop_nulls()
    return table.select((pl.col("time_ns") / NS).alias("s"), v="jain").with_columns(flow=pl.lit("Jain's index"))


def _bins(run: Run) -> str:
    return f"bins of {step_ns(run) / NS:g} s"
