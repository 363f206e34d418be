"""How delays are distributed: as shares of the samples that were no longer than so many milliseconds."""

import polars as pl

from dumbbell.analysis.queueing import bottleneck
from dumbbell.result import Run

__all__ = ["one_way_delays", "queue_delay_cdf", "rtt_cdf"]


def rtt_cdf(run: Run) -> pl.DataFrame:
    """Of each flow's smoothed RTT: `flow, ms, share`, the empirical distribution function of its samples."""
    rows = run.flows.select("flow", ms=pl.col("rtt_ns").replace(0, None) / 1e6).drop_nulls()
    return _cdf(rows, ["flow"])


def one_way_delays(run: Run) -> pl.DataFrame:
    """Of the probes' delays: `kind, direction, ms, share`; `direction` is forward (the data's) or backward."""
    parts = [
        run.probes.select("kind", pl.lit(name).alias("direction"), ms=pl.col(f"{name}_ns") / 1e6)
        for name in ("forward", "backward")
    ]
    return _cdf(pl.concat(parts).drop_nulls(), ["kind", "direction"])


def queue_delay_cdf(run: Run) -> pl.DataFrame:
    """Of the bottleneck's backlog ÷ rate: `ms, share`."""
    name = (bottleneck(run) or {}).get("name")
    rows = run.queues.filter(pl.col("queue") == name).select("queue", ms=pl.col("delay_ns") / 1e6).drop_nulls()
    return _cdf(rows, ["queue"]).select("ms", "share")


def _cdf(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    counts = rows.group_by(*by, "ms").len().sort(*by, "ms")
    share = pl.col("len").cum_sum().over(by) / pl.col("len").sum().over(by)
    return counts.select(*by, "ms", share=share)
