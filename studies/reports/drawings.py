"""Draws the five reports' figures from our runs, with the reported values where the reports have any.

Reports are dashed, runs solid; each controller has a colour.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import altair as alt
import polars as pl

from dumbbell.analysis.expect import Reader, compare_source_figures
from dumbbell.analysis.time_series import throughput
from dumbbell.plots.colours import CONTROLLERS
from dumbbell.results.result import Run
from studies.study import SECOND_NS as SECOND
from studies.study import plot, save

__all__ = ["draw"]

Runs = Mapping[tuple[str, str], Sequence[Run]]
MSS = 4148
"""Bytes in a segment at the two-class report's MTU of 4,200."""
HUES = alt.Scale(domain=["bbr", "cubic"], range=[CONTROLLERS["bbr"], CONTROLLERS["cubic"]])
SOURCE = alt.StrokeDash(
    "origin:N",
    title=None,
    scale=alt.Scale(domain=["report", "run"], range=[[4, 3], [1, 0]]),
    legend=alt.Legend(symbolType="stroke", symbolSize=300),
)
PANELS = {
    "two-classes-run.png": ("two-classes", "--panels throughput,cwnd,rates,states"),
    "cyclic.png": ("cyclic", "--panels groups,cwnd,rtt,queue"),
    "bufferbloat-queue.png": ("bufferbloat", "--figure queue"),
    "bufferbloat-cwnd.png": ("bufferbloat", "--figure cwnd"),
    "bufferbloat-rtt.png": ("bufferbloat", "--figure rtt"),
    "bufferbloat-cured.png": ("bufferbloat-cured", "--figure rtt"),
}
"""Figures that `dumbbell plot` draws of the kernel's first seed."""
AS_REPORTED = "as reported"
"""The case of the two-class report."""
SCENARIOS = {
    "lossy-lan.png": "lossy-lan",
    "lossy-download.png": "lossy-download",
    "two-classes.png": f"two-classes --case '{AS_REPORTED}'",
    **{
        file: f"{scenario} --case '{AS_REPORTED}'" if scenario == "two-classes" else scenario
        for file, (scenario, _) in PANELS.items()
    },
}
"""What each figure shows, as arguments of `dumbbell run`."""


def draw(runs: Runs, log: Run, folder: Path) -> None:
    """Write every figure into the folder."""
    save(_by_loss(runs["lossy-lan", "kernel"], "throughput, MB/s", log_scale=False), folder / "lossy-lan.png")
    save(_by_loss(runs["lossy-download", "kernel"], "time of the download, s", log_scale=True),
         folder / "lossy-download.png")  # fmt: skip
    ours = next(run for run in _first_seed(runs["two-classes", "kernel"]) if run.manifest.case == AS_REPORTED)
    save(_intervals(log, ours), folder / "two-classes.png")
    for file, (scenario, arguments) in PANELS.items():
        chosen = [ours] if scenario == "two-classes" else _first_seed(runs[scenario, "kernel"])
        plot((run.folder for run in chosen), arguments, folder / file)


def _first_seed(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.manifest.seed == 1]


def _by_loss(runs: Sequence[Run], title: str, *, log_scale: bool) -> alt.LayerChart:
    """A figure against the loss rate, in the report and in the mean over our seeds."""
    found = [
        {
            "cc": run.manifest.flows[0]["cc"],
            "loss": float(str(run.manifest.case).split()[2].rstrip("%")),
            "origin": origin,
            "y": y,
        }
        for run in runs
        for seen in compare_source_figures(run.manifest, Reader(run))
        for origin, y in (("report", seen.low), ("run", seen.here))
    ]
    means = pl.DataFrame(found).group_by("cc", "loss", "origin").agg(pl.col("y").mean())
    scale = alt.Scale(type="log") if log_scale else alt.Scale()
    base = alt.Chart(means).encode(
        x=alt.X("loss:Q", title="loss, %", axis=alt.Axis(values=sorted(means["loss"].unique()))),
        y=alt.Y("y:Q", title=title, scale=scale), color=alt.Color("cc:N", title=None, scale=HUES),
    )  # fmt: skip
    dots = base.mark_point(filled=True, size=40)
    chart: alt.LayerChart = (base.mark_line().encode(strokeDash=SOURCE) + dots).properties(width=460, height=260)
    return chart


def _intervals(log: Run, ours: Run) -> alt.VConcatChart:
    """Each second of the iperf3 logs and of our run: rate and cwnd of both controllers."""
    rates = pl.concat(
        throughput(run, SECOND).select(
            "flow", pl.lit(origin).alias("origin"), s=pl.col("time_ns") / SECOND, y=pl.col("throughput_bps") / 1e6
        )
        for origin, run in (("report", log), ("run", ours))
    )
    at_ends = ours.flows.filter(pl.col("time_ns") % SECOND == 0, pl.col("time_ns") > 0)
    windows = pl.concat(
        [
            log.flows.select(
                "flow", origin=pl.lit("report"), s=pl.col("time_ns") / SECOND, y=pl.col("cwnd_bytes") / MSS
            ),
            at_ends.select(
                "flow", origin=pl.lit("run"), s=pl.col("time_ns") / SECOND, y=pl.col("cwnd_packets").cast(pl.Float64)
            ),
        ]
    )
    panels = [
        _panel(table.filter(pl.col("flow") == flow), f"{flow.upper()}, {title}", ours.manifest.duration_s)
        for flow in ("bbr", "cubic")
        for table, title in ((rates, "Mbit/s"), (windows, "cwnd, packets"))
    ]
    return alt.vconcat(*panels)


def _panel(table: pl.DataFrame, title: str, duration_s: float) -> alt.Chart:
    known = table.drop_nulls().filter(pl.col("y") > 0)
    chart: alt.Chart = alt.Chart(known).mark_line(clip=True).encode(
        x=alt.X("s:Q", title="time, s", scale=alt.Scale(domain=[0, duration_s])), y=alt.Y("y:Q", title=title),
        color=alt.Color("flow:N", title=None, scale=HUES, legend=None), strokeDash=SOURCE,
    ).properties(width=640, height=120)  # fmt: skip
    return chart
