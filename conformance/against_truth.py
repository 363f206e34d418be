"""Every case of an independent harness, run here: do the means agree?

    python conformance/against_truth.py [CASE...] [--engine kernel|sim] [--seeds 10] [--jobs N] [-o FILE]

The tolerances are those that our engines promise each other (`dumbbell.analysis.difference`). Exit status 1 when a
metric is outside.
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

import polars as pl
from runs import Job, side_by_side

from dumbbell import result
from dumbbell.analysis import summary
from dumbbell.analysis.difference import tolerance_of
from dumbbell.errors import DumbbellError
from dumbbell.spec import load

HERE = Path(__file__).parent
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
"""By the last part of the truth's name of a metric; what isn't listed is shown."""


@dataclass(frozen=True)
class Row:
    """One metric of one case, there and here."""

    case: str
    metric: str
    there: float
    here: float
    allowed: float | None
    """None: nobody stated a tolerance."""

    @property
    def excess(self) -> float:
        """How many times what is allowed the difference is."""
        return abs(self.here - self.there) / self.allowed if self.allowed else 0.0

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
    asked = arguments.parse_args()
    truth = json.loads((HERE / "truth" / "truth.json").read_text(encoding="utf-8"))
    names = asked.cases or list(truth)
    began = time.perf_counter()
    jobs = [
        Job(name, load(HERE / "truth" / f"{name}.toml")[0], asked.engine, seed)
        for name in names
        for seed in range(1, asked.seeds + 1)
    ]
    measured: dict[str, list[dict[str, float]]] = {}
    for job, made, _ in side_by_side(jobs, asked.jobs, measure):
        if isinstance(made, DumbbellError):
            raise made
        measured.setdefault(job.title, []).append(made)
        if len(measured[job.title]) == asked.seeds:
            print(f"{job.title}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    rows = [row for name in names for row in compare(name, truth[name]["result"], measured[name])]
    text = table(rows, asked.engine, asked.seeds, time.perf_counter() - began)
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    return 0 if all(row.agrees for row in rows) else 1


def measure(job: Job, run: result.Run) -> dict[str, float]:
    """The truth's metrics of a valid run."""
    if not run.birth["valid"]:
        raise RuntimeError(f"{job.title}, seed {job.seed}: {run.birth['invalid']}")
    return dict(metrics(run))


def metrics(run: result.Run) -> Iterator[tuple[str, float]]:
    """The truth's metrics of one run, by their names there."""
    numbers = summary(run)
    samples = run.flows.filter(pl.col("time_ns") >= WARM_UP_NS if run.birth["duration_s"] > 10 else pl.lit(True))
    sent = run.flows.group_by("flow").agg((pl.col("bytes_sent") - pl.col("bytes_retrans")).last().alias("bytes"))
    bytes_sent = dict(sent.select("flow", "bytes").iter_rows())
    for cc in dict.fromkeys(flow["cc"] for flow in numbers["flows"]):
        flows = [flow for flow in numbers["flows"] if flow["cc"] == cc]
        mine = samples.filter(pl.col("flow").is_in([flow["name"] for flow in flows])).group_by("flow")
        # There a receiver's count went on until what was in flight had arrived (aqm_pfifo gets more than its link
        # carries in that time); so here it is all that was sent.
        seconds = [flow.get("fct_s") or run.birth["duration_s"] for flow in flows]
        yield f"{cc}.mbps", sum(bytes_sent[f["name"]] * 8e-6 / s for f, s in zip(flows, seconds, strict=True))
        yield f"{cc}.rtt_ms", _mean(mine.agg(pl.col("rtt_ns").mean())["rtt_ns"]) / 1e6
        yield f"{cc}.cwnd", _mean(mine.agg(pl.col("cwnd_packets").mean())["cwnd_packets"])
        yield f"{cc}.retrans", float(sum(flow["retransmits"] for flow in flows))
        if "fct_s" in flows[0]:
            yield f"{cc}.secs", flows[0]["fct_s"] or math.nan
    yield "ping_ms", numbers["ping_ms"]["mean"] if numbers["ping_ms"]["mean"] is not None else math.nan
    yield "ping_p95_ms", numbers["ping_ms"]["p95"] if numbers["ping_ms"]["p95"] is not None else math.nan
    yield "queue_packets", numbers["queue"]["packets"]["mean"]
    yield "seconds", run.birth["duration_s"]


def compare(case: str, there: Mapping[str, Mapping[str, float]], here: list[dict[str, float]]) -> Iterator[Row]:
    """Means there and here, and how far apart they may be."""
    for metric, truth in there.items():
        values = [run[metric] for run in here]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
        standard_error = math.sqrt(truth["sd"] ** 2 / truth["n"] + variance / len(values))
        yield Row(case, metric, truth["mean"], mean, allowed(metric, there, here, standard_error))


def allowed(
    metric: str, there: Mapping[str, Mapping[str, float]], here: list[dict[str, float]], standard_error: float
) -> float | None:
    """What the tolerance allows; the truth counts retransmits, of which the tolerance is a rate of the packets sent."""
    group, _, name = metric.rpartition(".")
    tolerance = TOLERANCES.get(name)
    if tolerance is None:
        return None
    if name == "retrans":
        seconds = there[f"{group}.secs"]["mean"] if f"{group}.secs" in there else here[0]["seconds"]
        packets = there[f"{group}.mbps"]["mean"] * 1e6 * seconds / PACKET_BITS
        tolerance = replace(tolerance, absolute=tolerance.absolute * packets)
    return tolerance.allowed(there[metric]["mean"], standard_error)


def table(rows: list[Row], engine: str, seeds: int, seconds: float) -> str:
    """The whole comparison as Markdown, the worst rows first."""
    judged = [row for row in rows if row.allowed is not None]
    outside = [row for row in judged if not row.agrees]
    cases = {row.case for row in judged}
    lines = [
        "# Against the truth",
        "",
        f"{len(cases)} cases of an independent harness on `{engine}`, {seeds} seeds each; "
        f"{seconds:.0f} s of wall time on {os.cpu_count()} cores.",
        f"**{len(cases) - len({row.case for row in outside})} cases agree in all; of {len(judged)} means "
        f"{len(judged) - len(outside)} ({1 - len(outside) / len(judged):.1%}) do.**",
        "",
        "Made by `make conformance`.",
        "",
        "| case | metric | there | here | difference | allowed | × | |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in sorted(rows, key=lambda row: (row.allowed is None, -row.excess)):
        mark = "shown" if row.allowed is None else "ok" if row.agrees else "**outside**"
        change = f"{row.here / row.there - 1:+.1%}" if row.there else f"{row.here:+.3g}"
        share = "" if row.allowed is None else f"{row.allowed:.3g}"
        lines.append(
            f"| {row.case} | {row.metric} | {row.there:.5g} | {row.here:.5g} | {change} | {share} "
            f"| {row.excess:.2f} | {mark} |"
        )
    return "\n".join(lines) + "\n"


def _mean(values: Any) -> float:
    mean = values.mean()
    return math.nan if mean is None else float(mean)


if __name__ == "__main__":
    sys.exit(main())
