"""Measure the speed and memory of the simulator.

    python bench/simulator.py [-o bench/simulator.md] [--runs 7] [--experiments DIR]

Each run has its own process. The wall time covers the simulation with its tables, not planning or writing.
`--experiments` only writes the experiments, for `cargo run --profile wheel -p dumbbell --bin time_run`. `-o` also
writes `results/simulator.json`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments import EXPERIMENTS, MANY, Bench, write_results
from speed import processor

BENCHES = (*EXPERIMENTS, *MANY)
TARGETS = {"cyclic": "0.1 s", "hundred-cubic": "0.25 s", "ten-bbr": "1 s"} | dict.fromkeys(
    ("many-1000", "many-10000"), "2 × many-10 a packet"
)
"""Targets of wall time."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=7)
    arguments.add_argument("--experiments", type=Path)
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(one(next(bench for bench in BENCHES if bench.name == options.one))))
        return 0
    if options.experiments:
        options.experiments.mkdir(parents=True, exist_ok=True)
        for bench in BENCHES:
            (options.experiments / f"{bench.name}.toml").write_text(bench.toml(), encoding="utf-8")
        return 0
    lines = [
        "# The simulator's speed and memory",
        "",
        f"{options.runs} runs of each on {os.cpu_count()} cores ({processor()}), one core used; wall seconds of the",
        "simulation with its tables. Made by `make page NAME=bench`.",
        "",
        "| experiment | s, median | s, least | target | data packets | million a second | ns a packet "
        "| events a packet | peak MiB | packets alive |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    measured: dict[str, Any] = {}
    for bench in BENCHES:
        runs = [measure(bench) for _ in range(options.runs)]
        lines.append(row(bench, runs))
        measured[bench.name] = figures(runs)
        print(lines[-1], file=sys.stderr)
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        rates = [each["million_packets_a_second"] for each in measured.values()]
        total = {"experiments": measured, "million_packets_a_second": {"least": min(rates), "most": max(rates)}}
        write_results("simulator", total)
    return 0


def figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a line of the table."""
    walls, run = [run["wall_s"] for run in runs], runs[0]
    return {
        "seconds_median": round(median(walls), 3),
        "seconds_least": round(min(walls), 3),
        "data_packets": run["data_packets"],
        "million_packets_a_second": round(run["data_packets"] / median(walls) / 1e6, 2),
        "events_a_packet": round(run["events"] / run["data_packets"], 2),
        "peak_mib": round(median(run["peak_mib"] for run in runs), 1),
    }


def row(bench: Bench, runs: Sequence[dict[str, Any]]) -> str:
    """A line of the table."""
    walls = [run["wall_s"] for run in runs]
    typical, least, run = median(walls), min(walls), runs[0]
    packets = run["data_packets"]
    return (
        f"| `{bench.name}`: {bench.text} | {typical:.3f} | {least:.3f} | {TARGETS.get(bench.name, '')} | {packets:,} "
        f"| {packets / typical / 1e6:.2f} | {typical * 1e9 / packets:.0f} | {run['events'] / packets:.2f} "
        f"| {median(run['peak_mib'] for run in runs):.1f} | {run['peak_packets']:,} |"
    )


def measure(bench: Bench) -> dict[str, Any]:
    """Run it in its own process, which has its own peak memory."""
    command = [sys.executable, __file__, "--one", bench.name]
    cost: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return cost


def one(bench: Bench) -> dict[str, Any]:
    from dumbbell import _sim

    plan = bench.simulated()
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    *_, report = _sim.simulate(plan, None, None)
    wall_s = time.perf_counter() - began
    peak_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    cost: dict[str, Any] = report["cost"]
    return cost | {"wall_s": wall_s, "peak_mib": peak_mib}


if __name__ == "__main__":
    sys.exit(main())
