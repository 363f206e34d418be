"""Throughput against delay.

One number (power), or two as a point of a scatter plot. Rates from `flows`, delays from `delays`.
"""

import polars as pl

from dumbbell.analysis.flows import flow_throughput_bps, rtt_ms
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

__all__ = ["power", "throughput_and_delay_p95"]

POINTS = {"flow": pl.String, "group": pl.String, "throughput_bps": pl.Float64, "delay_p95_ms": pl.Float64}


def power(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Kleinrock's power of each flow: goodput ÷ mean smoothed RTT, by flow, in bit/s per second of RTT.

    Kleinrock 1979, "Power and deterministic rules of thumb for probabilistic problems in computer communications"
    (after Giessler et al. 1978). The delay is the flow's own RTT, propagation included: the mean of its samples of
    `tcpi_rtt`. So power compares flows on one path, not paths. None if throughput or RTT is unknown (UDP).
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    return {name: _over(rate, rtts[name]["mean"]) for name, rate in rates.items()}


def throughput_and_delay_p95(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Goodput and 95th-percentile delay of each flow: `flow, group, throughput_bps, delay_p95_ms`.

    The two axes of Sprout and Pantheon (Winstein, Sivaraman & Balakrishnan 2013; Yan et al. 2018). They plot the
    one-way delay of packets; a socket has only RTTs, so the delay is the 95th percentile of the smoothed RTT's samples.
    `queueing.one_way_delay_p95_ms` has the one-way delay of probes.
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    rows = [
        (flow["name"], flow["group"], rates[flow["name"]], rtts[flow["name"]]["p95"]) for flow in run.manifest["flows"]
    ]
    return pl.DataFrame(rows, schema=POINTS, orient="row")


def _over(rate_bps: float | None, delay_ms: float | None) -> float | None:
    """A rate in bit/s ÷ a delay, in bit/s per second; None if one is unknown or the delay is 0."""
    if rate_bps is None or not delay_ms:
        return None
    return rate_bps / (delay_ms / 1e3)
