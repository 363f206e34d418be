"""What happens at the bottleneck: how full its queue is, distributions of delay, and losses.

The share of time that the queue is empty or full, and the standing queue. Delays are flows' round trips, probes'
one-way delay and the queueing delay: each function returns an empirical distribution function, F(x) = number of samples
≤ x ÷ all samples (RFC 2330 section 11.3): one row for each distinct value, `ms` rising, `share` rising to 1. Losses are
by flow and by group, over time and over a cycle. `flows` and `queueing` have averages and percentiles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.native import NS, Cycle, Window, bounds_ns, clip_ns
from dumbbell.analysis.queueing import bottleneck
from dumbbell.analysis.time_series import (
    NAMELESS,
    NOTHING,
    Counter,
    Floats,
    Ints,
    alive,
    bytes_counters,
    counters,
    differences,
    edges_ns,
    frame,
    names,
    ratio,
)
from dumbbell.results.result import Run
from dumbbell.spec.units import Wrong, parse_qdisc, tc_size_bytes

__all__ = [
    "flow_loss",
    "group_loss",
    "occupancy",
    "one_way_delays",
    "over_cycle",
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
    path = (run.manifest.experiment or {}).get("path") or {}
    return int(path.get("mtu") or 1500) + ETHERNET_BYTES


DIRECTIONS = {"forward": "forward_ns", "backward": "backward_ns"}


def rtt_cdf(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Smoothed RTT (`tcpi_rtt`, RFC 6298) of each flow, over the samples in its lifetime: `flow, ms, share`.

    Samples are taken at even intervals, so shares are of time, not of packets. The kernel reports an RTT of 0 before
    the first measurement; such samples are skipped.
    """
    rows = run.flows.select("flow", "time_ns", ns=pl.col("rtt_ns").replace(0, None)).drop_nulls()
    lives = {flow.name: clip_ns(run, flow, window) for flow in run.manifest.flows}
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
    sent = run.probes.filter(pl.col("time_ns").is_between(*bounds_ns(run, window)))
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


RATES = ("lost_packets", "loss_rate", "retransmit_packets", "retransmit_rate")


def flow_loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Lost and retransmitted ÷ sent data segments of each flow, in every bin: `time_ns, flow, group` and `RATES`.

    Lost by a time = data segments sent (`tcpi_data_segs_out`) + the SYN − delivered (`tcpi_delivered`, which counts it)
    − still in the network (the pipe of RFC 6675: unacked − sacked − lost + retransmitted). It is exact except for what
    the sender does not know yet, at most a round trip old. Retransmitted as in `time_series.retransmit_rate`. A rate is
    null in bins in which nothing was sent; flows whose socket reports none of it (UDP, imports) have no rows.
    """
    edges = edges_ns(run, step_ns, window)
    loss_counters = _loss_counters(run)
    frames = [frame(edges[:0], NAMELESS, dict.fromkeys(RATES, NOTHING))]
    for flow in run.manifest.flows:
        if flow["name"] in loss_counters:
            table = frame(edges, names(flow), _rates([loss_counters[flow["name"]]], edges))
            frames.append(table.filter(alive(run, flow, edges)))
    return pl.concat(frames)


def group_loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """The same for all flows of a group together: `time_ns, group` and `RATES`; sums divided by sums."""
    edges = edges_ns(run, step_ns, window)
    frames = [frame(edges[:0], {"group": ""}, dict.fromkeys(RATES, NOTHING))]
    frames += [
        frame(edges, {"group": group}, _rates(loss_counters, edges)) for group, loss_counters in _by_group(run).items()
    ]
    return pl.concat(frames)


def over_cycle(run: Run, found: Cycle, bins: int = 20, window: Window | None = None) -> pl.DataFrame:
    """Goodput, loss and retransmissions of each group over one cycle, one row per phase bin and group.

    Columns `phase, group, throughput_bps, loss_rate, retransmit_rate`. Epoch folding (Leahy et al. 1983): counts in the
    same `bins`-th part of every whole period, sums divided by sums; `phase` is the part's centre, 0 to 1. Phase 0 is
    where the group with the most goodput starts to lead, by the fundamental of the difference. Jitter and missing
    periods smear it, so it is the more precise the higher `found.strength` is.
    """
    from_ns, to_ns = bounds_ns(run, window)
    period_ns = found.period_s * NS
    periods = int((to_ns - from_ns) / period_ns)
    if periods < 1:
        raise ValueError(f"a window of {(to_ns - from_ns) / NS:g} s contains no whole period of {found.period_s:g} s")
    edges = np.round(from_ns + np.arange(periods * bins + 1) * period_ns / bins).astype(np.int64)

    def folded(counter: Counter) -> Floats:
        return np.asarray(differences(counter, edges).reshape(periods, bins).sum(axis=0))

    received = bytes_counters(run)
    folds = {
        group: (
            np.sum([folded(received[name]) for name in flows if received[name]], axis=0) + np.zeros(bins),
            [
                [folded(loss_counters.lost), folded(loss_counters.retransmitted), folded(loss_counters.sent)]
                for loss_counters in _by_group(run).get(group, [])
            ],
        )
        for group, flows in _members(run).items()
    }
    first = _begins([got for got, _ in folds.values()])
    phase = (np.arange(bins) + 0.5) / bins
    frames = []
    for group, (got, parts) in folds.items():
        lost, retransmitted, sent = np.sum(parts, axis=0) if parts else np.zeros((3, bins))
        columns = (8 * NS * got / (periods * period_ns / bins), ratio(lost, sent), ratio(retransmitted, sent))
        rolled = dict(
            zip(("throughput_bps", "loss_rate", "retransmit_rate"), (np.roll(c, -first) for c in columns), strict=True)
        )
        frames.append(pl.DataFrame({"phase": phase, "group": [group] * bins, **rolled}, nan_to_null=True))
    return pl.concat(frames)


@dataclass(frozen=True)
class _LossCounters:
    """Three counters of one sender's socket."""

    lost: Counter
    retransmitted: Counter
    sent: Counter


def _loss_counters(run: Run) -> dict[str, _LossCounters]:
    sent, delivered = pl.col("data_segs_out").cast(pl.Int64), pl.col("delivered_packets").cast(pl.Int64)
    lost = (sent + 1 - delivered - pl.col("inflight_packets").cast(pl.Int64)).alias("_lost")
    lost_by = counters(run.replaced(flows=run.flows.with_columns(lost)), "_lost")
    retransmitted_by = counters(run, "retrans_packets", "retransmits")
    sent_by = counters(run, "data_segs_out", "data_segs_out")
    return {
        name: _LossCounters(lost, retransmitted_by[name], sent_by[name])
        for name, lost in lost_by.items()
        if lost and retransmitted_by[name] and sent_by[name]
    }


def _by_group(run: Run) -> dict[str, list[_LossCounters]]:
    loss_counters = _loss_counters(run)
    groups = {
        group: [loss_counters[name] for name in flows if name in loss_counters]
        for group, flows in _members(run).items()
    }
    return {group: known for group, known in groups.items() if known}


def _members(run: Run) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for flow in run.manifest.flows:
        groups.setdefault(flow["group"], []).append(flow["name"])
    return groups


def _rates(loss_counters: list[_LossCounters], edges: Ints) -> Mapping[str, Floats]:
    lost, retransmitted, sent = (
        np.sum([differences(getattr(one, counter), edges) for one in loss_counters], axis=0)
        for counter in ("lost", "retransmitted", "sent")
    )
    return dict(zip(RATES, (lost, ratio(lost, sent), retransmitted, ratio(retransmitted, sent)), strict=True))


def _begins(folds: list[Floats]) -> int:
    """The bin in which the largest fold starts to lead, by the fundamental of the difference to the next."""
    largest = sorted(folds, key=lambda fold: -float(fold.sum()))[:2]
    difference = largest[0] - (largest[1] if len(largest) > 1 else 0.0)
    bins = difference.size
    peak = -np.angle(np.fft.rfft(difference)[1]) / (2 * np.pi) * bins  # In bins, the maximum of the fundamental.
    return int(round(float(peak) - bins / 4) % bins)
