"""Fairness between flows, and the time to convergence.

Based on the rates from `flows` and `time_series`.
"""

from collections.abc import Sequence

import polars as pl

from dumbbell.analysis.flows import flow_throughput_bps
from dumbbell.analysis.time_series import throughput
from dumbbell.analysis.window import NS, Window, is_bulk, life_ns, long_lived
from dumbbell.results.result import Run

__all__ = ["convergence_s", "jain", "jain_index", "jain_over_time"]


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index (Σx)² ÷ (n Σx²): 1 if all rates are equal, 1/n if one flow has everything.

    Jain, Chiu & Hawe 1984, "A quantitative measure of fairness and discrimination", DEC-TR-301.

    >>> jain_index([10.0, 10.0])
    1.0
    >>> jain_index([10.0, 0.0])
    0.5
    """
    if not rates:
        raise ValueError("jain_index needs at least one rate")
    largest = max(rates)
    if largest == 0:
        return 1.0  # All rates are 0: equal.
    shares = [rate / largest for rate in rates]  # Squares of very small rates would underflow.
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def jain(run: Run, window: Window | None = None) -> float | None:
    """Jain's index over the throughput of the long-lived flows, each over its own lifetime.

    Long-lived flows as in `window.long_lived`: TCP without a size limit, active for at least half of the window. None
    without such flows.
    """
    rates = flow_throughput_bps(run, window)
    known = [rate for flow in long_lived(run, window) if (rate := rates[flow["name"]]) is not None]
    return jain_index(known) if known else None


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

    The ε-convergence time of Li, Leith & Shorten 2007, "Experimental evaluation of TCP protocols for high-speed
    networks": from the start of the flow to the end of the first bin whose throughput is at least ε × its mean over the
    second half of its lifetime. None with fewer than two long-lived flows, or without throughput.
    """
    flows = long_lived(run)
    if len(flows) < 2:
        return None
    last = max(flows, key=lambda flow: life_ns(run, flow)[0])
    start_ns, stop_ns = life_ns(run, last)
    late = flow_throughput_bps(run, ((start_ns + stop_ns) // 2, stop_ns))[last["name"]]
    if not late:
        return None
    rates = throughput(run, step_ns, (start_ns, stop_ns))
    for time_ns, name, rate in rates.select("time_ns", "flow", "throughput_bps").iter_rows():
        if name == last["name"] and rate >= epsilon * late:
            return float(time_ns + step_ns // 2 - start_ns) / NS
    return None
