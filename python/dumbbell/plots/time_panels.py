"""Panels on the time axis: of flows, of the queue, its losses and pings, and the path's limits.

The manifest names the bottleneck's queue and its rates. `panels` has the controllers' states and maps names
to panels.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.flows import jain_over_time, long_lived
from dumbbell.analysis.native import remembered
from dumbbell.analysis.queueing import bottleneck, of_bottleneck, rows_of_bottleneck
from dumbbell.analysis.sample_arrays import Bools, Floats, by_flow
from dumbbell.analysis.time_series import group_goodput, retransmit_rate
from dumbbell.analysis.time_series import loss as loss_over_time
from dumbbell.plots.colours import ALARM, HUES, INK, NOTE, dashes, shades
from dumbbell.plots.layers import (
    NS,
    Curve,
    Drawn,
    Layer,
    Legend,
    Line,
    Lines,
    Points,
    Rule,
    Scale,
    Ticks,
    Trace,
    binned,
    cwnd_of,
    delivered_lines,
    downsampled,
    group_members,
    grouped,
    names,
    partitioned,
    quantile,
    rate_lines,
    sample_lines,
    shown_groups,
    step_ns,
)
from dumbbell.results.result import Run

__all__ = [
    "bandwidth",
    "bdp_packets",
    "cwnd",
    "delivered",
    "fairness",
    "gains",
    "groups",
    "inflight",
    "jitter",
    "limit_packets",
    "link_rate_mbps",
    "loss",
    "loss_rate",
    "ping",
    "ping_lines",
    "queue",
    "queue_lines",
    "rates",
    "retransmits",
    "rtt",
    "throughput",
    "under_test",
    "written_limit",
]


HEADERS_BYTES = 66
"""Ethernet 14, IPv4 20, TCP 20 with 12 of timestamps: bytes of a full packet on the link beyond its MSS."""


def link_rate_mbps(run: Run) -> pl.DataFrame:
    """The bottleneck's rate as steps (`s, v`) up to the run's end; empty if it has none."""
    return _steps(run, 1e-6)


def bdp_packets(run: Run) -> pl.DataFrame:
    """Bandwidth-delay product in full packets, as steps (`s, v`): rate × smallest RTT ÷ (8 × bytes per packet).

    The RTT is the smallest `min_rtt_ns` of any flow, the packet the largest MSS with its headers. Empty if the link has
    no rate or no flow an RTT.
    """
    smallest = run.flows["min_rtt_ns"].replace(0, None).min()
    mss = run.flows["mss_bytes"].max()
    if not isinstance(smallest, int) or not isinstance(mss, int) or not mss:
        return _steps(run, 0).clear()
    return _steps(run, smallest / 1e9 / (8 * (mss + HEADERS_BYTES)))


def limit_packets(run: Run) -> tuple[float, str] | None:
    """The bottleneck's limit in packets and as configured; a byte limit is divided by the mean queued packet size."""
    entry = bottleneck(run)
    if entry is None:
        return None
    packets, sizes = (run.table("queues").column(name).floats() for name in ("backlog_packets", "backlog_bytes"))
    rows = rows_of_bottleneck(run) & (packets > 0)
    size = float(np.nansum(sizes[rows])) / max(float(packets[rows].sum()), 1.0)
    return written_limit(str(entry.get("qdisc") or ""), size)


def written_limit(qdisc: str, size_bytes: float) -> tuple[float, str] | None:
    """A qdisc's limit in packets and as configured; a byte limit is divided by `size_bytes`, if known."""
    found = re.search(r"\blimit (\d+)(k?b?)\b", qdisc)
    if found is None:
        return None
    limit = float(found[1]) * (1024 if found[2].startswith("k") else 1)
    if qdisc.split(maxsplit=1)[0] not in {"bfifo", "tbf", "red", "gred"}:
        return limit, f"limit {limit:g}"
    return (limit / size_bytes, f"limit {limit:,.0f}\u00a0B".replace(",", "\u2009")) if size_bytes else None


def _steps(run: Run, factor: float) -> pl.DataFrame:
    entry: Mapping[str, Any] = bottleneck(run) or {}
    steps = [(float(time or 0.0), rate * factor) for time, rate in entry.get("rates") or [] if rate is not None]
    if steps:
        steps.append((float(run.manifest.duration_s), steps[-1][1]))
    return pl.DataFrame(steps, schema={"s": pl.Float64, "v": pl.Float64}, orient="row")


def throughput(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Goodput at the receiver, in bins, and the link's rate."""
    return _against_link(run, "Throughput in order, Mbit/s", rate_lines(run))


def delivered(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Delivered data, in order or not, in bins, and the link's rate."""
    return _against_link(run, "Delivered, Mbit/s", delivered_lines(run))


def _against_link(run: Run, title: str, traces: Mapping[str, Trace]) -> Drawn:
    rate = link_rate_mbps(run)
    note = "; ".join(filter(None, (_bins(run, traces), "" if rate.is_empty() else "dashed: link rate")))
    return Drawn(title, (_flows(run, traces, "step"), *_reference_line("link rate", rate)), note)


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


def jitter(run: Run, points: int) -> Drawn:
    """Interarrival jitter of each UDP flow at its receiver (RFC 3550)."""
    return Drawn("UDP jitter, ms", (_flows(run, sample_lines(run, "jitter_ns", 1e6, add=False, points=points)),))


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


def queue(run: Run, points: int) -> Drawn:
    """Backlog of the queues under test; the bottleneck's limit, drops and marks."""
    traces = queue_lines(run, points)
    limit = limit_packets(run)
    largest = quantile(traces, 1)
    shown = limit if limit is not None and limit[0] <= 3 * max(largest, 1.0) else None
    top = max(largest, shown[0] if shown else 0.0, 1.0) * 1.18
    colours = _queue_colours(run, list(traces))
    dash = dashes([{"name": name} for name in traces])
    lines = tuple(Line(name, colours[name], s, v, tuple(dash[name])) for name, (s, v) in traces.items())
    limits = (Rule(shown[0], ALARM),) if shown else ()
    layers: tuple[Layer, ...] = (
        Lines(lines, "panel", 1),
        *limits,
        Ticks(ALARM, _grown(run, [_counted(run, "drops_packets")], points)[0], top=4),
        Ticks(NOTE, _grown(run, [_counted(run, "marks_packets")], points)[0], top=10),
    )
    legend = Legend("queue", colours) if len(lines) > 1 else None
    drops, marks = (layer for layer in layers if isinstance(layer, Ticks))
    note = "; ".join(
        filter(
            None,
            (
                f"dashed: {_limit_text(*shown)}" if shown else "",
                "red ticks: drops" if drops.s.size else "",
                "grey ticks: marks" if marks.s.size else "",
            ),
        )
    )
    return Drawn("Queue, packets", layers, note, Scale((0, top), nice=False), legend=legend)


def _limit_text(packets: float, written: str) -> str:
    """The limit in the axis's unit, and as configured if that is in bytes."""
    return f"limit {packets:.0f} packets" + (f", {written.removeprefix('limit ')}" if written.endswith("B") else "")


def _queue_colours(run: Run, queues: Sequence[str]) -> dict[str, str]:
    """Black for the bottleneck, the group's hue for its access link, else the hues from the last one."""
    groups = shades(group_members(run))
    access = {f"access-{group}": colour for group, colour in groups.items()}
    free = [INK, *(hue for hue in HUES[-2::-1] if hue not in groups.values())]  # The last hue is black too.
    others = [name for name in queues if name not in access]
    return access | {name: free[place % len(free)] for place, name in enumerate(others)}


def queue_lines(run: Run, points: int) -> dict[str, Trace]:
    """Backlog in packets of the bottleneck and of the other queues under test."""
    queues = run.table("queues")
    called, backlog = queues.names("queue"), queues.column("backlog_packets")
    rows = under_test(run) & backlog.is_known
    codes, times, values = called.codes[rows], queues.column("time_ns").values[rows] / NS, backlog.floats()[rows]
    found, first = np.unique(codes, return_index=True)
    each = ((called.texts[code], codes == code) for code in found[np.argsort(first)])
    return downsampled({name: (times[mine], values[mine]) for name, mine in each}, points)


def ping(run: Run, points: int) -> Drawn:
    """Round-trip time of answered pings, and ticks for lost ones."""
    lines = tuple(Line(name, INK, s, v) for name, (s, v) in ping_lines(run, points).items())
    lost = run.probes.filter((pl.col("kind") == "ping") & pl.col("rtt_ns").is_null())
    ticks = Ticks(ALARM, lost["time_ns"].to_numpy() / NS, top=4, size=8)
    return Drawn("Ping RTT, ms", (Lines(lines, "none", 1), Points(INK, 6, lines), ticks))


def ping_lines(run: Run, points: int) -> dict[str, Trace]:
    """Round-trip times of answered pings in ms."""
    rows = run.probes.filter(pl.col("kind") == "ping").select(
        s=pl.col("time_ns") / NS, v=pl.col("rtt_ns") / 1e6, flow="probe"
    )
    return downsampled(partitioned(rows.drop_nulls()), points)


def loss(run: Run, points: int) -> Drawn:
    """A row for each flow with its retransmissions or lost datagrams, one for the bottleneck's drops, one for marks."""
    members: dict[str, list[str]] = {}
    for flow in run.manifest.flows:
        members.setdefault(flow["group"] if grouped(run) else flow["name"], []).append(flow["name"])
    repeats = by_flow(run, "retrans_packets")
    for name, lost in by_flow(run, "datagrams_lost").items():
        if lost[0].size:
            repeats[name] = lost
    ticks = []
    for row, colour in shades(names(run)).items():
        s, packets = _grown(run, [repeats[name] for name in members[row]], points)
        ticks.append(Ticks(colour, s, row=row, packets=packets))
    for column, row, colour in (("drops_packets", DROPPED, INK), ("marks_packets", MARKED, NOTE)):
        s, packets = _grown(run, [_counted(run, column)], points)
        if s.size:
            ticks.append(Ticks(colour, s, row=row, packets=packets))
    return Drawn("Repeats, drops", tuple(ticks), rows=tuple(str(each.row) for each in ticks))


DROPPED = "queue's drops"
MARKED = "queue's marks"


def loss_rate(run: Run, points: int) -> Drawn:  # noqa: ARG001 - bins are few already
    """Share of packets that the bottleneck dropped, in bins."""
    rows = loss_over_time(run, step_ns(run)).filter(of_bottleneck(run))
    table = rows.select(s=pl.col("time_ns") / NS, v=pl.col("loss_rate") * 100, flow="queue").drop_nulls()
    lines = tuple(Line(name, INK, s, v) for name, (s, v) in partitioned(table).items())
    note = f"bins of {step_ns(run) / NS:g} s"
    return Drawn("Dropped by the queue, %", (Lines(lines, "none", 1.2, "step"),), note)


def under_test(run: Run) -> Bools:
    """The rows of `queues` that belong to the bottleneck or another queue under test."""
    column_values = run.table("queues").column("under_test")
    return np.asarray((column_values.is_known & column_values.values.astype(np.bool_)) | rows_of_bottleneck(run))


def _counted(run: Run, column: str) -> Trace:
    """Times in ns and readings of one of the bottleneck's counters."""
    queues = run.table("queues")
    column_values = queues.column(column)
    rows = rows_of_bottleneck(run) & column_values.is_known
    return queues.column("time_ns").floats()[rows], column_values.floats()[rows]


def _grown(run: Run, counters: Iterable[Trace], points: int) -> Trace:
    """When (in seconds) and by how much any of these counters (times in ns, readings) grew; one mark per pixel."""
    grown = [_growth(*counter) for counter in counters]
    times = np.concatenate([times for times, _ in grown])
    packets = np.concatenate([packets for _, packets in grown])
    if len(grown) > 1:
        order = np.argsort(times, kind="stable")
        times, packets = times[order], packets[order]
    if not times.size:
        return times, packets
    _, first, place = np.unique(times // _bin_ns(run, points), return_index=True, return_inverse=True)
    return times[first] / NS, np.bincount(place, weights=packets).astype(np.float64)


def _growth(times: Floats, readings: Floats) -> Trace:
    packets = np.diff(readings, prepend=0.0)
    return times[packets > 0], packets[packets > 0]


def _bin_ns(run: Run, points: int) -> int:
    """Merge marks closer than a pixel: as many bins as a line has pixels."""
    return max(round(float(run.manifest.duration_s) * NS / points * 2), 1)
