"""Makes docs/bbr1-against-bbr3.md: runs BBR's versions through the same few experiments, draws and writes it.

    python scripts/bbr_versions.py [--seeds 3] [--draw]

On the simulator: no Linux has all versions. `make page` calls this. The experiments are dictionaries below, so that
each number can be reproduced with `dumbbell.experiment`; the page's sentences take their numbers from the tables.
"""

import argparse
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from textwrap import fill
from typing import Any

import altair as alt
import polars as pl
from png import shrink

import dumbbell as db

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "bbr1-against-bbr3.md"
PICTURES = ROOT / "docs" / "bbr-versions"
VERSIONS = ("bbr", "bbr2", "bbr3")
NAMES = {"bbr": "BBR 1", "bbr2": "BBR 2", "bbr3": "BBR 3"}
BUFFERS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)
"""In bandwidth-delay products."""
ROWS = Iterable[dict[str, Any]]


def main() -> None:
    """Measure, draw, write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument(
        "--draw", action="store_true", help="draw figures and page from the existing tables, without runs"
    )
    options = arguments.parse_args()
    PICTURES.mkdir(exist_ok=True)
    if not options.draw:
        for name, cases in EXPERIMENTS.items():
            measured(cases(), range(1, options.seeds + 1)).write_csv(PICTURES / f"{name}.csv")
    tables = {name: pl.read_csv(PICTURES / f"{name}.csv") for name in EXPERIMENTS}
    for name, table in tables.items():
        draw(name, table)
    PAGE.write_text(page(tables, options.seeds), encoding="utf-8")


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
    """The figure of one experiment, if it has one."""
    if name not in AXES:
        return
    x, title, panels = AXES[name]
    labelled = table.with_columns(version=pl.col("cc").replace_strict(NAMES | {"cubic": "CUBIC"}))
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
    file = PICTURES / f"{name}.png"
    alt.hconcat(*charts).configure_view(stroke=None).save(file, scale_factor=1.5)
    shrink(file, 64)


def page(tables: Mapping[str, pl.DataFrame], seeds: int) -> str:
    """The page as Markdown."""
    parts = [HEAD.format(seeds=seeds)]
    for name, write in SECTIONS.items():
        parts.append(filled(write(tables[name])))
        if name in AXES:
            parts.append(f"![{name}](bbr-versions/{name}.png)\n")
        parts.append(as_table(tables[name]))
    return "\n".join([*parts, TAIL])


def filled(text: str) -> str:
    """Prose with its lines filled, because the widths of numbers vary."""
    parts = text.strip().split("\n\n")
    lines = [part if part.startswith("#") else fill(" ".join(part.split()), 116) for part in parts]
    return "\n\n".join(lines) + "\n"


def value(table: pl.DataFrame, field: str, **labels: Any) -> float:
    """One number of a table."""
    row = table.filter(*[pl.col(name) == label for name, label in labels.items()])
    return float(row[field].item())


def of_buffers(table: pl.DataFrame) -> str:
    """Sentences about shallow and deep buffers."""
    at = {cc: value(table, "loss_percent", cc=cc, buffer=0.1) for cc in VERSIONS}
    one = {cc: value(table, "queue_ms", cc=cc, buffer=1) for cc in VERSIONS}
    deep = {cc: value(table, "queue_ms", cc=cc, buffer=10) for cc in (*VERSIONS, "cubic")}
    return f"""## Shallow and deep buffers

Four flows of a kind, 50 Mbit/s, 30 ms, 30 s. In a tenth of a bandwidth-delay product version 1 retransmits
{at["bbr"]:.1f} % of its packets, version 2 {at["bbr2"]:.1f} % and version 3 {at["bbr3"]:.1f} %. In one product the
mean queue is {one["bbr"]:.0f} ms with version 1, {one["bbr2"]:.0f} ms with version 2 and {one["bbr3"]:.0f} ms with
version 3: loss signals the end of the buffer to the later versions. In ten products the mean queue is
{deep["bbr"]:.0f} ms
with version 1, {deep["bbr2"]:.0f} ms with version 2, {deep["bbr3"]:.0f} ms with version 3 and {deep["cubic"]:.0f}
ms with CUBIC: without loss only the window of two products bounds the queue, and each flow's two products are of
the largest bandwidth that it ever had in two cycles, not of its share.
"""


def of_company(table: pl.DataFrame) -> str:
    """Sentences about CUBIC as competitor."""
    share = {(cc, buffer): value(table, "share", cc=cc, buffer=buffer) for cc in VERSIONS for buffer in (0.5, 1, 8)}
    return f"""## Against CUBIC

One flow against one CUBIC flow on the same path, 60 s. Half of the link would be fair. At half a product version 1
has {share["bbr", 0.5]:.0%}, version 3 {share["bbr3", 0.5]:.0%}; at one product {share["bbr", 1]:.0%} and
{share["bbr3", 1]:.0%}; at eight {share["bbr", 8]:.0%} and {share["bbr3", 8]:.0%}.
"""


def of_trips(table: pl.DataFrame) -> str:
    """Sentences about two round-trip times."""
    share = {(cc, buffer): value(table, "share", cc=cc, buffer=buffer) for cc in VERSIONS for buffer in (0.25, 2)}
    return f"""## Unequal round-trip times

Two flows of a kind, 10 and 50 ms, 100 Mbit/s, 60 s; buffers in products of 50 ms. The flow of 50 ms has
{share["bbr", 0.25]:.0%} of the link at a quarter of a product with version 1 and {share["bbr3", 0.25]:.0%} with
version 3; at two products {share["bbr", 2]:.0%} and {share["bbr3", 2]:.0%}. (Gomez et al. 2024, at 1 Gbit/s with 20
and 100 ms: pairs of version 3 near fair below a product, the longer one ahead above.)
"""


def of_nine(table: pl.DataFrame) -> str:
    """Sentences about nine round-trip times."""
    ours = ", ".join(f"{value(table, 'jain', cc='bbr3', buffer=buffer):.2f}" for buffer in (0.5, 1, 2, 10))
    return f"""### Nine round-trip times

Nine flows of 8 to 204 ms in equal steps, 100 Mbit/s, 60 s; buffers in products of their mean. Jain's index of
version 3 at 0.5, 1, 2 and 10 products is {ours}; Piotrowska (Appl. Sci. 14:5053, 2024) measured 0.70, 0.62, 0.81
and 0.86 with Google's module in Linux. The source does not state the RTT of its buffer sizes, so the columns may
not correspond.
"""


def of_downloads(table: pl.DataFrame) -> str:
    """Sentences about random loss."""
    took = {(cc, loss): value(table, "seconds", cc=cc, loss=loss) for cc in VERSIONS for loss in (1, 5, 10)}
    return f"""## A lossy download

`lossy-download-plain`: 61 MB at 1 Gbit/s and 200 us, with loss of whole super-packets. At 1 % version 1 takes
{took["bbr", 1]:.2f} s and version 3 {took["bbr3", 1]:.2f} s; at 5 % {took["bbr", 5]:.2f} and {took["bbr3", 5]:.2f}
s; at 10 % {took["bbr", 10]:.2f} and {took["bbr3", 10]:.2f} s.
"""


def of_alternation(table: pl.DataFrame) -> str:
    """Sentences about the cycle."""
    fields = ("share", "swing", "its_loss_percent")
    of = {(cc, field): value(table, field, cc=cc) for cc in VERSIONS for field in fields}
    return f"""## `cyclic`

Two BBR flows and two CUBIC flows at 80 Mbit/s, 13 ms and 225 kB. Version 1 has {of["bbr", "share"]:.0%} of
the link, and from second to second that share swings by {of["bbr", "swing"]:.2f} (standard deviation); version 3
has {of["bbr3", "share"]:.0%} and swings by {of["bbr3", "swing"]:.2f}. Version 1 retransmits
{of["bbr", "its_loss_percent"]:.1f} % of its packets, version 3 {of["bbr3", "its_loss_percent"]:.1f} %.
"""


SECTIONS = {
    "alternation": of_alternation,
    "downloads": of_downloads,
    "buffers": of_buffers,
    "company": of_company,
    "trips": of_trips,
    "nine": of_nine,
}
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


def as_table(table: pl.DataFrame) -> str:
    """The numbers as a table."""
    names = NAMES | {"cubic": "CUBIC"}
    head = "| " + " | ".join(HEADINGS[column] for column in table.columns) + " |\n" + "| --- " * table.width + "|\n"
    cells = (
        [names.get(cell, cell) if isinstance(cell, str) else f"{cell:.3g}" for cell in row] for row in table.rows()
    )
    return head + "\n".join("| " + " | ".join(row) + " |" for row in cells) + "\n"


HEAD = """# BBR 1 against BBR 3

Differences between Linux's BBR (version 1) and the IETF draft's (version 3), with BBR 2 in between, on paths where
version 1 is known to perform poorly. All on the simulator, means of {seeds} seeds; `make page NAME=versions`
repeats the runs and writes this page. Version 3 is the draft's (`dumbbell explain bbr3`); mainline Linux does not
have it.
"""
TAIL = """## Conclusions

- Version 3 responds to loss. In shallow buffers it retransmits a tenth of what version 1 does, and takes less than
  version 1 from CUBIC; in deep ones it loses less to CUBIC.
- It is not better everywhere. In deep buffers without loss its queue is as long as version 1's; of two flows with
  unequal RTTs the longer one still gets more from half a product on, and below that the shorter one.
- The response costs throughput where loss is random: at 1 Gbit/s, 100 ms and 1 % of random loss
  (`google-random-loss`) Startup
  ended at 34, 74, 956, 959 and 1071 Mbit/s with seeds 1 to 5; with the first because six of 300 packets were lost.
"""

if __name__ == "__main__":
    main()
