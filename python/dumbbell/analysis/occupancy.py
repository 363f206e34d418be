"""The share of time that the bottleneck's queue is empty or full, the standing queue, and distributions of delay.

Delays are flows' round trips, probes' one-way delay and the queueing delay. Each function returns an empirical
distribution function, F(x) = number of samples ≤ x ÷ all samples (RFC 2330 section 11.3): one row for each distinct
value, `ms` rising, `share` rising to 1. `flows` and `queueing` have averages and percentiles.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dumbbell.analysis.native import NS, Window, bounds_ns, clip_ns
from dumbbell.analysis.queueing import bottleneck
from dumbbell.results.result import Run
from dumbbell.spec.units import Wrong, parse_qdisc, tc_size_bytes

__all__ = [
    "occupancy",
    "one_way_delays",
    "queue_delay_cdf",
    "rtt_cdf",
]


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


DIRECTIONS = {"forward": "forward_ns", "backward": "backward_ns"}


def rtt_cdf(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Smoothed RTT (`tcpi_rtt`, RFC 6298) of each flow, over the samples in its lifetime: `flow, ms, share`.

    Samples are taken at even intervals, so shares are of time, not of packets. The kernel reports an RTT of 0 before
    the first measurement; such samples are skipped.
    """
    rows = run.flows.select("flow", "time_ns", ns=pl.col("rtt_ns").replace(0, None)).drop_nulls()
    lives = {flow["name"]: clip_ns(run, flow, window) for flow in run.manifest["flows"]}
    inside = [
        rows.filter((pl.col("flow") == name) & pl.col("time_ns").is_between(*life))
        for name, life in lives.items()
        if life is not None
    ]
    return _distribution(pl.concat([rows.clear(), *inside]), "flow")


def one_way_delays(run: Run, window: Window | None = None) -> pl.DataFrame:
    """One-way delay (RFC 7679) of the probes sent in the window: `kind, direction, ms, share`.

    `kind` is `ping` or `udp`, `direction` `forward` (the data's) or `backward`. Lost probes, and engines without a
    common clock, have no rows.
    """
    sent = run.probes.filter(pl.col("sent_ns").is_between(*bounds_ns(run, window)))
    ways = [
        sent.select("kind", pl.lit(direction, pl.String).alias("direction"), pl.col(column).alias("ns")).drop_nulls()
        for direction, column in DIRECTIONS.items()
    ]
    return _distribution(pl.concat(ways), "kind", "direction")


def queue_delay_cdf(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Queueing delay of the bottleneck, backlog ÷ rate, over the samples in the window: `queue, ms, share`.

    This is the queueing delay of the next packet in a FIFO. No rows if the run names no bottleneck or its link has no
    rate.
    """
    entry = bottleneck(run)
    inside = pl.col("time_ns").is_between(*bounds_ns(run, window))
    under_test = run.queues.clear() if entry is None else run.queues.filter(inside & (pl.col("queue") == entry["name"]))
    return _distribution(under_test.select("queue", ns=pl.col("delay_ns")).drop_nulls(), "queue")


def _distribution(samples: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Column `ns` as one distribution function for each value of `by`, in order of first appearance."""
    parts = [_shares(part) for part in samples.partition_by(*by, maintain_order=True)]
    return pl.concat([_shares(samples.clear()), *parts]).select(*by, "ms", "share")


def _shares(samples: pl.DataFrame) -> pl.DataFrame:
    upto = pl.struct(pl.exclude("ns")).cum_count().alias("upto")
    rising = samples.sort("ns").with_columns(upto).unique("ns", keep="last", maintain_order=True)
    return rising.with_columns(ms=pl.col("ns") / 1e6, share=pl.col("upto") / samples.height)
