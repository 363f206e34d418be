"""Distributions of delay: flows' round trips, probes' one-way delay, the queue under test.

Each function returns an empirical distribution function, F(x) = number of samples ≤ x ÷ all samples (RFC 2330 section
11.3): one row for each distinct value, `ms` rising, `share` rising to 1. `flows` and `queueing` reduce the same samples
to four numbers.
"""

import polars as pl

from dumbbell.analysis.queueing import bottleneck
from dumbbell.analysis.window import Window, bounds_ns, clip_ns
from dumbbell.results.result import Run

__all__ = ["one_way_delays", "queue_delay_cdf", "rtt_cdf"]

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
