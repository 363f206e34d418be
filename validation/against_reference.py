"""Run every case of an independent harness and compare the means.

    python validation/against_reference.py [CASE...] [--engine kernel|sim] [--seeds 10] [--jobs N] [-o FILE]

`dumbbell.analysis.difference` has the tolerances. `-o` also writes `results/reference-ENGINE.json`. Exit status: 1 if a
metric is outside its tolerance.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import figures
import polars as pl
from runs import Job, in_parallel

from dumbbell.analysis.difference import tolerance_of
from dumbbell.analysis.summary import summary
from dumbbell.errors import DumbbellError
from dumbbell.results import result
from dumbbell.spec import load

REFERENCE = Path(__file__).parent / "reference"
WARM_UP_NS = 2 * 10**9
PACKET_BITS = 8 * 1448
TOLERANCES = {
    "mbps": tolerance_of("groups.any.throughput_mbps"),
    "rtt_ms": tolerance_of("groups.any.rtt_ms.mean"),
    "ping_ms": tolerance_of("ping_ms.mean"),
    "queue_packets": tolerance_of("queue.packets.mean"),
    "cwnd": tolerance_of("groups.any.cwnd_packets.mean"),
    "retrans": tolerance_of("groups.any.retransmit_rate"),
    "secs": tolerance_of("groups.any.fct_s"),
}
"""By the last part of the reference's name of a metric; other metrics are shown, not judged."""


@dataclass(frozen=True)
class Row:
    """One metric of one case: the reference and this run."""

    case: str
    metric: str
    reference: float
    mean: float
    allowed: float | None
    """None: not judged."""

    @property
    def excess(self) -> float:
        """The difference divided by what is allowed."""
        return abs(self.mean - self.reference) / self.allowed if self.allowed else 0.0

    @property
    def agrees(self) -> bool:
        return self.excess <= 1


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cases", nargs="*")
    arguments.add_argument("--engine", choices=("kernel", "sim"), default="kernel")
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    reference = json.loads((REFERENCE / "reference.json").read_text(encoding="utf-8"))
    names = options.cases or list(reference)
    began = time.perf_counter()
    jobs = [
        Job(name, load(REFERENCE / f"{name}.toml")[0], options.engine, seed)
        for name in names
        for seed in range(1, options.seeds + 1)
    ]
    measured: dict[str, list[dict[str, float]]] = {}
    for job, made, _ in in_parallel(jobs, options.jobs, measure):
        if isinstance(made, DumbbellError):
            raise made
        measured.setdefault(job.title, []).append(made)
        if len(measured[job.title]) == options.seeds:
            print(f"{job.title}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    rows = [row for name in names for row in compare(name, reference[name]["result"], measured[name])]
    text = page(rows, options.engine, options.seeds, time.perf_counter() - began)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        figures.write_figures(f"reference-{options.engine}", summary_of(rows, options.seeds))
    return 0 if all(row.agrees for row in rows) else 1


def measure(job: Job, run: result.Run) -> dict[str, float]:
    """The reference's metrics of a valid run."""
    if not run.manifest["valid"]:
        raise RuntimeError(f"{job.title}, seed {job.seed}: {run.manifest['invalid']}")
    return dict(metrics(run))


def metrics(run: result.Run) -> Iterator[tuple[str, float]]:
    """The reference's metrics of one run, by its names."""
    numbers = summary(run)
    samples = run.flows.filter(pl.col("time_ns") >= WARM_UP_NS if run.manifest["duration_s"] > 10 else pl.lit(True))
    sent = run.flows.group_by("flow").agg((pl.col("bytes_sent") - pl.col("bytes_retrans")).last().alias("bytes"))
    bytes_sent = dict(sent.select("flow", "bytes").iter_rows())
    for cc in dict.fromkeys(flow["cc"] for flow in numbers["flows"]):
        flows = [flow for flow in numbers["flows"] if flow["cc"] == cc]
        mine = samples.filter(pl.col("flow").is_in([flow["name"] for flow in flows])).group_by("flow")
        # The reference counted at the receiver until all data in flight had arrived (aqm_pfifo gets more than its link
        # carries in that time), so count all bytes sent.
        seconds = [flow.get("fct_s") or run.manifest["duration_s"] for flow in flows]
        yield f"{cc}.mbps", sum(bytes_sent[f["name"]] * 8e-6 / s for f, s in zip(flows, seconds, strict=True))
        yield f"{cc}.rtt_ms", _mean(mine.agg(pl.col("rtt_ns").mean())["rtt_ns"]) / 1e6
        yield f"{cc}.cwnd", _mean(mine.agg(pl.col("cwnd_packets").mean())["cwnd_packets"])
        yield f"{cc}.retrans", float(sum(flow["retransmits"] for flow in flows))
        if "fct_s" in flows[0]:
            yield f"{cc}.secs", flows[0]["fct_s"] or math.nan
    yield "ping_ms", numbers["ping_ms"]["mean"] if numbers["ping_ms"]["mean"] is not None else math.nan
    yield "ping_p95_ms", numbers["ping_ms"]["p95"] if numbers["ping_ms"]["p95"] is not None else math.nan
    yield "queue_packets", numbers["queue"]["packets"]["mean"]
    yield "seconds", run.manifest["duration_s"]


def compare(case: str, reference: Mapping[str, Mapping[str, float]], runs: list[dict[str, float]]) -> Iterator[Row]:
    """The means of the reference and of the runs, with the allowed difference."""
    for metric, known in reference.items():
        values = [run[metric] for run in runs]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
        standard_error = math.sqrt(known["sd"] ** 2 / known["n"] + variance / len(values))
        yield Row(case, metric, known["mean"], mean, allowed(metric, reference, runs, standard_error))


def allowed(
    metric: str, reference: Mapping[str, Mapping[str, float]], runs: list[dict[str, float]], standard_error: float
) -> float | None:
    """The allowed difference. The reference counts retransmits; their tolerance is a share of the packets sent."""
    group, _, name = metric.rpartition(".")
    tolerance = TOLERANCES.get(name)
    if tolerance is None:
        return None
    if name == "retrans":
        seconds = reference[f"{group}.secs"]["mean"] if f"{group}.secs" in reference else runs[0]["seconds"]
        packets = reference[f"{group}.mbps"]["mean"] * 1e6 * seconds / PACKET_BITS
        tolerance = replace(tolerance, absolute=tolerance.absolute * packets)
    return tolerance.allowed(reference[metric]["mean"], standard_error)


def summary_of(rows: list[Row], seeds: int) -> dict[str, Any]:
    """The numbers on the page."""
    judged = [row for row in rows if row.allowed is not None]
    outside = [row for row in judged if not row.agrees]
    cases = {row.case for row in judged}
    return {
        "cases": len(cases),
        "cases_agree": len(cases - {row.case for row in outside}),
        "means": len(judged),
        "means_agree": len(judged) - len(outside),
        "seeds": seeds,
        "rows": [
            {
                "case": row.case,
                "metric": row.metric,
                "reference": row.reference,
                "here": row.mean,
                "allowed": row.allowed,
                "times_tolerance": round(row.excess, 2),
            }
            for row in rows
        ],
    }


def page(rows: list[Row], engine: str, seeds: int, seconds: float) -> str:
    """The comparison as Markdown, the largest differences first."""
    cells = []
    for row in sorted(rows, key=lambda row: (row.allowed is None, -row.excess)):
        mark = "shown" if row.allowed is None else "ok" if row.agrees else "**outside**"
        change = f"{row.mean / row.reference - 1:+.1%}" if row.reference else f"{row.mean:+.3g}"
        share = "" if row.allowed is None else f"{row.allowed:.3g}"
        means = (f"{row.reference:.5g}", f"{row.mean:.5g}")
        cells.append((row.case, row.metric, *means, change, share, f"{row.excess:.2f}", mark))
    table = figures.table("case | metric | >reference | >here | >difference | >allowed | >× | ", cells)
    values = summary_of(rows, seeds) | {"engine": engine, "seconds": seconds, "cores": os.cpu_count(), "rows": table}
    return figures.page_of("reference", **values)


def _mean(values: Any) -> float:
    mean = values.mean()
    return math.nan if mean is None else float(mean)


if __name__ == "__main__":
    sys.exit(main())
