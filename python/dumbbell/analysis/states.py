"""States of each controller over time; `crates/metrics/src/phases.rs` reads or infers them."""

import numpy as np
import polars as pl

from dumbbell.analysis.native import by_flow_name, native, remembered
from dumbbell.analysis.window import NS, Window, bounds_ns
from dumbbell.results.result import Run

__all__ = ["durations", "phases"]

PHASES = {"flow": pl.String, "phase": pl.String, "start_ns": pl.Int64, "stop_ns": pl.Int64, "inferred": pl.Boolean}


@remembered
def phases(run: Run) -> pl.DataFrame:
    """Every state of every flow, in order of time: `flow, phase, start_ns, stop_ns, inferred`.

    Flows without known states have no rows. The last state lasts to the flow's end.
    """
    found = by_flow_name(run, native(run).phases())
    tables = [
        pl.DataFrame(
            {"flow": [flow] * len(names), "phase": names, "start_ns": np.asarray(starts), "stop_ns": np.asarray(stops),
             "inferred": inferred}, PHASES,
        )
        for flow, (names, starts, stops, inferred) in found.items() if names
    ]  # fmt: skip
    return pl.concat([pl.DataFrame(schema=PHASES), *tables])


def durations(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Number and duration of states: `flow, phase, times, total_s, mean_s, longest_s, share, inferred`.

    With a window, of the parts of states inside it. `share` is the state's time ÷ the time of all the flow's known
    states. In the order of first appearance.
    """
    from_ns, to_ns = bounds_ns(run, window)
    length_s = (pl.min_horizontal("stop_ns", to_ns) - pl.max_horizontal("start_ns", from_ns)) / NS
    table = (
        phases(run)
        .filter((pl.col("stop_ns") > from_ns) & (pl.col("start_ns") < to_ns))
        .group_by("flow", "phase", maintain_order=True)
        .agg(
            times=pl.len(),
            total_s=length_s.sum(),
            mean_s=length_s.mean(),
            longest_s=length_s.max(),
            inferred=pl.col("inferred").any(),
        )
    )
    share = pl.col("total_s") / pl.col("total_s").sum().over("flow")
    return table.select("flow", "phase", "times", "total_s", "mean_s", "longest_s", share.alias("share"), "inferred")
