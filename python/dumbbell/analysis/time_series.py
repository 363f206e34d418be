"""Counters over time: throughput, retransmit rate, loss.

Every function divides the window into bins of `step_ns` (omitting a last, partial bin) and labels a bin with its
centre, as figures need it. `flows` and `queueing` have single numbers over a whole run.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dumbbell.analysis.bins import NAMELESS, NOTHING, Ints, alive, differences, edges_ns, frame, names, ratio
from dumbbell.analysis.counters import Counter, Floats, counters
from dumbbell.analysis.native import by_flow_name, native
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

__all__ = ["goodput", "group_goodput", "group_throughput", "loss", "retransmit_rate", "throughput"]


def throughput(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Goodput of each flow at the receiver: `time_ns, flow, group, throughput_bps`.

    8 × (bytes received at the bin's end − at its start) ÷ step: application bytes that arrived in order (goodput, RFC
    2647 section 3.17). Bins before a flow's start and after its stop are omitted; null if a log doesn't record it.
    """
    edges = edges_ns(run, step_ns, window)
    rates = _goodput_bps(run, edges)
    frames = [
        frame(edges, names(flow), {"throughput_bps": rates[flow["name"]]}).filter(alive(run, flow, edges))
        for flow in run.manifest["flows"]
    ]
    return pl.concat([frame(edges[:0], NAMELESS, {"throughput_bps": NOTHING}), *frames])


def goodput(run: Run, step_ns: int) -> dict[str, tuple[Floats, Floats]]:
    """`throughput` of the whole run as arrays, without a query: each flow's bin centres in ns and its bit/s."""
    edges = edges_ns(run, step_ns, None)
    rates, middles = _goodput_bps(run, edges), _middles_ns(edges)
    lived = {flow["name"]: alive(run, flow, edges).to_numpy() for flow in run.manifest["flows"]}
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
    for flow in run.manifest["flows"]:
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
    rows = run.queues.select("queue", "time_ns", "drops_packets", "sent_packets").drop_nulls()
    for (name,), part in rows.partition_by("queue", as_dict=True, maintain_order=True).items():
        times = part["time_ns"].to_numpy()
        dropped = differences(Counter(times, part["drops_packets"].to_numpy()), edges)
        sent = differences(Counter(times, part["sent_packets"].to_numpy()), edges)
        columns_of = dict(zip(columns, (dropped, ratio(dropped, dropped + sent)), strict=True))
        frames.append(frame(edges, {"queue": str(name)}, columns_of))
    return pl.concat(frames)


def _by_group(run: Run, rates: Mapping[str, Floats]) -> dict[str, list[Floats]]:
    members: dict[str, list[Floats]] = {}
    for flow in run.manifest["flows"]:
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
