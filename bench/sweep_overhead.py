"""Measure the cost of a sweep run in addition to its simulation.

    python bench/sweep_overhead.py [-o bench/sweep-overhead.md] [--runs 320] [--batch 16]

Runs of 10 s, 50 Mbit/s, 40 ms, one CUBIC, sampled every 10 ms, in memory and in one thread: a document with settings
is read, planned, simulated, made into tables with a verdict and a manifest, and measured. Figures are the process's
CPU time of each step, medians over the runs. The benchmark measures two orders: each run goes through all steps, or a
batch of runs goes through each step, which uses the instruction cache better.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from speed import processor

from dumbbell.analysis.summary import measures
from dumbbell.engines import Request, Simulator
from dumbbell.engines.sim import Ready, SimulatedRun
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.spec.document import read, with_settings

FILE = Path("sweep.toml")
DOCUMENT: dict[str, Any] = {
    "duration": "10s",
    "path": {"rtt": "10ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 100"}},
    "flows": [{"cc": "reno"}],
}
SETTINGS = {
    "path.rtt": "40ms",
    "path.bottleneck.rate": "50mbit",
    "path.bottleneck.qdisc": "pfifo limit 200",
    "flows.0.cc": "cubic",
}
STEPS = {
    "read": "document and settings to an experiment",
    "prepare": "plan, and the plan as the simulator reads it",
    "simulate": "**the simulation itself**",
    "tables": "tables, verdict, manifest",
    "measures": "every number of the run",
}
SOME = ("groups.*.throughput_mbps", "queue.delay_ms.*")
WARM_UP = 20

In = TypeVar("In")
Out = TypeVar("Out")


class Clock:
    """CPU time of each step of each run, in microseconds."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}

    def times(self, step: str, do: Callable[[In], Out], each: Sequence[In]) -> list[Out]:
        """Apply `do` to each value, and record the mean CPU time."""
        began = time.process_time_ns()
        made = [do(one) for one in each]
        self.spent.setdefault(step, []).append((time.process_time_ns() - began) / 1e3 / len(each))
        return made

    def median(self, step: str) -> float:
        """The median CPU time of a step, in microseconds."""
        return median(self.spent[step])


def main(arguments: argparse.Namespace) -> None:
    """Measure, and write the page."""
    go(WARM_UP, 1)
    alone, together = go(arguments.runs, 1), go(arguments.runs, arguments.batch)
    page = _page(alone, together, arguments)
    if arguments.output:
        Path(arguments.output).write_text(page, encoding="utf-8")
    print(page)


def go(runs: int, batch: int) -> Clock:
    """All steps of `runs` runs, `batch` runs at a time."""
    clock, simulator = Clock(), Simulator()
    for first in range(1, runs + 1, batch):
        seeds = list(range(first, first + batch))
        cases: list[Case] = clock.times(
            "read", lambda _seed: read(with_settings(DOCUMENT, SETTINGS, FILE), FILE)[0], seeds
        )
        requests = [Request("sweep", case, seed, Path("/")) for case, seed in zip(cases, seeds, strict=True)]
        ready: list[Ready] = clock.times("prepare", simulator.prepare, requests)
        simulated: list[SimulatedRun] = clock.times("simulate", Ready.run_simulation, ready)
        ended: list[Run] = clock.times("tables", SimulatedRun.run, simulated)
        clock.times("measures", measures, ended)
        for run in ended:
            run.remembered.clear()
        clock.times("three measures", lambda run: measures(run, None, SOME), ended)
    return clock


def _page(alone: Clock, together: Clock, arguments: argparse.Namespace) -> str:
    rows = [
        f"| {step} | {text} | {alone.median(step):,.0f} | {together.median(step):,.0f} |"
        for step, text in STEPS.items()
    ]
    overheads = [sum(clock.median(step) for step in STEPS if step != "simulate") for clock in (alone, together)]
    fewer = [
        total - clock.median("measures") + clock.median("three measures")
        for total, clock in zip(overheads, (alone, together), strict=True)
    ]
    return "\n".join(
        [
            "# Cost of a sweep run in addition to its simulation",
            "",
            f"`python bench/sweep_overhead.py --runs {arguments.runs} --batch {arguments.batch}` on {processor()}, "
            f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}. Runs of 10 s, 50 Mbit/s, 40 ms, one CUBIC, "
            "1,000 samples; one thread, in memory. Medians in µs of CPU time per run: each run alone, "
            f"and {arguments.batch} runs at a time step by step.",
            "",
            f"| step | work | alone | {arguments.batch} at a time |",
            "| --- | --- | ---: | ---: |",
            *rows,
            f"| | **all but the simulation** | **{overheads[0]:,.0f}** | **{overheads[1]:,.0f}** |",
            f"| | with three measures selected | {fewer[0]:,.0f} | {fewer[1]:,.0f} |",
            "",
            "A busy host doubles these figures, because other processes use the caches. Writing a folder, reading it "
            "again and measuring it (`Simulator.run`, `result.load`) is done only by sweeps that keep "
            "full results.",
            "",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", help="also write the page to this file")
    parser.add_argument("--runs", type=int, default=320)
    parser.add_argument("--batch", type=int, default=16)
    main(parser.parse_args())
