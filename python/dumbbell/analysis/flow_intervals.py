"""Bytes of each flow in every interval, as iperf3 reports them during a test.

`time_series` has even bins for figures; `flows` single numbers over a window.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.bins import Ints
from dumbbell.analysis.counters import Counter, Floats, bytes_counters, counters
from dumbbell.analysis.sample_arrays import by_flow, remembered
from dumbbell.analysis.window import NS, Window, bounds_ns, clip_ns
from dumbbell.results.result import Run

__all__ = ["SAMPLED", "interval_count", "intervals", "no_data_shares"]

SAMPLED = ("cwnd_packets", "cwnd_bytes", "rtt_ns")
"""Values of the sender's socket at the end of an interval."""
_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "flow": pl.String, "group": pl.String, "from_ns": pl.Int64, "to_ns": pl.Int64, "bytes": pl.Int64,
    "throughput_bps": pl.Float64, "retransmits": pl.Int64, **dict.fromkeys(SAMPLED, pl.Int64),
}  # fmt: skip


def intervals(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """A row for each interval of each flow: bytes received in order, their rate, retransmissions, window, RTT.

    Intervals begin at multiples of `step_ns` (ns) after the window's start and are cut to the flow's lifetime, so the
    first and the last may be shorter; `throughput_bps` uses the interval's real length. The sums of `bytes` and of
    `retransmits` equal those of `flows` over the window. `SAMPLED` columns are from the last sample in the interval.
    Null: unknown. Raises `ValueError` for a step of 0 or less.
    """
    received, retransmitted = bytes_counters(run), counters(run, "retrans_packets", "retransmits")
    samples = {column: by_flow(run, column) for column in SAMPLED}
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for flow in run.manifest["flows"]:
        name = flow["name"]
        edges = _edges_ns(run, flow, step_ns, window, received[name])
        if edges.size < 2:
            continue
        size = edges.size - 1
        count = _integer_counts(received[name], edges)
        columns: dict[str, Any] = {
            "flow": [name] * size,
            "group": [flow["group"]] * size,
            "from_ns": edges[:-1],
            "to_ns": edges[1:],
            "bytes": count,
            "throughput_bps": 8 * NS * count / np.diff(edges),
            "retransmits": _integer_counts(retransmitted[name], edges),
            **{column: _last(*samples[column][name], edges) for column in SAMPLED},
        }
        table = pl.DataFrame(columns, schema_overrides={"from_ns": pl.Int64, "to_ns": pl.Int64}, nan_to_null=True)
        frames.append(table.select(pl.col(column).cast(kind) for column, kind in _SCHEMA.items()))
    return pl.concat(frames)


@remembered
def no_data_shares(run: Run, window: Window | None = None, step_ns: int = NS) -> dict[str, float | None]:
    """Intervals in which a flow's receiver got no byte ÷ all its intervals in the window, by flow.

    Intervals as in `intervals`; by default of one second, as iperf3's. None for a flow without an
    interval or with unknown bytes.
    """
    received = bytes_counters(run)
    shares: dict[str, float | None] = {}
    for flow in run.manifest["flows"]:
        counter = received[flow["name"]]
        counts = _integer_counts(counter, _edges_ns(run, flow, step_ns, window, counter))
        shares[flow["name"]] = float(np.mean(counts == 0)) if counter and counts.size else None
    return shares


def interval_count(run: Run, step_ns: int, window: Window | None = None) -> int:
    """An upper bound of the rows of `intervals`. Raises `ValueError` for a step of 0 or less."""
    if step_ns <= 0:
        raise ValueError(f"interval must exceed 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return len(run.manifest["flows"]) * ((to_ns - from_ns) // step_ns + 2)


def _edges_ns(run: Run, flow: Mapping[str, Any], step_ns: int, window: Window | None, received: Counter) -> Ints:
    """The edges of a flow's intervals; empty for a flow without lifetime in the window."""
    if step_ns <= 0:
        raise ValueError(f"interval must exceed 0 ns, got {step_ns}")
    life = clip_ns(run, flow, window)
    if life is None:
        return np.empty(0, dtype=np.int64)
    (start_ns, stop_ns), (from_ns, to_ns) = life, bounds_ns(run, window)
    # `duration_s` is truncated to microseconds: the last reading may be up to one after it.
    if window is None and received and stop_ns == to_ns:
        stop_ns = max(stop_ns, int(received.times_ns[-1]))
    first = from_ns + (start_ns - from_ns) // step_ns * step_ns + step_ns
    inner = np.arange(first, stop_ns, step_ns, dtype=np.int64)
    return np.concatenate([[start_ns], inner, [stop_ns]]).astype(np.int64)


def _integer_counts(counter: Counter, edges: Ints) -> Floats:
    """Integer counts for each interval that add up to the count from the first edge to the last; NaN: unknown."""
    if not counter or not edges.size:
        return np.full(max(edges.size - 1, 0), np.nan)
    counts = counter.at(edges)
    return np.asarray(np.diff(np.round(counts - counts[0])))


def _last(times_ns: Floats, values: Floats, edges: Ints) -> Floats:
    """The last sample after each interval's start and up to its end; NaN if there is none."""
    behind = np.searchsorted(times_ns, edges, side="right")
    found = np.full(edges.size - 1, np.nan)
    some = behind[1:] > behind[:-1]
    found[some] = values[behind[1:][some] - 1]
    return found
