"""Measure the time from a saved controller to a figure.

    python bench/controller.py [-o bench/controller.md] [--runs 3]

Each step is a separate command, so its time includes the start of Python. `examples/tcp_target.c` is added to the
default kernel under the benchmark's own name; between the runs a comment at its end changes, so that it is compiled
each time. The copy of the kernel's tree, which is made once for each kernel, is removed at the start.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from command_cost import Spent, spent

from dumbbell.kernels import find
from dumbbell.kernels.added import work_of
from dumbbell.kernels.store import kernels_dir

HERE = Path(__file__).parent
SOURCE = HERE.parent / "examples/tcp_target.c"
EXPERIMENT = """
title = "bench"
duration = "60s"
[path]
rtt = "30ms"
[path.bottleneck]
rate = "50mbit"
qdisc = "pfifo limit 400"
[[flows]]
cc = "target"
count = 2
"""
NAME = "bench-controller"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            text = report(measure(Path(folder), options.runs), options.runs)
        finally:
            shutil.rmtree(kernels_dir() / NAME, ignore_errors=True)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    return 0


def measure(folder: Path, runs: int) -> dict[str, Spent]:
    """The median cost of each step; the single measurement of a step that runs once."""
    file, experiment = folder / "tcp_target.c", folder / "bench.toml"
    experiment.write_text(EXPERIMENT, encoding="utf-8")
    add = ("kernel", "add", file, "--name", NAME)
    source = SOURCE.read_text(encoding="utf-8")
    file.write_text(source, encoding="utf-8")
    shutil.rmtree(work_of(find(None)), ignore_errors=True)
    once = spent(*add)
    unchanged = spent(*add)
    steps: dict[str, list[Spent]] = {"add": [], "run": [], "plot": []}
    for number in range(runs):
        out = folder / f"run-{number}"
        file.write_text(f"{source}/* {number} */\n", encoding="utf-8")
        steps["add"].append(spent(*add))
        steps["run"].append(spent("run", experiment, "--kernel", NAME, "--out", out))
        steps["plot"].append(spent("plot", out, "-o", folder / f"{number}.svg"))
    medians = {
        step: Spent(median(each.wall_s for each in costs), median(each.cpu_s for each in costs))
        for step, costs in steps.items()
    }
    return {"once": once, "unchanged": unchanged, **medians}


def report(figures: dict[str, Spent], runs: int) -> str:
    labels = {
        "once": "`kernel add`, the first time for a kernel: its tree is copied",
        "add": "`kernel add` of the edited file",
        "unchanged": "`kernel add` of the unchanged file",
        "run": "`run`, 60 virtual s, 2 flows, 50 Mbit/s",
        "plot": "`plot`, SVG",
    }
    lines = [
        "# From a saved controller to a figure",
        "",
        f"Median of {runs} on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end (other work on "
        "the host makes wall times longer, CPU times hardly). Made by "
        "`python bench/controller.py -o bench/controller.md`.",
        "",
        "| step | wall s | CPU s |",
        "| --- | ---: | ---: |",
        *(f"| {label} | {figures[step].wall_s:.1f} | {figures[step].cpu_s:.1f} |" for step, label in labels.items()),
    ]
    total = figures["add"] + figures["run"] + figures["plot"]
    lines += [f"| **edited file to figure** | **{total.wall_s:.1f}** | **{total.cpu_s:.1f}** |"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
