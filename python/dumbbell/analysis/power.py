"""Throughput against delay: what a flow got for the waiting that it caused or bore.

One number (power), or both sides as a point of a scatter plot. Rates are `flows`, delays `delays`.
"""

import polars as pl

from dumbbell.analysis.flows import flow_throughput_bps, rtt_ms
from dumbbell.analysis.window import Window
from dumbbell.result import Run

__all__ = ["power", "throughput_and_delay_p95"]

POINTS = {"flow": pl.String, "group": pl.String, "throughput_bps": pl.Float64, "delay_p95_ms": pl.Float64}


def power(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Kleinrock's power of each flow: goodput ÷ mean smoothed RTT, by flow, in bit/s for each second of RTT.

    Kleinrock 1979, "Power and deterministic rules of thumb for probabilistic problems in computer communications"
    (after Giessler et al. 1978). The delay is the flow's own round trip, propagation included: the mean of its
    samples of `tcpi_rtt`. So it compares flows of one path, not paths. None where throughput or RTT isn't known
    (UDP).
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    return {name: _over(rate, rtts[name]["mean"]) for name, rate in rates.items()}


def throughput_and_delay_p95(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Goodput and 95th-percentile delay of each flow: `flow, group, throughput_bps, delay_p95_ms`.

    The two axes of Sprout and Pantheon (Winstein, Sivaraman & Balakrishnan 2013; Yan et al. 2018). They plot one-way
    delay of packets; a socket knows round trips only, so the delay is the 95th percentile of the smoothed RTT's
    samples. One-way delay of probes is `queueing.one_way_delay_p95_ms`.
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    rows = [
        (flow["name"], flow["group"], rates[flow["name"]], rtts[flow["name"]]["p95"]) for flow in run.birth["flows"]
    ]
    return pl.DataFrame(rows, schema=POINTS, orient="row")


def _over(rate_bps: float | None, delay_ms: float | None) -> float | None:
    """A rate in bit/s ÷ a delay, in bit/s for each second; None while one is unknown or there is no delay."""
    if rate_bps is None or not delay_ms:
        return None
    return rate_bps / (delay_ms / 1e3)
