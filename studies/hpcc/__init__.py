"""Sixteen senders at once into one link, under HPCC and other controllers: the table and the figure of hpcc.md.

The path is that of `scenarios/hpcc-incast.toml` for every controller.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import polars as pl

import dumbbell as db
from dumbbell.analysis.expect import Reader
from dumbbell.results import result
from studies.study import DOCS, fill, save, table

PAGE = DOCS / "results" / "hpcc.md"
FIGURE = PAGE.with_suffix(".png")
CONTROLLERS = ("hpcc", "dctcp", "bbr", "cubic")
COLOURS = ("#0072b2", "#009e73", "#d55e00", "#555555")
MARKING = "codel limit 30000 target 10s ce_threshold 5us"
"""DCTCP's queue: it marks from 5 us (59 packets) on; the DCTCP paper has K = 65 packets."""
SETTLED_US = 2_000
HEAD = "controller | >maximum | >median | >95th percentile | >utilization | >retransmissions | >Jain's index"


def main(_arguments: list[str]) -> None:
    """Run, draw, write."""
    with TemporaryDirectory() as work:
        runs = {name: db.run(incast_of(name), out=Path(work) / name) for name in CONTROLLERS}
        queues = {name: queue(run) for name, run in runs.items()}
        fill(PAGE, "study of hpcc", table(HEAD, [row(name, run, queues[name]) for name, run in runs.items()]))
        save(figure(queues), FIGURE)


def incast_of(name: str) -> db.Experiment:
    """The incast under one controller."""
    changes: dict[str, object] = {"duration": "10ms", "expect": []}
    if name != "hpcc":
        changes |= {"flows.*.cc": name, "flows.*.cc_parameters": {}}
    if name == "dctcp":
        changes |= {"path.bottleneck.qdisc": MARKING, "tcp.ecn": "classic"}
    return db.scenario("hpcc-incast").set(**changes)


def figures() -> Iterator[tuple[Path, dict[str, db.Experiment]]]:
    """The experiments of the figure, by what distinguishes them."""
    yield FIGURE, {name: incast_of(name) for name in CONTROLLERS}


def queue(run: db.Run) -> pl.DataFrame:
    """Time in us, and the delay of the bottleneck's queue in us."""
    rows = run.queues.filter(pl.col("queue") == "bottleneck")
    return rows.select(time_us=pl.col("time_ns") / 1e3, delay_us=pl.col("delay_ns") / 1e3)


def row(name: str, run: db.Run, queue: pl.DataFrame) -> list[str]:
    """A line of the table."""
    reader = Reader(result.load(run.folder))
    used, jain = (float(str(reader.value(f"{metric} from 2ms"))) for metric in ("utilization", "jain"))
    after = queue.filter(pl.col("time_us") >= SETTLED_US)["delay_us"]
    repeats = sum(flow["retransmits"] for flow in run.summary["flows"])
    numbers: Any = (queue["delay_us"].max(), after.median(), after.quantile(0.95))
    most, middle, high = numbers
    return [name, f"{most:,.0f}", f"{middle:,.1f}", f"{high:,.1f}", f"{used:.3f}", f"{repeats:,}", f"{jain:.3f}"]


def figure(queues: dict[str, pl.DataFrame]) -> alt.VConcatChart:
    """The queue over time: the first 200 us, and all of it."""
    rows = pl.concat(each.with_columns(controller=pl.lit(name)) for name, each in queues.items())
    colour = alt.Color(
        "controller:N", sort=list(queues), scale=alt.Scale(domain=list(queues), range=list(COLOURS))
    )  # fmt: skip

    def panel(until_us: float, step_us: float, title: str) -> alt.Chart:
        shown = rows.filter(pl.col("time_us") <= until_us).with_columns(pl.col("delay_us").clip(0.05))
        bins = shown.group_by("controller", (pl.col("time_us") // step_us * step_us).alias("time_us"))
        thin = bins.agg(pl.col("delay_us").max()).sort("controller", "time_us")
        chart: alt.Chart = (
            alt.Chart(alt.Data(values=thin.to_dicts()), title=title, width=640, height=240)
            .mark_line(strokeWidth=1.6)
            .encode(
                alt.X("time_us:Q", title="time, us"),
                alt.Y("delay_us:Q", title="queue, us", scale=alt.Scale(type="log")),
                colour,
            )
        )
        return chart

    both = alt.vconcat(panel(200, 1, "The first 200 us"), panel(10_000, 20, "10 ms, the most in each 20 us"))
    chart: alt.VConcatChart = both.configure_view(stroke=None)
    return chart
