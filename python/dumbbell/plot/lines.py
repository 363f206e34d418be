"""From a run to the lines of a panel: which flows or groups, which numbers, how many points.

A line table has the columns `s` (time in seconds), `v` (value), `flow` (the line's
name). More than a dozen flows become one line a group.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dumbbell.analysis import group_throughput, throughput
from dumbbell.plot.thin import POINTS, thin
from dumbbell.result import Run

__all__ = [
    "FLOWS_MAX",
    "cwnd_of",
    "grouped",
    "names",
    "of_groups",
    "rate_lines",
    "round_step_ns",
    "sample_lines",
    "step_ns",
    "thinned",
]

FLOWS_MAX = 12
"""More lines than these can't be told apart; groups are drawn instead."""
STEPS_MAX = 300
NS = 1_000_000_000


def grouped(run: Run) -> bool:
    """Whether groups are drawn instead of flows."""
    return len(run.birth["flows"]) > FLOWS_MAX


def names(run: Run) -> Sequence[Mapping[str, Any]]:
    """What the legend lists: flows, or groups standing for their flows, each with `name` and `group`."""
    if not grouped(run):
        return list(run.birth["flows"])
    groups = dict.fromkeys(flow["group"] for flow in run.birth["flows"])
    return [{"name": group, "group": group} for group in groups]


def step_ns(run: Run) -> int:
    """The bin of a rate: 1, 2 or 5 times a power of ten, at least 10 ms, at most 300 of them."""
    return round_step_ns(run.birth["duration_s"] * NS, STEPS_MAX)


def round_step_ns(length_ns: float, bins: int) -> int:
    """1, 2 or 5 times a power of ten, at least 10 ms, so that no more than so many are as long as that."""
    least_ns = max(length_ns / bins, NS / 100)
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least_ns:
                return factor * power
        power *= 10


def rate_lines(run: Run) -> pl.DataFrame:
    """Throughput in Mbit/s, of flows or groups."""
    table = group_throughput(run, step_ns(run)) if grouped(run) else throughput(run, step_ns(run))
    name = "group" if grouped(run) else "flow"
    lines = table.select(pl.col("time_ns") / NS, pl.col("throughput_bps") / 1e6, pl.col(name)).drop_nulls()
    return lines.rename({"time_ns": "s", "throughput_bps": "v", name: "flow"})


def sample_lines(run: Run, value: pl.Expr, *, add: bool, points: int = POINTS) -> pl.DataFrame:
    """A column of the flows' samples; of groups the sum of their flows (`add`), or the mean."""
    rows = run.flows.select("time_ns", "flow", "group", value.cast(pl.Float64).alias("v")).drop_nulls()
    if grouped(run):
        rows = of_groups(rows, max(round(run.birth["duration_s"] * NS / POINTS), 1), add=add).rename({"group": "flow"})
    return thinned(rows.select(pl.col("time_ns") / NS, "v", "flow").rename({"time_ns": "s"}), points)


def cwnd_of(runs: Sequence[Run]) -> tuple[pl.Expr, str]:
    """A window of these runs in one unit, and its axis: packets, or kB where more flows' logs say it in bytes only."""
    known = {
        column: sum(run.flows.filter(pl.col(column).is_not_null())["flow"].n_unique() for run in runs)
        for column in ("cwnd_packets", "cwnd_bytes")
    }
    if known["cwnd_bytes"] > known["cwnd_packets"]:
        return pl.col("cwnd_bytes") / 1e3, "cwnd, kB"
    return pl.col("cwnd_packets"), "cwnd, packets"


def thinned(table: pl.DataFrame, points: int = POINTS) -> pl.DataFrame:
    """Every line of a table (`s, v, flow`) with the points that its picture needs."""
    parts = table.partition_by("flow", maintain_order=True)
    return pl.concat([table.clear(), *(part[thin(part["s"], part["v"], points)] for part in parts)])


def of_groups(rows: pl.DataFrame, bin_ns: int, *, add: bool) -> pl.DataFrame:
    """Samples (`time_ns, flow, group, v`) as one line a group: `time_ns` (a bin's middle), `group`, `v`.

    Flows are sampled at almost the same time: each one's mean in a bin, then all of the group's together.
    """
    time = pl.col("time_ns") // bin_ns * bin_ns + bin_ns // 2
    means = rows.group_by(time, "group", "flow").agg(pl.col("v").mean())
    together = pl.col("v").sum() if add else pl.col("v").mean()
    return means.group_by("time_ns", "group").agg(together).sort("group", "time_ns")
