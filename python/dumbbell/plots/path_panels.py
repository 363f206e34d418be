"""Panels of the path on the time axis: the queue, its losses, and pings."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from dumbbell.analysis.queueing import of_bottleneck, rows_of_bottleneck
from dumbbell.analysis.sample_arrays import Bools, Floats, by_flow
from dumbbell.analysis.time_series import loss as loss_over_time
from dumbbell.plots.colours import ALARM, HUES, INK, NOTE, dashes, shades
from dumbbell.plots.layers import Drawn, Layer, Legend, Line, Lines, Points, Rule, Scale, Ticks, Trace
from dumbbell.plots.lines import NS, downsampled, group_members, grouped, names, partitioned, quantile, step_ns
from dumbbell.plots.path_limits import limit_packets
from dumbbell.results.result import Run

__all__ = ["loss", "loss_rate", "ping", "ping_lines", "queue", "queue_lines", "under_test"]


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
    note = f"dashed: {_limit_text(*shown)}" if shown else ""
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
    ticks = Ticks(ALARM, lost["sent_ns"].to_numpy() / NS, top=4, size=8)
    return Drawn("Ping RTT, ms", (Lines(lines, "none", 1), Points(INK, 6, lines), ticks))


def ping_lines(run: Run, points: int) -> dict[str, Trace]:
    """Round-trip times of answered pings in ms."""
    rows = run.probes.filter(pl.col("kind") == "ping").select(
        s=pl.col("sent_ns") / NS, v=pl.col("rtt_ns") / 1e6, flow="probe"
    )
    return downsampled(partitioned(rows.drop_nulls()), points)


def loss(run: Run, points: int) -> Drawn:
    """A row for each flow with its retransmissions, one for the bottleneck's drops, one for its marks."""
    members: dict[str, list[str]] = {}
    for flow in run.manifest["flows"]:
        members.setdefault(flow["group"] if grouped(run) else flow["name"], []).append(flow["name"])
    repeats = by_flow(run, "retrans_packets")
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
    return max(round(float(run.manifest["duration_s"]) * NS / points * 2), 1)
