"""Measure the time of a page's figure, from a run's tables to the bytes of the response.

    python bench/figure.py [-o bench/figure.md] [--runs 40]

Medians of one thread's CPU time, which other work on the host affects little. Each repetition starts from a new run
without cached results, as after each move of a control.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from dumbbell.plots import figure

os.environ["POLARS_MAX_THREADS"] = "1"  # Before polars is loaded: its threads wake up longer than these tables take.

from speed import processor

from dumbbell import api
from dumbbell.plots import PANELS, available, columns, packed
from dumbbell.plots.panels import panel_data
from dumbbell.results.result import Run, load

EXPERIMENT = {
    "duration": "30s",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "50mbit"}},
    "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
}
SHOWN = ("throughput", "cwnd", "rtt", "queue", "states")
POINTS = 900
PAGE = """# A figure for a page

{runs} times each on {cores} cores ({processor}; load {load:.1f} at the start): a run of 30 s, 50 Mbit/s and 40 ms with
a BBR and a CUBIC flow, sampled every 10 ms ({rows:,} rows of flows), {points} points a line. Milliseconds of one
thread's CPU time. Made by `python bench/figure.py -o bench/figure.md`.

| step | median | least |
| --- | ---: | ---: |
{table}

The response has {size:,} bytes.
"""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=40)
    options = arguments.parse_args()
    load_began = os.getloadavg()[0]
    result = api.run(api.experiment(EXPERIMENT))
    run = load(result.folder)
    rows = [
        line(f"**response with {', '.join(SHOWN)}**", lambda fresh: response(fresh, SHOWN), run, options.runs),
        line(
            "part of it: selecting the panels that the run can fill",
            lambda fresh: available(fresh, SHOWN),
            run,
            options.runs,
        ),
        *(line(f"panel `{name}` alone", one(name), run, options.runs) for name in available(run, list(PANELS))),
        line("the same five panels as a figure of Vega-Lite", vega, run, max(options.runs // 4, 1)),
    ]
    text = PAGE.format(
        runs=options.runs, cores=os.cpu_count(), processor=processor(), load=load_began, rows=run.flows.height,
        points=POINTS, table="\n".join(rows), size=len(response(run, SHOWN)),
    )  # fmt: skip
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


def line(label: str, work: Callable[[Run], object], run: Run, runs: int) -> str:
    """A row of the table."""
    spent = [took_ms(work, run) for _ in range(runs + 1)][1:]  # The first one also loads modules.
    return f"| {label} | {median(spent):.1f} | {min(spent):.1f} |"


def took_ms(work: Callable[[Run], object], run: Run) -> float:
    fresh = Run(run.folder, run.manifest, run.flows, run.queues, run.probes)
    began = time.process_time()
    work(fresh)
    return (time.process_time() - began) * 1e3


def response(run: Run, panels: Sequence[str]) -> bytes:
    heads, arrays = columns(run, available(run, panels), POINTS)
    return packed({"panels": heads}, arrays)


def one(name: str) -> Callable[[Run], object]:
    return lambda run: panel_data(run, [name], POINTS)


def vega(run: Run) -> object:
    return figure(run, SHOWN, points=POINTS).to_dict()


if __name__ == "__main__":
    sys.exit(main())
