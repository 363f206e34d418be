"""BBR's versions through the same few experiments, on the simulator: no Linux has all of them.

    python -m studies versions [--seeds 3] [--draw]

The experiments are dictionaries below, so that each number can be reproduced with `dumbbell.experiment`; the sentences
of `page.md` take their numbers from the tables.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import altair as alt
import polars as pl

import dumbbell as db
from studies.study import DOCS, parser, rendered, save, table, write

FOLDER = DOCS / "results" / "bbr-versions"
VERSIONS = ("bbr", "bbr2", "bbr3")
NAMES = {"bbr": "BBR 1", "bbr2": "BBR 2", "bbr3": "BBR 3", "cubic": "CUBIC"}
BUFFERS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)
"""In bandwidth-delay products."""
ROWS = Iterable[dict[str, Any]]


def main(given: list[str]) -> None:
    """Measure, draw, write."""
    arguments = parser(__doc__)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--draw", action="store_true", help="draw and write from the existing tables, without runs")
    options = arguments.parse_args(given)
    if not options.draw:
        for name, cases in EXPERIMENTS.items():
            measured(cases(), range(1, options.seeds + 1)).write_csv(FOLDER / f"{name}.csv")
    tables = {name: pl.read_csv(FOLDER / f"{name}.csv") for name in EXPERIMENTS}
    for name in AXES:
        draw(name, tables[name])
    write(
        FOLDER / "index.md",
        rendered(
            Path(__file__).with_name("page.md"),
            seeds=options.seeds,
            at=lambda name, field, cc, **labels: value(tables[name], field, cc=cc, **labels),
            shown=lambda name: shown(name, tables[name]),
        ),
    )


def figures() -> Iterator[tuple[Path, dict[str, db.Experiment]]]:
    """The experiments of each figure, by what distinguishes them."""
    for name in AXES:
        runs = {", ".join(f"{key} {label}" for key, label in each["labels"].items()): each["run"]
                for each in EXPERIMENTS[name]()}  # fmt: skip
        yield FOLDER / f"{name}.png", runs


def measured(cases: ROWS, seeds: Iterable[int]) -> pl.DataFrame:
    """A row for each case: its labels and the means of its numbers over the seeds."""
    jobs = [(case, seed) for case in cases for seed in seeds]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: job[0]["read"](db.run(job[0]["run"], seed=job[1])), jobs))
    rows: dict[str, dict[str, Any]] = {}
    for (case, _), numbers in zip(jobs, answers, strict=True):
        row = rows.setdefault(repr(case["labels"]), {**case["labels"], "numbers": []})
        row["numbers"].append(numbers)
    return pl.DataFrame([_row(row) for row in rows.values()], infer_schema_length=None)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    several = row.pop("numbers")
    return row | {name: mean(each[name] for each in several) for name in several[0]}


def buffers() -> ROWS:
    """Four flows of a kind, 50 Mbit/s and 30 ms, shallow to deep."""
    for version in (*VERSIONS, "cubic"):
        for buffer in BUFFERS:
            yield {
                "labels": {"cc": version, "buffer": buffer},
                "run": db.experiment(
                    dumbbell_at("50mbit", "30ms", buffer, [{"cc": version, "count": 4, "start_jitter": "1s"}], "30s")
                ),
                "read": _of_buffers,
            }


def _of_buffers(run: db.Run) -> dict[str, float]:
    flows = run.summary["flows"]
    return {
        "mbps": sum(flow["throughput_mbps"] for flow in flows),
        "loss_percent": 100 * mean(flow["retransmit_rate"] for flow in flows),
        "queue_ms": run.summary["queue"]["delay_ms"]["mean"],
        "jain": run.summary["jain"],
    }


def company() -> ROWS:
    """One flow against one CUBIC flow, 50 Mbit/s and 30 ms (Google's `coexist`)."""
    for version in VERSIONS:
        for buffer in (0.1, 0.5, 1, 2, 4, 8, 16):
            flows = [{"name": "it", "cc": version}, {"name": "cubic", "cc": "cubic"}]
            yield {
                "labels": {"cc": version, "buffer": buffer},
                "run": db.experiment(dumbbell_at("50mbit", "30ms", buffer, flows, "60s")),
                "read": lambda run: {"share": run.summary["groups"]["it"]["share"]},
            }


def trips() -> ROWS:
    """Two flows of 10 and 50 ms round trip at 100 Mbit/s; buffers in products of 50 ms."""
    for version in (*VERSIONS, "cubic"):
        for buffer in (0.1, 0.25, 0.5, 1, 2, 5, 10):
            flows: list[dict[str, Any]] = [
                {"name": "short", "cc": version},
                {"name": "long", "cc": version, "access": {"delay": "40ms"}},
            ]
            document = dumbbell_at("100mbit", "10ms", buffer * 5, flows, "60s")
            yield {
                "labels": {"cc": version, "buffer": buffer},
                "run": db.experiment(document),
                "read": lambda run: {"share": run.summary["groups"]["long"]["share"]},
            }


def nine() -> ROWS:
    """Nine flows of 8 to 204 ms at 100 Mbit/s (Piotrowska 2024); buffers in products of their mean, 106 ms."""
    for version in VERSIONS:
        for buffer in (0.5, 1, 2, 10):
            flows = [
                {
                    "name": f"f{index}",
                    "cc": version,
                    "start_jitter": "1s",
                    "access": {"delay": f"{0.1 + 24.5 * index}ms"},
                }
                for index in range(9)
            ]
            document = dumbbell_at("100mbit", "8ms", buffer * 106 / 8, flows, "60s")
            yield {
                "labels": {"cc": version, "buffer": buffer},
                "run": db.experiment(document),
                "read": lambda run: {"jain": run.summary["jain"]},
            }


def downloads() -> ROWS:
    """The path of `lossy-download-plain`: 61 MB over a lossy LAN."""
    for version in VERSIONS:
        for loss in (0, 1, 2, 5, 10):
            commands = f"tc qdisc add dev eth0 root handle 1: netem loss {loss}% limit 1000000"
            path = {
                "rtt": "200us",
                "offloads": True,
                "bottleneck": {"rate": "1gbit", "qdisc": "bfifo limit 3000000"},
                "tc": {"interface": "eth0", "commands": commands},
            }
            flows = [{"cc": version, "bytes": "61MB"}]
            yield {
                "labels": {"cc": version, "loss": loss},
                "run": db.experiment({"title": "A lossy download", "duration": "600s", "path": path, "flows": flows}),
                "read": lambda run: {"seconds": run.summary["flows"][0]["fct_s"]},
            }


def alternation() -> ROWS:
    """`cyclic`: two flows and two CUBIC flows at a shallow buffer."""
    for version in VERSIONS:
        scenario = db.scenario("cyclic").set(**{"flows.0.cc": version, "flows.0.name": "it", "duration": "60s"})
        yield {"labels": {"cc": version}, "run": scenario, "read": _of_alternation}


def _of_alternation(run: db.Run) -> dict[str, float]:
    flows = run.summary["flows"]
    return {
        "share": run.summary["groups"]["it"]["share"],
        "cycle": float(run.summary["cycle"] is not None),
        "its_loss_percent": 100 * mean(flow["retransmit_rate"] for flow in flows if flow["group"] == "it"),
        "cubic_loss_percent": 100 * mean(flow["retransmit_rate"] for flow in flows if flow["group"] == "cubic"),
        "queue_ms": run.summary["queue"]["delay_ms"]["mean"],
        "swing": _swing(run),
    }


def _swing(run: db.Run) -> float:
    """How much a group's share of the link varies from second to second: its standard deviation."""
    by = run.flows.with_columns(second=pl.col("time_ns") // 1_000_000_000)
    last = by.group_by("flow", "group", "second").agg(pl.col("bytes_acked").max()).sort("second")
    gains = last.with_columns(gain=pl.col("bytes_acked").diff().over("flow")).drop_nulls("gain")
    table = gains.group_by("second").agg(
        its=pl.col("gain").filter(pl.col("group") == "it").sum(), everything=pl.col("gain").sum()
    )
    return float(table.filter(pl.col("second") >= 5).select((pl.col("its") / pl.col("everything")).std()).item())


def dumbbell_at(rate: str, rtt: str, buffer: float, flows: list[dict[str, Any]], duration: str) -> dict[str, Any]:
    """One bottleneck with a buffer of so many products of `rtt`."""
    path = {"rtt": rtt, "bottleneck": {"rate": rate, "qdisc": f"bfifo limit {buffer:g}bdp"}}
    return {"title": "BBR's versions", "duration": duration, "sample": "50ms", "path": path, "flows": flows}


EXPERIMENTS = {
    "buffers": buffers,
    "company": company,
    "trips": trips,
    "nine": nine,
    "downloads": downloads,
    "alternation": alternation,
}
COLOURS = {"BBR 1": "#0072B2", "BBR 2": "#009E73", "BBR 3": "#D55E00", "CUBIC": "#222222"}
AXES: Mapping[str, tuple[str, str, list[tuple[str, str]]]] = {
    "buffers": (
        "buffer", "Buffer, BDP",
        [("loss_percent", "Retransmitted, %"), ("queue_ms", "Mean queue, ms"), ("mbps", "Mbit/s")],
    ),
    "company": ("buffer", "Buffer, BDP", [("share", "Share against one CUBIC flow")]),
    "trips": ("buffer", "Buffer, BDP of 50 ms", [("share", "Share of the flow of 50 ms")]),
    "downloads": ("loss", "Random loss, %", [("seconds", "Seconds for 61 MB")]),
}  # fmt: skip
"""The axes of each figure."""


def draw(name: str, table: pl.DataFrame) -> None:
    """The figure of one experiment."""
    x, title, panels = AXES[name]
    labelled = table.with_columns(version=pl.col("cc").replace_strict(NAMES))
    low, high = labelled.select(low=pl.col(x).min(), high=pl.col(x).max()).row(0)
    scale = alt.Scale(type="log", domain=[low, high], nice=False) if x == "buffer" else alt.Scale(nice=False)
    shown = [version for version in COLOURS if version in set(labelled["version"])]
    hues = alt.Scale(domain=shown, range=[COLOURS[version] for version in shown])
    charts = [
        alt.Chart(labelled.select("version", x, field), width=300, height=190)
        .mark_line(point=alt.OverlayMarkDef(size=35), strokeWidth=2)
        .encode(
            x=alt.X(f"{x}:Q", title=title, scale=scale),
            y=alt.Y(
                f"{field}:Q", title=text, scale=alt.Scale(type="log") if field == "seconds" else alt.Scale(zero=True)
            ),
            color=alt.Color("version:N", title=None, scale=hues),
            strokeDash=alt.StrokeDash("version:N", title=None, scale=alt.Scale(domain=shown)),
        )
        for field, text in panels
    ]
    save(alt.hconcat(*charts).configure_view(stroke=None), FOLDER / f"{name}.png", 64)


def value(table: pl.DataFrame, field: str, **labels: Any) -> float:
    """One number of a table."""
    row = table.filter(*[pl.col(name) == label for name, label in labels.items()])
    return float(row[field].item())


HEADINGS = {
    "cc": "version",
    "buffer": "buffer, BDP",
    "mbps": "Mbit/s",
    "loss_percent": "retransmitted, %",
    "queue_ms": "mean queue, ms",
    "jain": "Jain's index",
    "share": "share",
    "loss": "loss, %",
    "seconds": "seconds",
    "cycle": "runs with a cycle",
    "its_loss_percent": "its retransmits, %",
    "cubic_loss_percent": "CUBIC's, %",
    "swing": "swing of the share",
}


def shown(name: str, numbers: pl.DataFrame) -> str:
    """The figure of an experiment, if it has one, and its numbers as a table."""
    rows = [
        [NAMES.get(cell, cell) if isinstance(cell, str) else f"{cell:.3g}" for cell in row] for row in numbers.rows()
    ]
    numbered = table(" | ".join(HEADINGS[column] for column in numbers.columns), rows)
    return f"![{name}]({name}.png)\n\n{numbered}" if name in AXES else numbered
