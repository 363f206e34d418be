"""Counters over time: throughput, retransmit rate, loss.

Every function cuts the window into bins of `step_ns` (a last, partial bin is left
out) and labels a bin with its middle, where a mean over it belongs in a picture.
Single numbers over a whole run are `flows` and `queueing`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.counters import Counter, Floats, bytes_counters, counters
from dumbbell.analysis.window import NS, Window, bounds_ns, life_ns
from dumbbell.result import Run

__all__ = ["group_throughput", "loss", "retransmit_rate", "throughput"]

Ints = npt.NDArray[np.int64]


def throughput(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Goodput of each flow at the receiver: `time_ns, flow, group, throughput_bps`.

    8 × (bytes received at the bin's end − at its start) ÷ step: application bytes
    that arrived in order (goodput, RFC 2647 section 3.17). Bins before a
    flow's start and after its stop are left out.
    """
    edges = _edges(run, step_ns, window)
    rates = _goodput_bps(run, edges)
    frames = [
        _frame(edges, _names(flow), {"throughput_bps": rates[flow["name"]]}).filter(_alive(run, flow, edges))
        for flow in run.birth["flows"]
    ]
    return pl.concat([_frame(edges[:0], _NAMELESS, {"throughput_bps": _NOTHING}), *frames])


def group_throughput(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """The sum of its flows' throughput, for each group and every bin: `time_ns, group, throughput_bps`."""
    edges = _edges(run, step_ns, window)
    rates = _goodput_bps(run, edges)
    sums: dict[str, Floats] = {}
    for flow in run.birth["flows"]:
        rate = rates[flow["name"]]
        sums[flow["group"]] = sums.get(flow["group"], np.zeros_like(rate)) + rate
    frames = [_frame(edges, {"group": group}, {"throughput_bps": rate}) for group, rate in sums.items()]
    return pl.concat([_frame(edges[:0], {"group": ""}, {"throughput_bps": _NOTHING}), *frames])


def retransmit_rate(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Retransmitted ÷ sent data segments: `time_ns, flow, group, retransmit_packets, retransmit_rate`.

    Both are differences over the bin of what the sender's socket counts (`tcpi_total_retrans`, `tcpi_data_segs_out`:
    SegsRetrans and DataSegsOut of RFC 4898). The rate is null in a bin in which the flow sent nothing, and where
    nobody counted what it sent (an iperf3 log).
    """
    edges = _edges(run, step_ns, window)
    again = counters(run, "retrans_packets", "retransmits")
    sent = counters(run, "data_segs_out", "data_segs_out")
    columns = ("retransmit_packets", "retransmit_rate")
    frames = [_frame(edges[:0], _NAMELESS, dict.fromkeys(columns, _NOTHING))]
    for flow in run.birth["flows"]:
        if again[flow["name"]]:
            packets, segments = _differences(again[flow["name"]], edges), sent[flow["name"]]
            rate = _ratio(packets, _differences(segments, edges)) if segments else np.full(packets.size, np.nan)
            frame = _frame(edges, _names(flow), dict(zip(columns, (packets, rate), strict=True)))
            frames.append(frame.filter(_alive(run, flow, edges)))
    return pl.concat(frames)


def loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Share of the packets that each queue dropped: `time_ns, queue, dropped_packets, loss_rate`.

    Dropped ÷ (dropped + sent), of the packets that left the queue either way in the bin. Null where none did.
    """
    edges = _edges(run, step_ns, window)
    columns = ("dropped_packets", "loss_rate")
    frames = [_frame(edges[:0], {"queue": ""}, dict.fromkeys(columns, _NOTHING))]
    rows = run.queues.select("queue", "time_ns", "drops_packets", "sent_packets").drop_nulls()
    for (name,), part in rows.partition_by("queue", as_dict=True, maintain_order=True).items():
        times = part["time_ns"].to_numpy()
        dropped = _differences(Counter(times, part["drops_packets"].to_numpy()), edges)
        sent = _differences(Counter(times, part["sent_packets"].to_numpy()), edges)
        columns_of = dict(zip(columns, (dropped, _ratio(dropped, dropped + sent)), strict=True))
        frames.append(_frame(edges, {"queue": str(name)}, columns_of))
    return pl.concat(frames)


_NOTHING: Floats = np.empty(0)
_NAMELESS = {"flow": "", "group": ""}


def _edges(run: Run, step_ns: int, window: Window | None) -> Ints:
    if step_ns <= 0:
        raise ValueError(f"a step must be longer than 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return np.arange(from_ns, to_ns + 1, step_ns, dtype=np.int64)


def _differences(counter: Counter, edges: Ints) -> Floats:
    return np.diff(counter.at(edges))


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0))


def _goodput_bps(run: Run, edges: Ints) -> dict[str, Floats]:
    """Every flow's goodput in every bin; zero where nothing is known of it."""
    bits_per_ns = 8.0 / np.diff(edges)
    return {
        name: _differences(counter, edges) * bits_per_ns * NS if counter else np.zeros(bits_per_ns.size)
        for name, counter in bytes_counters(run).items()
    }


def _alive(run: Run, flow: Mapping[str, Any], edges: Ints) -> pl.Series:
    start_ns, stop_ns = life_ns(run, flow)
    return pl.Series((edges[1:] > start_ns) & (edges[:-1] < stop_ns), dtype=pl.Boolean)


def _names(flow: Mapping[str, Any]) -> dict[str, str]:
    return {"flow": flow["name"], "group": flow["group"]}


def _frame(edges: Ints, names: Mapping[str, str], columns: Mapping[str, Floats]) -> pl.DataFrame:
    """One row a bin: its middle, the names, the columns; a NaN becomes null."""
    middles = (edges[:-1] + edges[1:]) // 2
    frame = pl.DataFrame({"time_ns": middles, **columns}, schema_overrides={"time_ns": pl.Int64}, nan_to_null=True)
    return frame.select("time_ns", *(pl.lit(name, pl.String).alias(column) for column, name in names.items()), *columns)
