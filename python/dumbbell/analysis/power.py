"""What a flow got, and what delay its packets paid for it."""

import polars as pl

from dumbbell.analysis.flows import flow_throughput_bps
from dumbbell.result import Run

__all__ = ["throughput_and_delay_p95"]


def throughput_and_delay_p95(run: Run) -> pl.DataFrame:
    """A row for each flow: `flow, group, throughput_bps, delay_p95_ms`.

    The delay is the 95th percentile of the flow's smoothed RTT samples; flows without one are left out.
    """
    rates = flow_throughput_bps(run)
    delays = run.flows.select("flow", ms=pl.col("rtt_ns").replace(0, None) / 1e6).drop_nulls()
    p95 = dict(delays.group_by("flow").agg(pl.col("ms").quantile(0.95, "linear")).iter_rows())
    rows = [
        (flow["name"], flow["group"], rate, p95[flow["name"]])
        for flow in run.birth["flows"]
        if flow["name"] in p95 and (rate := rates[flow["name"]]) is not None
    ]
    names = ("flow", "group")
    columns = {**dict.fromkeys(names, pl.String), "throughput_bps": pl.Float64, "delay_p95_ms": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")
