"""What each controller was doing, and for how long.

The simulator says it (`cc_phase`); of a kernel it is inferred, and said so:

```text
BBR            `tcp_bbr.c` sets its two gains from its mode (bbr_update_gains), so the gains tell the mode:
               cwnd gain ≤ 1 → probe_rtt, else pacing gain ≥ 2 → startup (2.89), ≤ 0.5 → drain (0.35), else probe_bw;
               no gains yet (0, before the first ACK) → startup
loss-based     cwnd < ssthresh → slow_start, else avoidance: `tcp_in_slow_start` of net/tcp.h
```

A state lasts from the first sample that shows it to the first that shows another, so its ends are as sharp as the
samples are close; with `trace = "events"` they are exact. A state shorter than the time between two samples can be
missed.
"""

import polars as pl

from dumbbell.analysis.window import NS, life_ns
from dumbbell.result import Run

__all__ = ["durations", "phases"]

SLOW_STARTERS = (
    *("bic", "cdg", "cubic", "dctcp", "dctcp-reno", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Controllers of Linux that grow by `tcp_slow_start` while cwnd < ssthresh."""

PHASES = {"flow": pl.String, "phase": pl.String, "start_ns": pl.Int64, "stop_ns": pl.Int64, "inferred": pl.Boolean}


def phases(run: Run) -> pl.DataFrame:
    """Every state of every flow, in order of time: `flow, phase, start_ns, stop_ns, inferred`.

    Flows whose controller has no states, or of which nobody knows them, have no rows. The last state lasts to the
    flow's end.
    """
    flows = [flow for flow in run.birth["flows"] if flow.get("kind") != "udp"]
    ends = {flow["name"]: life_ns(run, flow)[1] for flow in flows}
    order = {flow["name"]: number for number, flow in enumerate(flows)}
    if not flows:
        return pl.DataFrame(schema=PHASES)
    slow = [flow["name"] for flow in flows if flow.get("cc") in SLOW_STARTERS]
    known = run.flows.filter(pl.col("flow").is_in(list(ends))).select(
        "flow",
        "time_ns",
        pl.coalesce("cc_phase", _inferred(slow)).alias("phase"),
        inferred=pl.col("cc_phase").is_null(),
    )
    stretches = (
        known.sort(pl.col("flow").replace_strict(order), "time_ns", maintain_order=True)
        .with_columns(stretch=pl.struct("flow", "phase", "inferred").rle_id())
        .group_by("stretch", maintain_order=True)
        .agg(
            pl.col("flow", "phase", "inferred").first(),
            start_ns=pl.col("time_ns").first(),
            seen=pl.col("time_ns").last(),
        )
    )
    following = pl.col("start_ns").shift(-1).over("flow")
    last = pl.max_horizontal("seen", pl.col("flow").replace_strict(ends, return_dtype=pl.Int64))
    return (
        stretches.with_columns(stop_ns=following.fill_null(last)).filter(pl.col("phase").is_not_null()).select(*PHASES)
    )


def durations(run: Run) -> pl.DataFrame:
    """How often and how long: `flow, phase, times, total_s, mean_s, longest_s, share, inferred`.

    `share` is the state's time ÷ the time of all the flow's known states. In the order in which states first came.
    """
    length_s = (pl.col("stop_ns") - pl.col("start_ns")) / NS
    table = (
        phases(run)
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


def _inferred(slow_starters: list[str]) -> pl.Expr:
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
    below = pl.col("ssthresh_packets").is_null() | (pl.col("cwnd_packets") < pl.col("ssthresh_packets"))
    loss_based = pl.col("flow").is_in(slow_starters) & pl.col("cwnd_packets").is_not_null()
    return (
        pl.when(pacing.is_not_null() & window.is_not_null())
        .then(bbr)
        .when(loss_based)
        .then(pl.when(below).then(pl.lit("slow_start")).otherwise(pl.lit("avoidance")))
        .otherwise(pl.lit(None, pl.String))
    )
