"""The README's figure: `cyclic` on the simulator and on the kernel."""

import altair as alt
import polars as pl

import dumbbell as db
from dumbbell.analysis.time_series import group_throughput
from dumbbell.plots.colours import CONTROLLERS
from dumbbell.results.result import load
from studies.study import DOCS

ENGINES = {"sim": "Simulator", "kernel": "Linux 6.12 in virtual time"}
SCENARIO = "cyclic"
FIGURE = DOCS / "first-run.svg"
GROUPS = ("bbr", "cubic")
STEP_NS = 500_000_000
END_S = 120


def throughput(engine: str) -> pl.DataFrame:
    """Throughput of each group in bins of 0.5 s."""
    run = db.run(db.scenario(SCENARIO), engine=engine)
    return group_throughput(load(run.folder), STEP_NS, (0, END_S * 10**9)).select(
        pl.col("group").str.to_uppercase().alias("Controller"),
        (pl.col("time_ns") / 1e9).alias("Time, s"),
        (pl.col("throughput_bps") / 1e6).alias("Throughput, Mbit/s"),
    )


def panel(engine: str) -> alt.Chart:
    """One engine's run."""
    colours = alt.Scale(domain=[name.upper() for name in GROUPS], range=[CONTROLLERS[name] for name in GROUPS])
    chart: alt.Chart = (
        alt.Chart(throughput(engine), title=ENGINES[engine], width=760, height=120)
        .mark_line(interpolate="step", strokeWidth=1.6)
        .encode(
            alt.X("Time, s:Q", scale=alt.Scale(domain=[0, END_S])),
            alt.Y("Throughput, Mbit/s:Q", scale=alt.Scale(domain=[0, 80])),
            alt.Color("Controller:N", scale=colours, title=None),
        )
    )
    return chart


def draw() -> None:
    """Run both and write the figure."""
    chart = alt.vconcat(*map(panel, ENGINES), background="white", padding=8).configure_legend(orient="top")
    chart.configure_title(anchor="start").save(FIGURE)
