"""Time series: sampled counters as functions of time, even time bins, and rates in them.

A counter is linear between two readings, so the bins of any grid add up to the total. Every function divides the window
into bins of `step_ns` (omitting a last, partial bin) and labels a bin with its centre, as figures need it: throughput,
retransmit rate, loss; how long a group takes to use its path again after a change. `flow_intervals` has the bytes of
each flow and interval as iperf3 reports them during a test (`crates/metrics/src/intervals.rs`). `flows` and `queueing`
have single numbers over a window.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.native import NS, Window, bounds_ns, by_flow_name, life_ns, native
from dumbbell.analysis.sample_arrays import Floats, by_flow
from dumbbell.results.result import Run

__all__ = [
    "NAMELESS",
    "NOTHING",
    "RECOVERED",
    "SAMPLED",
    "Counter",
    "Floats",
    "Ints",
    "alive",
    "bytes_counters",
    "counters",
    "differences",
    "edges_ns",
    "frame",
    "goodput",
    "group_goodput",
    "group_throughput",
    "interval_count",
    "intervals",
    "loss",
    "names",
    "no_data_shares",
    "ratio",
    "recovery_s",
    "retransmit_rate",
    "throughput",
]


class Counter:
    """A counter: its readings in order of time."""

    def __init__(self, times_ns: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.times_ns = np.asarray(times_ns, dtype=np.float64)
        self.values = np.asarray(values, dtype=np.float64)

    def __bool__(self) -> bool:
        return self.times_ns.size > 0

    def at(self, times_ns: npt.ArrayLike) -> Floats:
        """The count at these times: constant before the first and after the last reading, linear between readings."""
        return np.interp(np.asarray(times_ns, dtype=np.float64), self.times_ns, self.values)

    def between(self, from_ns: int, to_ns: int) -> float:
        """The increase from one time to another."""
        before, after = self.at([from_ns, to_ns])
        return float(after - before)

    def anchored(self, start_ns: int, stop_ns: int, total: float | None) -> "Counter":
        """The same counter with 0 at its start and its total at its end, unless a reading exceeds the total."""
        times, values = self.times_ns, self.values
        if not self or start_ns < times[0]:
            times, values = np.concatenate([[float(start_ns)], times]), np.concatenate([[0.0], values])
        if total is not None and stop_ns > times[-1] and total >= values[-1]:
            times, values = np.concatenate([times, [float(stop_ns)]]), np.concatenate([values, [float(total)]])
        return Counter(times, values)


def counters(run: Run, column: str, total: str | None = None) -> dict[str, Counter]:
    """A column of `flows.parquet` as one counter per flow; `total` names the manifest's final value.

    A flow without values in the column and in the manifest has an empty counter.
    """
    read = by_flow(run, column)
    return {flow.name: _anchored(run, flow, Counter(*read[flow.name]), total) for flow in run.manifest.flows}


def bytes_counters(run: Run) -> dict[str, Counter]:
    """The goodput counter of every flow: bytes that the receiver's socket got in order.

    `Run::bytes_counters` of `crates/metrics` defines it, and what replaces it in a log.
    """
    found = by_flow_name(run, native(run).bytes_counters())
    return {name: Counter(*map(np.asarray, readings)) for name, readings in found.items()}


def queue_counter(run: Run, queue: Mapping[str, Any], column: str, total: str) -> Counter:
    """A column of `queues.parquet` as a counter of a queue of the manifest; `total` names its final value there.

    `Run::queue_counter` of `crates/metrics` defines it. Empty without values.
    """
    return Counter(*map(np.asarray, native(run).queue_counter(queue["name"], column, queue.get(total))))


def _anchored(run: Run, flow: Mapping[str, Any], counter: Counter, total: str | None) -> Counter:
    final = None if total is None else flow.get(total)
    if not counter and final is None:
        return counter
    return counter.anchored(*life_ns(run, flow), final)


Ints = npt.NDArray[np.int64]

NOTHING: Floats = np.empty(0)
NAMELESS = {"flow": "", "group": ""}


def edges_ns(run: Run, step_ns: int, window: Window | None) -> Ints:
    """The edges of all complete bins of a window. Raises `ValueError` for a step of 0 or less."""
    if step_ns <= 0:
        raise ValueError(f"step must exceed 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return np.arange(from_ns, to_ns + 1, step_ns, dtype=np.int64)


def differences(counter: Counter, edges: Ints) -> Floats:
    """The increase in each bin."""
    return np.diff(counter.at(edges))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Part ÷ whole; NaN (null in a table) where whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0))


def alive(run: Run, flow: Mapping[str, Any], edges: Ints) -> pl.Series:
    """The bins in which a flow was active, if only partly."""
    start_ns, stop_ns = life_ns(run, flow)
    return pl.Series((edges[1:] > start_ns) & (edges[:-1] < stop_ns), dtype=pl.Boolean)


def names(flow: Mapping[str, Any]) -> dict[str, str]:
    """The columns that identify a flow's rows."""
    return {"flow": flow["name"], "group": flow["group"]}


def frame(edges: Ints, named: Mapping[str, str], columns: Mapping[str, Floats]) -> pl.DataFrame:
    """One row per bin: its centre, its flow or group, the columns; NaN becomes null."""
    middles = (edges[:-1] + edges[1:]) // 2
    table = pl.DataFrame({"time_ns": middles, **columns}, schema_overrides={"time_ns": pl.Int64}, nan_to_null=True)
    return table.select("time_ns", *(pl.lit(name, pl.String).alias(column) for column, name in named.items()), *columns)


def throughput(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Goodput of each flow at the receiver: `time_ns, flow, group, throughput_bps`.

    8 × (bytes received at the bin's end − at its start) ÷ step: application bytes that arrived in order (goodput, RFC
    2647 section 3.17). Bins before a flow's start and after its stop are omitted; null if a log doesn't record it.
    """
    edges = edges_ns(run, step_ns, window)
    rates = _goodput_bps(run, edges)
    frames = [
        frame(edges, names(flow), {"throughput_bps": rates[flow["name"]]}).filter(alive(run, flow, edges))
        for flow in run.manifest.flows
    ]
    return pl.concat([frame(edges[:0], NAMELESS, {"throughput_bps": NOTHING}), *frames])


def goodput(run: Run, step_ns: int) -> dict[str, tuple[Floats, Floats]]:
    """`throughput` of the whole run as arrays, without a query: each flow's bin centres in ns and its bit/s."""
    edges = edges_ns(run, step_ns, None)
    return _while_alive(run, edges, _goodput_bps(run, edges))


def _while_alive(run: Run, edges: Ints, rates: Mapping[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
    middles = _middles_ns(edges)
    lived = {flow.name: alive(run, flow, edges).to_numpy() for flow in run.manifest.flows}
    return {name: (middles[bins], rates[name][bins]) for name, bins in lived.items()}


def group_goodput(run: Run, step_ns: int) -> dict[str, tuple[Floats, Floats]]:
    """`group_throughput` of the whole run as arrays."""
    edges = edges_ns(run, step_ns, None)
    middles = _middles_ns(edges)
    return {group: (middles, _sum(each)) for group, each in _by_group(run, _goodput_bps(run, edges)).items()}


def group_throughput(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """The sum of its flows' throughput, for each group and every bin: `time_ns, group, throughput_bps`."""
    edges = edges_ns(run, step_ns, window)
    members = _by_group(run, _goodput_bps(run, edges))
    frames = [frame(edges, {"group": group}, {"throughput_bps": _sum(each)}) for group, each in members.items()]
    return pl.concat([frame(edges[:0], {"group": ""}, {"throughput_bps": NOTHING}), *frames])


def retransmit_rate(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Retransmitted ÷ sent data segments: `time_ns, flow, group, retransmit_packets, retransmit_rate`.

    Both are differences over the bin of the sender's socket counters (`tcpi_total_retrans`, `tcpi_data_segs_out`:
    SegsRetrans and DataSegsOut of RFC 4898). The rate is null in bins in which the flow sent nothing, and if sent
    segments are unknown (an iperf3 log).
    """
    edges = edges_ns(run, step_ns, window)
    retransmitted = counters(run, "retrans_packets", "retransmits")
    sent = counters(run, "data_segs_out", "data_segs_out")
    columns = ("retransmit_packets", "retransmit_rate")
    frames = [frame(edges[:0], NAMELESS, dict.fromkeys(columns, NOTHING))]
    for flow in run.manifest.flows:
        if retransmitted[flow["name"]]:
            packets, segments = differences(retransmitted[flow["name"]], edges), sent[flow["name"]]
            rate = ratio(packets, differences(segments, edges)) if segments else np.full(packets.size, np.nan)
            table = frame(edges, names(flow), dict(zip(columns, (packets, rate), strict=True)))
            frames.append(table.filter(alive(run, flow, edges)))
    return pl.concat(frames)


def loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Share of the packets that each queue dropped: `time_ns, queue, dropped_packets, loss_rate`.

    Dropped ÷ (dropped + sent), of the packets that left the queue either way in the bin. Null if there were none.
    """
    edges = edges_ns(run, step_ns, window)
    columns = ("dropped_packets", "loss_rate")
    frames = [frame(edges[:0], {"queue": ""}, dict.fromkeys(columns, NOTHING))]
    for queue in run.manifest.queues:
        drops = queue_counter(run, queue, "drops_packets", "drops")
        sends = queue_counter(run, queue, "sent_packets", "sent_packets")
        if drops and sends:
            dropped, sent = differences(drops, edges), differences(sends, edges)
            columns_of = dict(zip(columns, (dropped, ratio(dropped, dropped + sent)), strict=True))
            frames.append(frame(edges, {"queue": queue["name"]}, columns_of))
    return pl.concat(frames)


def _by_group(run: Run, rates: Mapping[str, Floats]) -> dict[str, list[Floats]]:
    members: dict[str, list[Floats]] = {}
    for flow in run.manifest.flows:
        members.setdefault(flow["group"], []).append(rates[flow["name"]])
    return members


def _middles_ns(edges: Ints) -> Floats:
    return np.asarray((edges[:-1] + edges[1:]) // 2, dtype=np.float64)


def _sum(rates: Sequence[Floats]) -> Floats:
    """The sum over flows with a known rate; NaN without any."""
    known = [rate for rate in rates if not np.isnan(rate).any()]
    return np.asarray(np.sum(known, axis=0)) if known else rates[0]


def _goodput_bps(run: Run, edges: Ints) -> dict[str, Floats]:
    """Every flow's goodput in every bin; `crates/metrics/src/rates.rs` defines it."""
    return {name: np.asarray(rates) for name, rates in by_flow_name(run, native(run).goodput_bps(edges)).items()}


RECOVERED = 0.8
"""Share of the bottleneck's rate at which a group has recovered."""
STEP_NS = NS // 2


def recovery_s(run: Run, group: str, window: Window | None = None) -> float | None:
    """Seconds from the window's start to the first half second with at least 80 % of the bottleneck's rate.

    The rate is that at the end of the window; half seconds are counted from the run's start. The window's length if the
    group never gets there, so a limit must be lower. None without a known rate.
    """
    begin_ns, end_ns = bounds_ns(run, window)
    rate = _rate_bps(run, end_ns)
    found = group_goodput(run, STEP_NS).get(group)
    if rate is None or found is None:
        return None
    for middle, bps in zip(*found, strict=True):
        if begin_ns <= middle - STEP_NS // 2 and middle + STEP_NS // 2 <= end_ns and bps >= RECOVERED * rate:
            return float(middle - STEP_NS // 2 - begin_ns) / NS
    return (end_ns - begin_ns) / NS


def _rate_bps(run: Run, at_ns: int) -> float | None:
    """The bottleneck's rate at a time."""
    name = run.manifest.get("bottleneck")
    rates = next((queue.get("rates") or [] for queue in run.manifest["queues"] if queue["name"] == name), [])
    known = [rate for time_s, rate in rates if (time_s or 0.0) * NS <= at_ns]
    return float(known[-1]) if known else None


SAMPLED = ("cwnd_packets", "cwnd_bytes", "rtt_ns", "jitter_ns")
"""Values of the sender's socket at the end of an interval."""
_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "flow": pl.String, "group": pl.String, "from_ns": pl.Int64, "to_ns": pl.Int64, "bytes": pl.Int64,
    "throughput_bps": pl.Float64, "retransmits": pl.Int64,
    "lost_datagrams": pl.Int64, **dict.fromkeys(SAMPLED, pl.Int64),
}  # fmt: skip


def intervals(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """A row for each interval of each flow: bytes received in order, their rate, retransmissions, window, RTT.

    Intervals begin at multiples of `step_ns` (ns) after the window's start and are cut to the flow's lifetime, so the
    first and the last may be shorter; `throughput_bps` uses the interval's real length. The sums of `bytes` and of
    `retransmits` equal those of `flows` over the window. `lost_datagrams` is the growth of `datagrams_lost`,
    less than 0 if datagrams came after later ones. `SAMPLED` columns are from the last sample in the interval.
    Null: unknown. Raises `ValueError` for a step of 0 or less.
    """
    found = by_flow_name(run, native(run).intervals(step_ns, window))
    samples = {column: by_flow(run, column) for column in SAMPLED}
    lost = by_flow(run, "datagrams_lost")
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for flow in run.manifest.flows:
        name = flow["name"]
        edges, count, retransmitted = map(np.asarray, found[name])
        if edges.size < 2:
            continue
        size = edges.size - 1
        columns: dict[str, Any] = {
            "flow": [name] * size,
            "group": [flow["group"]] * size,
            "from_ns": edges[:-1],
            "to_ns": edges[1:],
            "bytes": count,
            "throughput_bps": 8 * NS * count / np.diff(edges),
            "retransmits": retransmitted,
            "lost_datagrams": _grown(*lost[name], edges),
            **{column: _last(*samples[column][name], edges) for column in SAMPLED},
        }
        table = pl.DataFrame(columns, schema_overrides={"from_ns": pl.Int64, "to_ns": pl.Int64}, nan_to_null=True)
        frames.append(table.select(pl.col(column).cast(kind) for column, kind in _SCHEMA.items()))
    return pl.concat(frames)


def no_data_shares(run: Run, window: Window | None = None, step_ns: int = NS) -> dict[str, float | None]:
    """Intervals in which a flow's receiver got no byte ÷ all its intervals in the window, by flow.

    Intervals as in `intervals`; by default of one second, as iperf3's. None for a flow without an
    interval or with unknown bytes.
    """
    return by_flow_name(run, native(run).no_data_shares(step_ns, window))


def interval_count(run: Run, step_ns: int, window: Window | None = None) -> int:
    """An upper bound of the rows of `intervals`. Raises `ValueError` for a step of 0 or less."""
    if step_ns <= 0:
        raise ValueError(f"interval must exceed 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return len(run.manifest.flows) * ((to_ns - from_ns) // step_ns + 2)


def _grown(times_ns: Floats, counted: Floats, edges: Ints) -> Floats:
    """By how much a total grew in each interval; it begins at 0. NaN where no sample tells."""
    if not times_ns.size:
        return np.full(edges.size - 1, np.nan)
    behind = np.searchsorted(times_ns, edges, side="right")
    totals = np.where(behind > 0, counted[np.maximum(behind - 1, 0)], 0.0)
    grown = np.diff(totals)
    grown[behind[1:] == 0] = np.nan
    return np.asarray(grown)


def _last(times_ns: Floats, values: Floats, edges: Ints) -> Floats:
    """The last sample after each interval's start and up to its end; NaN if there is none."""
    behind = np.searchsorted(times_ns, edges, side="right")
    found = np.full(edges.size - 1, np.nan)
    some = behind[1:] > behind[:-1]
    found[some] = values[behind[1:][some] - 1]
    return found
