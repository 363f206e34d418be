"""Bytes of each flow in every interval, as iperf3 reports them during a test.

`crates/metrics/src/intervals.rs` defines the intervals and counts; this module adds samples. `time_series` has even
bins for figures; `flows` single numbers over a window.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.bins import Ints
from dumbbell.analysis.native import by_flow_name, native
from dumbbell.analysis.sample_arrays import Floats, by_flow
from dumbbell.analysis.window import NS, Window, bounds_ns
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
    found = by_flow_name(run, native(run).intervals(step_ns, window))
    samples = {column: by_flow(run, column) for column in SAMPLED}
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for flow in run.manifest["flows"]:
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
    return len(run.manifest["flows"]) * ((to_ns - from_ns) // step_ns + 2)


def _last(times_ns: Floats, values: Floats, edges: Ints) -> Floats:
    """The last sample after each interval's start and up to its end; NaN if there is none."""
    behind = np.searchsorted(times_ns, edges, side="right")
    found = np.full(edges.size - 1, np.nan)
    some = behind[1:] > behind[:-1]
    found[some] = values[behind[1:][some] - 1]
    return found
