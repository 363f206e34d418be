"""Draw docs/first-run.svg, the README's figure: `cyclic` on the simulator and on the kernel.

`make gallery` calls this.
"""

from pathlib import Path

import altair as alt
import polars as pl

import dumbbell as db

ROOT = Path(__file__).parents[1]
ENGINES = {"sim": "Simulator", "kernel": "Linux 6.12 in virtual time"}
COLOURS = {"BBR": "#d55e00", "CUBIC": "#0072b2"}
BIN_NS = 500_000_000


def goodput(engine: str) -> pl.DataFrame:
    """Goodput of each group in bins of 0.5 s."""
    run = db.run(db.scenario("cyclic"), engine=engine)
    ends = run.flows.with_columns((pl.col("time_ns") // BIN_NS).alias("bin"))
    flows = ends.group_by("flow", "group", "bin").agg(pl.col("bytes_received").max()).sort("flow", "bin")
    flows = flows.with_columns(pl.col("bytes_received").diff().over("flow").fill_null(0).alias("bytes"))
    groups = flows.group_by("group", "bin").agg(pl.col("bytes").sum()).sort("group", "bin")
    return groups.select(
        pl.col("group").str.to_uppercase().alias("Controller"),
        (pl.col("bin") * BIN_NS / 1e9).alias("Time, s"),
        (pl.col("bytes") * 8 / BIN_NS * 1e3).alias("Goodput, Mbit/s"),
    ).filter(pl.col("Time, s") < 120)


def panel(engine: str) -> alt.Chart:
    """One engine's run."""
    return (
        alt.Chart(goodput(engine), title=ENGINES[engine], width=760, height=120)
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            alt.X("Time, s:Q", scale=alt.Scale(domain=[0, 120])),
            alt.Y("Goodput, Mbit/s:Q", scale=alt.Scale(domain=[0, 80])),
            alt.Color("Controller:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), title=None),
        )
    )


def main() -> None:
    """Run both and write the figure."""
    chart = alt.vconcat(*map(panel, ENGINES), background="white", padding=8).configure_legend(orient="top")
    chart.configure_title(anchor="start").save(ROOT / "docs" / "first-run.svg")


if __name__ == "__main__":
    main()
