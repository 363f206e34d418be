"""Fairness between flows, and the time to convergence; `crates/metrics/src/fairness.rs` defines them."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dumbbell import _sim
from dumbbell.analysis.native import metrics, native
from dumbbell.analysis.time_series import throughput
from dumbbell.analysis.window import NS, Window, is_bulk, life_ns
from dumbbell.results.result import Run

__all__ = ["convergence_s", "jain", "jain_index", "jain_over_time", "long_lived"]


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index (Σx)² ÷ (n Σx²): 1 if all rates are equal, 1/n if one flow has everything.

    >>> jain_index([10.0, 10.0])
    1.0
    >>> jain_index([10.0, 0.0])
    0.5
    """
    index = _sim.jain_index(list(rates))
    if index is None:
        raise ValueError("jain_index needs at least one rate")
    return index


def jain(run: Run, window: Window | None = None) -> float | None:
    """Jain's index over the throughput of the long-lived flows, each over its own lifetime; None without such flows."""
    found: float | None = metrics(run, window)["jain"]
    return found


def jain_over_time(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Jain's index of the throughput in every bin: `time_ns, flows, jain`.

    (Σx)² ÷ (n Σx²) over the n `flows` that could share it: TCP without a size limit, active during the whole bin. Short
    bins count a sawtooth as unfairness (Jain, Chiu & Hawe 1984 leave the interval open). Bins with fewer than two such
    flows have no row.
    """
    lives = [(flow["name"], *life_ns(run, flow)) for flow in run.manifest["flows"] if is_bulk(flow)]
    schema = {"flow": pl.String, "start_ns": pl.Int64, "stop_ns": pl.Int64}
    shared = (
        throughput(run, step_ns, window).drop_nulls().join(pl.DataFrame(lives, schema=schema, orient="row"), on="flow")
    )
    began = pl.col("time_ns") - step_ns // 2  # A row has its bin's centre, rounded down.
    active_throughout = (began >= pl.col("start_ns")) & (began + step_ns <= pl.col("stop_ns"))
    bins = (
        shared.filter(active_throughout)
        .group_by("time_ns")
        .agg("throughput_bps", flows=pl.len())
        .filter(pl.col("flows") > 1)
    )
    indices = [jain_index(rates) for rates in bins["throughput_bps"].to_list()]
    return bins.select("time_ns", "flows", pl.Series("jain", indices, pl.Float64)).sort("time_ns")


def convergence_s(run: Run, step_ns: int = NS, epsilon: float = 0.8) -> float | None:
    """Time until the last long-lived flow gets `epsilon` of its long-term throughput.

    None with fewer than two long-lived flows, or without throughput.
    """
    return native(run).convergence_s(step_ns, epsilon)


def long_lived(run: Run, window: Window | None = None) -> list[Mapping[str, Any]]:
    """The flows with comparable rates: TCP without a size limit, active for at least half of the window."""
    is_long = native(run).long_lived(window)
    return [flow for flow, long in zip(run.manifest["flows"], is_long, strict=True) if long]
