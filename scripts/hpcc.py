"""Makes docs/hpcc.md and its figure: sixteen senders at once into one link, under HPCC and other controllers.

    python scripts/hpcc.py

The path is that of `scenarios/hpcc-incast.toml` for every controller. `make page NAME=hpcc` calls this.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import polars as pl
import vl_convert

import dumbbell as db
from dumbbell.analysis.expect import Reader
from dumbbell.cli.list_commands import entries
from dumbbell.results import result

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURE = ROOT / "docs" / "hpcc.md", ROOT / "docs" / "hpcc.png"
CONTROLLERS = ("hpcc", "dctcp", "bbr", "cubic")
COLOURS = dict(zip(CONTROLLERS, ("#0072b2", "#009e73", "#d55e00", "#555555"), strict=True))
MARKING = "codel limit 30000 target 10s ce_threshold 5us"
"""DCTCP's queue: it marks from 5 us (59 packets) on; the DCTCP paper has K = 65 packets."""
DURATION = "10ms"
MICROSECONDS = 1e3
"""Nanoseconds of one."""

HEAD = """# HPCC under incast

Sixteen senders, each with a link of 100 Gbit/s of its own, start 1 us apart and send into one link of 100 Gbit/s. The
base round trip is 13 us, packets carry 1000 bytes, the buffer holds 32 MB. It is `scenarios/hpcc-incast.toml` for 10 ms
on the simulator, with only the controller changed; for DCTCP the queue marks from 5 us on. Made by
`make page NAME=hpcc`.

![The queue of sixteen flows under each controller](hpcc.png)

Queueing delays are in us, all but the maximum from 2 ms on, as are Jain's index and utilization.

| controller | maximum | median | 95th percentile | utilization | retransmissions | Jain's index |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""
TAIL = """
All start with the bandwidth-delay product of their own link, so the first peak is the same. The first ACKs carry
the queue length to HPCC's senders, which divide their windows by it: its queue is empty when the others' starts to
grow. From then on HPCC leaves 5 % of the link free and the queue empty.

DCTCP, whose queue marks, is closest: it fills the link and keeps the queue near the marking threshold.
CUBIC's slow start continues until a loss, and this buffer loses nothing. BBR's windows of two bandwidth-delay
products keep a queue, computed from round trips that already contained it. (Utilization above 1: a packet of 1066
bytes takes 85.28 ns here, and a shaper counts 85.)
"""


def main() -> int:
    """Run, draw, write."""
    known = {entry["name"] for entry in entries("controllers") if "sim" in entry["engines"]}
    names = [name for name in CONTROLLERS if name in known]
    with TemporaryDirectory() as work:
        runs = {name: incast(name, Path(work)) for name in names}
        rows = [row(name, run) for name, run in runs.items()]
        FIGURE.write_bytes(figure(runs))
    PAGE.write_text(HEAD + "\n".join(rows) + "\n" + TAIL, encoding="utf-8")
    sys.stderr.write(f"{PAGE}: {', '.join(names)}\n")
    return 0


def incast(name: str, work: Path) -> db.Run:
    """The run of the incast under one controller."""
    return db.run(incast_of(name), out=work / name)


def incast_of(name: str) -> db.Experiment:
    """The incast under one controller."""
    changes: dict[str, object] = {"duration": DURATION, "expect": []}
    if name != "hpcc":
        changes |= {"flows.*.cc": name, "flows.*.cc_parameters": {}}
    if name == "dctcp":
        changes |= {"path.bottleneck.qdisc": MARKING, "tcp.ecn": "classic"}
    return db.scenario("hpcc-incast").set(**changes)


def queue(run: db.Run) -> pl.DataFrame:
    """Time in us, and the delay of the bottleneck's queue in us."""
    rows = run.queues.filter(pl.col("queue") == "bottleneck")
    return rows.select(time_us=pl.col("time_ns") / MICROSECONDS, delay_us=pl.col("delay_ns") / MICROSECONDS)


def row(name: str, run: db.Run) -> str:
    """A line of the table."""
    reader = Reader(result.load(run.folder))
    used, jain = (float(str(reader.value(f"{metric} from 2ms"))) for metric in ("utilization", "jain"))
    after = queue(run).filter(pl.col("time_us") >= 2_000)["delay_us"]
    repeats = sum(flow["retransmits"] for flow in run.summary["flows"])
    most = queue(run)["delay_us"].max()
    return (
        f"| {name} | {most:,.0f} | {after.median():,.1f} | {after.quantile(0.95):,.1f} "
        f"| {used:.3f} | {repeats:,} | {jain:.3f} |"
    )


def figure(runs: dict[str, db.Run]) -> bytes:
    """The queue over time: the first 200 us, and all of it."""
    frames = [queue(run).with_columns(controller=pl.lit(name)) for name, run in runs.items()]
    rows = pl.concat(frames).with_columns(delay_us=pl.col("delay_us").clip(0.05))
    colour = alt.Color(
        "controller:N", sort=list(runs), scale=alt.Scale(domain=list(runs), range=[COLOURS[name] for name in runs])
    )

    def panel(until_us: float, step_us: float, title: str) -> alt.Chart:
        shown = rows.filter(pl.col("time_us") <= until_us)
        bins = shown.group_by("controller", (pl.col("time_us") // step_us * step_us).alias("time_us"))
        thin = bins.agg(pl.col("delay_us").max()).sort("controller", "time_us")
        return (
            alt.Chart(alt.Data(values=thin.to_dicts()), title=title, width=640, height=240)
            .mark_line(strokeWidth=1.6)
            .encode(
                alt.X("time_us:Q", title="time, us"),
                alt.Y("delay_us:Q", title="queue, us", scale=alt.Scale(type="log")),
                colour,
            )
        )

    both = alt.vconcat(
        panel(200, 1, "The first 200 us"), panel(10_000, 20, "10 ms, the most in each 20 us")
    ).configure_view(stroke=None)
    return vl_convert.vegalite_to_png(both.to_json(), scale=1.5)


if __name__ == "__main__":
    sys.exit(main())
