"""Occupancy of the bottleneck's queue, as shares of time: empty, full; and the standing queue.

`queueing` has averages and percentiles of the backlog.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dumbbell.analysis.queueing import bottleneck
from dumbbell.analysis.window import NS, Window, bounds_ns
from dumbbell.results.result import Run
from dumbbell.spec.qdisc import parse_qdisc
from dumbbell.spec.units import Wrong, tc_size_bytes

__all__ = ["occupancy"]

IN_BYTES = frozenset({"bfifo", "tbf", "red"})
"""Qdiscs with a limit in bytes; the others' is in packets."""
ETHERNET_BYTES = 14
STANDING_PERCENTILE = 5

Limit = tuple[str, int]
"""`packets` or `bytes`, and the number."""


def occupancy(run: Run, window: Window | None = None) -> dict[str, float | None] | None:
    """From all samples of the bottleneck's queue: `samples, empty_share, last_empty_s, full_share, standing_ms`.

    `empty_share`: backlog 0. `last_empty_s`: the time of the last such sample, None if there is none. `full_share`: no
    space for another packet: packets ≥ limit, or bytes + MTU + 14 > limit; None if the qdisc is written without a
    limit. `standing_ms`: the 5th percentile of backlog ÷ rate, so the delay was at least that for 95 % of the time (a
    standing queue is what does not drain; Nichols & Jacobson 2012). None without a sample.
    """
    entry = bottleneck(run)
    if entry is None:
        return None
    rows = run.queues.filter((pl.col("queue") == entry["name"]) & pl.col("time_ns").is_between(*bounds_ns(run, window)))
    rows = rows.drop_nulls("backlog_packets")
    if rows.is_empty():
        return None
    empty = rows.filter(pl.col("backlog_packets") == 0)
    last_ns = empty["time_ns"].max()
    delay_ms = rows["delay_ns"].drop_nulls() / 1e6
    return {
        "samples": rows.height,
        "empty_share": empty.height / rows.height,
        "last_empty_s": last_ns / NS if isinstance(last_ns, int) else None,
        "full_share": _full_share(rows, _limit(entry), _packet_bytes(run)),
        "standing_ms": delay_ms.quantile(STANDING_PERCENTILE / 100, "linear") if len(delay_ms) else None,
    }


def _full_share(rows: pl.DataFrame, limit: Limit | None, packet_bytes: int) -> float | None:
    if limit is None:
        return None
    unit, most = limit
    full = pl.col("backlog_packets") >= most if unit == "packets" else pl.col("backlog_bytes") + packet_bytes > most
    return rows.filter(full).height / rows.height


def _limit(entry: Mapping[str, Any]) -> Limit | None:
    try:
        text = parse_qdisc(entry.get("qdisc")).option("limit")
        if text is None:
            return None
        return ("bytes", tc_size_bytes(text)) if entry["kind"] in IN_BYTES else ("packets", int(text))
    except (Wrong, ValueError):
        return None  # A qdisc in a tc script whose syntax only tc knows.


def _packet_bytes(run: Run) -> int:
    path = (run.manifest.get("experiment") or {}).get("path") or {}
    return int(path.get("mtu") or 1500) + ETHERNET_BYTES
