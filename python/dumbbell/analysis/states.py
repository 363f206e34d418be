"""States of each controller over time.

The simulator reports them (`cc_phase`); for a kernel they are inferred, and marked as such:

```text
BBR            `tcp_bbr.c` sets its two gains from its mode (bbr_update_gains), so the gains reveal the mode:
               cwnd gain ≤ 1 → probe_rtt, else pacing gain ≥ 2 → startup (2.89), ≤ 0.5 → drain (0.35), else probe_bw;
               no gains yet (0, before the first ACK) → startup
               (only the simulator has versions 2 and 3, and reports probe_bw_down, _cruise, _refill and _up)
loss-based     cwnd < ssthresh → slow_start, else avoidance: `tcp_in_slow_start` of net/tcp.h
```

On a kernel, a missing ssthresh means infinite; in a log it may just be unrecorded, so nothing is inferred without it.

A state lasts from the first sample that shows it to the first that shows another, so its bounds are as precise as the
sampling interval; with `trace = "events"` they are exact. States shorter than the sampling interval can be missed.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from dumbbell.analysis.bins import Ints
from dumbbell.analysis.sample_arrays import Bools, Rows, remembered, rows_by_flow
from dumbbell.analysis.window import NS, Window, bounds_ns, life_ns
from dumbbell.results.columns import Column, Names, Places
from dumbbell.results.result import Run, is_import

__all__ = ["SLOW_STARTERS", "durations", "inferred", "phases"]

SLOW_STARTERS = (
    *("bic", "cdg", "cubic", "dctcp", "dctcp-reno", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Linux controllers that grow by `tcp_slow_start` while cwnd < ssthresh."""

PHASES = {"flow": pl.String, "phase": pl.String, "start_ns": pl.Int64, "stop_ns": pl.Int64, "inferred": pl.Boolean}


@remembered
def phases(run: Run) -> pl.DataFrame:
    """Every state of every flow, in order of time: `flow, phase, start_ns, stop_ns, inferred`.

    Flows without known states have no rows. The last state lasts to the flow's end.
    """
    table, logs = run.table("flows"), is_import(run.manifest)
    reported = table.names("cc_phase")
    phase = reported if reported.is_known.all() else _with_inferred(run, infinite=not logs)
    samples = _Samples(table.column("time_ns"), phase, ~reported.is_known)
    rows = rows_by_flow(run)
    found = {
        flow["name"]: samples.states(rows[flow["name"]], life_ns(run, flow)[1], gaps_end=not logs)
        for flow in run.manifest["flows"]
        if flow.get("kind") != "udp"
    }
    lasted = [np.concatenate(column) for column in zip(*found.values(), strict=True)] or [np.empty(0, np.int64)] * 4
    flow = np.repeat(np.arange(len(found)), [codes.size for codes, *_ in found.values()])
    names = pl.Series(list(found), dtype=pl.String).gather(flow)
    texts = pl.Series(phase.texts, dtype=pl.String).gather(lasted[0])
    return pl.DataFrame(dict(zip(PHASES, (names, texts, *lasted[1:]), strict=True)), PHASES)


@dataclass(frozen=True)
class _Samples:
    """The states of all samples."""

    time: Column
    phase: Names
    inferred: Bools

    def states(self, rows: Rows, end_ns: int, *, gaps_end: bool) -> tuple[Places, Ints, Ints, Bools]:
        """One flow's states: codes of their phases, from and to in ns, and which are inferred.

        `gaps_end`: does a sample without a state end a state? In a log it does not.
        """
        shown = self.phase.is_known[rows]
        observed = self.time.is_known[rows] & (shown | gaps_end)
        codes = np.where(shown, self.phase.codes[rows], len(self.phase.texts))[observed]
        inferred, times = self.inferred[rows][observed], self.time.values[rows][observed].astype(np.int64)
        moved = np.ones(codes.size, dtype=np.bool_)
        moved[1:] = (codes[1:] != codes[:-1]) | (inferred[1:] != inferred[:-1])
        starts = times[moved]
        stops = np.append(starts[1:], max(end_ns, times.max(initial=0)))[: starts.size]
        known = codes[moved] < len(self.phase.texts)
        return codes[moved][known], starts[known], stops[known], inferred[moved][known]


def _with_inferred(run: Run, *, infinite: bool) -> Names:
    """The phase of every sample, reported or inferred; `infinite`: does a missing ssthresh mean infinite?"""
    slow = [flow["name"] for flow in run.manifest["flows"] if flow.get("cc") in SLOW_STARTERS]
    phase = pl.coalesce("cc_phase", inferred(pl.col("flow").is_in(slow), infinite=infinite))
    return Names.of(run.flows.select(phase).to_series())


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


def inferred(slow_starts: pl.Expr, *, infinite: bool) -> pl.Expr:
    """The phase by the table above; `slow_starts`: is the controller one of `SLOW_STARTERS`? Null if unknown."""
    pacing, window = pl.col("bbr_pacing_gain"), pl.col("bbr_cwnd_gain")
    bbr = (
        pl.when((pacing == 0) | (window == 0))
        .then(pl.lit("startup"))
        .when(window <= 1)
        .then(pl.lit("probe_rtt"))
        .when(pacing >= 2)
        .then(pl.lit("startup"))
        .when(pacing <= 0.5)
        .then(pl.lit("drain"))
        .otherwise(pl.lit("probe_bw"))
    )
    below = pl.col("cwnd_packets") < pl.col("ssthresh_packets")
    below = below.fill_null(value=True) if infinite else below
    return (
        pl.when(pacing.is_not_null() & window.is_not_null())
        .then(bbr)
        .when(slow_starts & pl.col("cwnd_packets").is_not_null())
        .then(pl.when(below).then(pl.lit("slow_start")).when(~below).then(pl.lit("avoidance")))
        .otherwise(pl.lit(None, pl.String))
    )
