"""What a flow's controller was doing, and for how long."""

import polars as pl

from dumbbell.result import Run

__all__ = ["phases"]

_INFERRED = (
    pl.when(pl.col("bbr_cwnd_gain") < 1.5)
    .then(pl.lit("probe_rtt"))
    .when(pl.col("bbr_pacing_gain") > 2)
    .then(pl.lit("startup"))
    .when(pl.col("bbr_pacing_gain") < 0.5)
    .then(pl.lit("drain"))
    .when(pl.col("bbr_pacing_gain").is_not_null())
    .then(pl.lit("probe_bw"))
)
"""BBR's gains (Cardwell et al. 2016): 2.89 in STARTUP, its inverse in DRAIN, cwnd gain 1 in PROBE_RTT only."""


def phases(run: Run) -> pl.DataFrame:
    """Stretches of one phase: `flow, phase, start_ns, stop_ns, inferred`.

    The phase is the controller's own word (`cc_phase`) where the engine has it, otherwise inferred from BBR's gains.
    A stretch lasts until the first sample of the next; the last one until the flow's last sample.
    """
    rows = run.flows.select(
        "time_ns",
        "flow",
        phase=pl.coalesce("cc_phase", _INFERRED),
        inferred=pl.col("cc_phase").is_null(),
    ).filter(pl.col("phase").is_not_null())
    changed = (pl.col("phase") != pl.col("phase").shift()).fill_null(value=True).over("flow")
    last = pl.col("time_ns").last().over("flow")
    starts = rows.with_columns(last=last).filter(changed)
    stop = pl.col("time_ns").shift(-1).over("flow").fill_null(pl.col("last"))
    return starts.select("flow", "phase", start_ns="time_ns", stop_ns=stop, inferred="inferred").sort(
        "flow", "start_ns"
    )
