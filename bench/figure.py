"""How long does a picture for a page take, from a run's tables to the bytes of the answer?

    python bench/figure.py [-o bench/figure.md] [--runs 40]

Processor time of one thread, so that other work on the machine counts little; medians. Each time the run is a new one,
of which nothing is computed yet, as after each move of a control.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

os.environ["POLARS_MAX_THREADS"] = "1"  # Before polars is loaded: its threads wake up longer than these tables take.

from speed import processor

from dumbbell import api
from dumbbell.plots import PANELS, available, columns, figure, packed
from dumbbell.plots.panels import drawn
from dumbbell.results.result import Run, load

EXPERIMENT = {
    "duration": "30s",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "50mbit"}},
    "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
}
SHOWN = ("throughput", "cwnd", "rtt", "queue", "states")
POINTS = 900
PAGE = """# A picture for a page

{runs} times each on {cores} cores ({processor}; load {load:.1f} when it began): a run of 30 s, 50 Mbit/s and 40 ms with
a BBR and a CUBIC flow, sampled every 10 ms ({rows:,} rows of flows), {points} points a line. Milliseconds of one
thread's processor time. Made by `python bench/figure.py -o bench/figure.md`.

| what | median | least |
| --- | ---: | ---: |
{table}

The answer has {size:,} bytes.
"""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=40)
    asked = arguments.parse_args()
    load_began = os.getloadavg()[0]
    result = api.run(api.experiment(EXPERIMENT))
    run = load(result.folder)
    rows = [
        line(f"**answer with {', '.join(SHOWN)}**", lambda fresh: answer(fresh, SHOWN), run, asked.runs),
        line("of it: which of the panels the run can fill", lambda fresh: available(fresh, SHOWN), run, asked.runs),
        *(line(f"panel `{name}` alone", one(name), run, asked.runs) for name in available(run, list(PANELS))),
        line("the same five panels as a figure of Vega-Lite", vega, run, max(asked.runs // 4, 1)),
    ]
    text = PAGE.format(
        runs=asked.runs, cores=os.cpu_count(), processor=processor(), load=load_began, rows=run.flows.height,
        points=POINTS, table="\n".join(rows), size=len(answer(run, SHOWN)),
    )  # fmt: skip
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    return 0


def line(what: str, work: Callable[[Run], object], run: Run, runs: int) -> str:
    """A row of the table."""
    spent = [took_ms(work, run) for _ in range(runs + 1)][1:]  # The first one also loads modules.
    return f"| {what} | {median(spent):.1f} | {min(spent):.1f} |"


def took_ms(work: Callable[[Run], object], run: Run) -> float:
    fresh = Run(run.folder, run.manifest, run.flows, run.queues, run.probes)
    began = time.process_time()
    work(fresh)
    return (time.process_time() - began) * 1e3


def answer(run: Run, panels: Sequence[str]) -> bytes:
    heads, arrays = columns(run, available(run, panels), POINTS)
    return packed({"panels": heads}, arrays)


def one(name: str) -> Callable[[Run], object]:
    return lambda run: drawn(run, [name], POINTS)


def vega(run: Run) -> object:
    return figure(run, SHOWN, points=POINTS).to_dict()


if __name__ == "__main__":
    sys.exit(main())
