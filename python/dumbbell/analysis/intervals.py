"""What each flow transferred in every interval, as iperf3 reports it while it runs.

Even bins for figures are `rates`; single numbers over a window are `flows`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.bins import Ints
from dumbbell.analysis.counters import Counter, Floats, bytes_counters, counters
from dumbbell.analysis.samples import by_flow, remembered
from dumbbell.analysis.window import NS, Window, bounds_ns, clip_ns
from dumbbell.result import Run

__all__ = ["SAMPLED", "interval_count", "intervals", "no_data_shares"]

SAMPLED = ("cwnd_packets", "cwnd_bytes", "rtt_ns")
"""What an interval shows of the sender's socket at its end."""
_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "flow": pl.String, "group": pl.String, "from_ns": pl.Int64, "to_ns": pl.Int64, "bytes": pl.Int64,
    "throughput_bps": pl.Float64, "retransmits": pl.Int64, **dict.fromkeys(SAMPLED, pl.Int64),
}  # fmt: skip


def intervals(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """A row for each interval of each flow: bytes received in order, their rate, retransmissions, window, RTT.

    Intervals begin at multiples of `step_ns` (ns) after the window's start and are cut to the flow's life, so the
    first and the last may be shorter; `throughput_bps` is of the interval's real length. The sums of `bytes` and of
    `retransmits` equal what `flows` counts over the window. `SAMPLED` are of the last sample in the interval.
    Null: not known. Raises `ValueError` for a step of 0 or less.
    """
    received, again = bytes_counters(run), counters(run, "retrans_packets", "retransmits")
    samples = {column: by_flow(run, column) for column in SAMPLED}
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for flow in run.birth["flows"]:
        name = flow["name"]
        edges = _edges_ns(run, flow, step_ns, window, received[name])
        if edges.size < 2:
            continue
        size = edges.size - 1
        count = _whole(received[name], edges)
        columns: dict[str, Any] = {
            "flow": [name] * size,
            "group": [flow["group"]] * size,
            "from_ns": edges[:-1],
            "to_ns": edges[1:],
            "bytes": count,
            "throughput_bps": 8 * NS * count / np.diff(edges),
            "retransmits": _whole(again[name], edges),
            **{column: _last(*samples[column][name], edges) for column in SAMPLED},
        }
        table = pl.DataFrame(columns, schema_overrides={"from_ns": pl.Int64, "to_ns": pl.Int64}, nan_to_null=True)
        frames.append(table.select(pl.col(column).cast(kind) for column, kind in _SCHEMA.items()))
    return pl.concat(frames)


@remembered
def no_data_shares(run: Run, window: Window | None = None, step_ns: int = NS) -> dict[str, float | None]:
    """Intervals in which a flow's receiver got no byte ÷ all its intervals in the window, by flow.

    Intervals are those of `intervals`; of one second, as iperf3's, unless `step_ns` says otherwise. None for a flow
    without an interval, and where the bytes are not known.
    """
    received = bytes_counters(run)
    shares: dict[str, float | None] = {}
    for flow in run.birth["flows"]:
        counter = received[flow["name"]]
        counts = _whole(counter, _edges_ns(run, flow, step_ns, window, counter))
        shares[flow["name"]] = float(np.mean(counts == 0)) if counter and counts.size else None
    return shares


def interval_count(run: Run, step_ns: int, window: Window | None = None) -> int:
    """At most so many rows `intervals` has. Raises `ValueError` for a step of 0 or less."""
    if step_ns <= 0:
        raise ValueError(f"an interval must be longer than 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return len(run.birth["flows"]) * ((to_ns - from_ns) // step_ns + 2)


def _edges_ns(run: Run, flow: Mapping[str, Any], step_ns: int, window: Window | None, received: Counter) -> Ints:
    """Where the intervals of a flow begin and end; empty for a flow without a life in the window."""
    if step_ns <= 0:
        raise ValueError(f"an interval must be longer than 0 ns, got {step_ns}")
    life = clip_ns(run, flow, window)
    if life is None:
        return np.empty(0, dtype=np.int64)
    (start_ns, stop_ns), (from_ns, to_ns) = life, bounds_ns(run, window)
    # `duration_s` is cut to microseconds: the last reading may lie up to one after it.
    if window is None and received and stop_ns == to_ns:
        stop_ns = max(stop_ns, int(received.times_ns[-1]))
    first = from_ns + (start_ns - from_ns) // step_ns * step_ns + step_ns
    inner = np.arange(first, stop_ns, step_ns, dtype=np.int64)
    return np.concatenate([[start_ns], inner, [stop_ns]]).astype(np.int64)


def _whole(counter: Counter, edges: Ints) -> Floats:
    """Whole counts in each interval, which add up to the whole count from the first edge to the last; NaN: unknown."""
    if not counter or not edges.size:
        return np.full(max(edges.size - 1, 0), np.nan)
    counts = counter.at(edges)
    return np.asarray(np.diff(np.round(counts - counts[0])))


def _last(times_ns: Floats, values: Floats, edges: Ints) -> Floats:
    """The last sample after each interval's start and up to its end; NaN where there is none."""
    behind = np.searchsorted(times_ns, edges, side="right")
    found = np.full(edges.size - 1, np.nan)
    some = behind[1:] > behind[:-1]
    found[some] = values[behind[1:][some] - 1]
    return found
