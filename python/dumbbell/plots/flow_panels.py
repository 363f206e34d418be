"""Panels of flows on the time axis: a line for each flow, or for each group if there are many flows.

`path_panels` has queues and probes, `state_bands` the controllers' states; `panels` maps names to panels.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from dumbbell.analysis.fairness import jain_over_time, long_lived
from dumbbell.analysis.native import remembered
from dumbbell.analysis.time_series import group_goodput, retransmit_rate
from dumbbell.plots.colours import ALARM, INK, dashes, shades
from dumbbell.plots.layers import Curve, Drawn, Legend, Line, Lines, Rule, Scale, Trace
from dumbbell.plots.lines import (
    NS,
    binned,
    cwnd_of,
    grouped,
    names,
    partitioned,
    quantile,
    rate_lines,
    sample_lines,
    shown_groups,
    step_ns,
)
from dumbbell.plots.path_limits import bdp_packets, link_rate_mbps
from dumbbell.results.result import Run

__all__ = [
    "bandwidth", "cwnd", "fairness", "gains", "groups", "inflight", "rates", "retransmits", "rtt", "throughput",
]  # fmt: skip


def throughput(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Goodput at the receiver, in bins."""
    traces = rate_lines(run)
    return Drawn("Throughput, Mbit/s", (_flows(run, traces, "step"),), _bins(run, traces))


def groups(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Goodput of each group, the sum of its flows. It has its own legend, because flow names may differ."""
    traces = binned(group_goodput(run, step_ns(run)), 1e6)
    shown = [member for member in shown_groups(run) if member["name"] in traces]
    colours, dash = shades(shown), dashes(shown)
    lines = tuple(Line(name, colours[name], *traces[name], tuple(dash[name])) for name in colours)
    layer = Lines(lines, "panel", 1.3, "step")
    return Drawn("Groups, Mbit/s", (layer,), _bins(run, traces), legend=Legend("group", colours))


def cwnd(run: Run, points: int) -> Drawn:
    """Congestion window, in packets or bytes, as recorded."""
    column, per, title = cwnd_of([run])
    return Drawn(title, (_flows(run, sample_lines(run, column, per, add=True, points=points)),))


def rtt(run: Run, points: int) -> Drawn:
    """Smoothed round-trip time."""
    return Drawn("Smoothed RTT, ms", (_flows(run, rtt_lines(run, points)),))


def rtt_lines(run: Run, points: int) -> dict[str, Trace]:
    """Smoothed RTT in ms; 0 (no measurement yet) counts as missing."""
    return sample_lines(run, "rtt_ns", 1e6, add=False, points=points, zero=False)


def inflight(run: Run, points: int) -> Drawn:
    """Packets in flight (RFC 6675's pipe), and the path's BDP if rate and RTT are known."""
    flows = _flows(run, sample_lines(run, "inflight_packets", add=True, points=points))
    bdp = bdp_packets(run)
    note = "" if bdp.is_empty() else "dashed: BDP"
    return Drawn("In flight, packets", (flows, *_reference_line("BDP", bdp)), note)


def rates(run: Run, points: int) -> Drawn:
    """Delivery rate, and the pacing rate dotted and pale behind it."""
    delivery = sample_lines(run, "delivery_rate_bps", 1e6, add=True, points=points)
    pacing = sample_lines(run, "pacing_rate_bps", 1e6, add=True, points=points)
    # Startup paces at many times the link's rate; scale the axis to the delivery rate.
    top = max(quantile(delivery, 1) * 1.5, min(quantile(pacing, 1), quantile(pacing, 0.99) * 1.2), 0.1)
    before = Lines(_coloured(run, delivery), "flows", 1.3)
    behind = Lines(_coloured(run, pacing), "flows", 1, dash=(1, 2), opacity=0.6)
    return Drawn("Delivery rate, Mbit/s", (before, behind), "dots: pacing rate", Scale((0, top)))


def bandwidth(run: Run, points: int) -> Drawn:
    """BBR's bandwidth estimate, and the link's rate."""
    flows = _flows(run, sample_lines(run, "bbr_bw_bps", 1e6, add=True, points=points))
    rate = link_rate_mbps(run)
    note = "" if rate.is_empty() else "dashed: link rate"
    return Drawn("BBR's bandwidth, Mbit/s", (flows, *_reference_line("link rate", rate)), note)


def gains(run: Run, points: int) -> Drawn:
    """BBR's pacing gain, and its cwnd gain dotted."""
    pacing = _coloured(run, sample_lines(run, "bbr_pacing_gain", add=False, points=points))
    cwnd_gain = _coloured(run, sample_lines(run, "bbr_cwnd_gain", add=False, points=points))
    layers = (
        Lines(pacing, "flows", 1.1, "step-after"),
        Lines(cwnd_gain, "flows", 1.2, "step-after", dash=(1, 2)),
    )
    return Drawn("BBR's pacing gain", layers, "dots: cwnd gain", Scale((0, 3.1), nice=False))


def retransmits(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Retransmitted segments per second."""
    table = retransmit_rate(run, step_ns(run)).select(
        s=pl.col("time_ns") / NS,
        v=pl.col("retransmit_packets") * NS / step_ns(run),
        flow="group" if grouped(run) else "flow",
    )
    if grouped(run):
        table = table.group_by("s", "flow").agg(pl.col("v").sum()).sort("flow", "s")
    traces = partitioned(table)
    return Drawn("Retransmits, packets/s", (_flows(run, traces, "step"),), _bins(run, traces))


def fairness(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Jain's index in every bin, and 1/n dashed: its value when one of n flows has all goodput."""
    traces = fairness_lines(run)
    lines = tuple(Line(name, INK, s, v) for name, (s, v) in traces.items())
    least = Rule(1 / max(len(long_lived(run)), 1), ALARM)
    scale = Scale((0, 1.05), nice=False)
    return Drawn("Jain's index", (Lines(lines, "none", 1.2), least), f"{_bins(run, traces)}; dashed: 1/n", scale)


@remembered
def fairness_lines(run: Run) -> dict[str, Trace]:
    """Jain's index over time, as one line."""
    table = jain_over_time(run, step_ns(run)).drop_nulls()
    return partitioned(table.select(s=pl.col("time_ns") / NS, v="jain", flow=pl.lit("Jain's index")))


def _flows(run: Run, traces: Mapping[str, Trace], curve: Curve = "linear") -> Lines:
    """A line for each flow, with its colour and dash."""
    return Lines(_coloured(run, traces, dashes(names(run))), "flows", 1.3, curve)


def _coloured(run: Run, traces: Mapping[str, Trace], dash: Mapping[str, list[int]] | None = None) -> tuple[Line, ...]:
    """A line for each flow, with or without points."""
    return tuple(
        Line(name, colour, *traces.get(name, _NOTHING), tuple((dash or {}).get(name, ())))
        for name, colour in shades(names(run)).items()
    )


def _reference_line(name: str, steps: pl.DataFrame) -> tuple[Lines, ...]:
    """A dashed line that holds each value (`s, v`) until the next."""
    if steps.is_empty():
        return ()
    line = Line(name, INK, steps["s"].to_numpy(), steps["v"].to_numpy())
    return (Lines((line,), "none", 1.2, "step-after", dash=(5, 3)),)


def _bins(run: Run, traces: Mapping[str, Trace]) -> str:
    """The bin length, if there are bins."""
    return f"bins of {step_ns(run) / NS:g} s" if any(s.size for s, _ in traces.values()) else ""


_NOTHING: Trace = (np.empty(0), np.empty(0))
