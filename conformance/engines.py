"""The six scenarios on the simulator and on the kernel: how far apart are the means?

    python conformance/engines.py [SCENARIO...] [--seeds 3] [--jobs N] [-o conformance/engines.md]

A first look at agreement, gaps and all: nothing is judged here.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from dumbbell import result
from dumbbell.analysis import summary
from dumbbell.engine import Engine, KernelEngine, Request, Simulator
from dumbbell.spec import find, load

SCENARIOS = ("cyclic", "two-classes", "lossy-download", "lossy-lan", "bufferbloat", "bufferbloat-cured")
Work = tuple[str, int, str, int]
"""Scenario, number of the case, engine, seed."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("scenarios", nargs="*")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("-o", "--output", type=Path)
    asked = arguments.parse_args()
    names = asked.scenarios or list(SCENARIOS)
    seeds = range(1, asked.seeds + 1)
    cases = {name: load(find(name)) for name in names}
    work = [
        (name, number, engine, seed)
        for name in names
        for number in range(len(cases[name]))
        for engine in ("sim", "kernel")
        for seed in seeds
    ]
    with ProcessPoolExecutor(asked.jobs) as pool:
        measured = dict(zip(work, pool.map(measure, work), strict=True))
    lines = [
        "# The six scenarios on two engines",
        "",
        f"Means of {asked.seeds} seeds, with the wall seconds of one run. Made by `make conformance`.",
        "",
        "| scenario | metric | sim | kernel | difference |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for name in names:
        for number, case in enumerate(cases[name]):
            title = f"{name}: {case.name}" if case.name else name
            runs = {engine: [measured[name, number, engine, seed] for seed in seeds] for engine in ("sim", "kernel")}
            lines += list(rows(title, runs["sim"], runs["kernel"]))
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    return 0


def measure(work: Work) -> dict[str, float]:
    """One run's metrics."""
    name, number, engine, seed = work
    made: Engine = Simulator() if engine == "sim" else KernelEngine()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        request = Request(name, load(find(name))[number], seed, Path(folder) / "run")
        run = result.load(made.run(request, lambda _: None))
    seconds = time.perf_counter() - began
    if not run.birth["valid"]:
        print(f"{name}, case {number}, {engine}: {run.birth['invalid']}", file=sys.stderr)
    return dict(metrics(summary(run))) | {"wall s": seconds}


def metrics(numbers: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """What is compared: by group, of the queue, of ping."""
    for group, figures in numbers["groups"].items():
        yield f"{group} Mbit/s", figures["throughput_mbps"]
        flows = [flow for flow in numbers["flows"] if flow["group"] == group]
        for metric, unit in (("rtt_ms", "RTT ms"), ("cwnd_packets", "cwnd")):
            means = [flow[metric]["mean"] for flow in flows if flow.get(metric) and flow[metric]["mean"] is not None]
            if means:
                yield f"{group} {unit}", sum(means) / len(means)
        yield f"{group} retransmits", sum(flow["retransmits"] or 0 for flow in flows)
        if all(flow.get("fct_s") for flow in flows):
            yield f"{group} fct s", sum(flow["fct_s"] for flow in flows) / len(flows)
    if numbers["queue"] and numbers["queue"]["packets"]["mean"] is not None:
        yield "queue packets", numbers["queue"]["packets"]["mean"]
        yield "drops", numbers["queue"]["drops"]
    if numbers["ping_ms"] and numbers["ping_ms"]["mean"] is not None:
        yield "ping ms", numbers["ping_ms"]["mean"]
    if numbers["cycle"]:
        yield "cycle s", numbers["cycle"]["period_s"]


def rows(title: str, sim: list[dict[str, float]], kernel: list[dict[str, float]]) -> Iterator[str]:
    """One line a metric that any of the engines has."""
    for metric in dict.fromkeys(key for run in (*sim, *kernel) for key in run):
        here, there = (mean([run[metric] for run in runs if metric in run]) for runs in (sim, kernel))
        change = f"{here / there - 1:+.1%}" if here is not None and there else ""
        shown = ("–" if value is None else f"{value:.4g}" for value in (here, there))
        yield f"| {title} | {metric} | {' | '.join(shown)} | {change} |"


def mean(values: list[float]) -> float | None:
    """The mean of what is there."""
    return sum(values) / len(values) if values else None


if __name__ == "__main__":
    sys.exit(main())
