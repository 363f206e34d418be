"""How long from a saved controller to a figure?

    python bench/controller.py [-o bench/controller.md] [--runs 3]

Each step is a command of its own, as a person would type it, with the start of Python in it. `examples/tcp_target.c`
is added to the default kernel under a name of the bench's own; between the runs a comment at its end changes, so that
it is compiled each time. The twin of the kernel's tree, which is made once for a kernel, is taken away at the start.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from dumbbell.kernel import find
from dumbbell.kernel.store import kernels_dir
from dumbbell.kernel.twin import work_of

HERE = Path(__file__).parent
SOURCE = HERE.parent / "examples/tcp_target.c"
COMMAND = str(Path(sys.executable).with_name("dumbbell"))
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
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            text = report(measure(Path(folder), asked.runs), asked.runs)
        finally:
            shutil.rmtree(kernels_dir() / NAME, ignore_errors=True)
    print(text)
    if asked.output:
        asked.output.write_text(text + "\n", encoding="utf-8")
    return 0


def measure(folder: Path, runs: int) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds of each step: the median, or the one time of what is done once."""
    file, experiment = folder / "tcp_target.c", folder / "bench.toml"
    experiment.write_text(EXPERIMENT, encoding="utf-8")
    add = ("kernel", "add", file, "--name", NAME)
    source = SOURCE.read_text(encoding="utf-8")
    file.write_text(source, encoding="utf-8")
    shutil.rmtree(work_of(find(None)), ignore_errors=True)
    once = timed(*add)
    unchanged = timed(*add)
    steps: dict[str, list[tuple[float, float]]] = {"add": [], "run": [], "plot": []}
    for number in range(runs):
        out = folder / f"run-{number}"
        file.write_text(f"{source}/* {number} */\n", encoding="utf-8")
        steps["add"].append(timed(*add))
        steps["run"].append(timed("run", experiment, "--kernel", NAME, "--out", out))
        steps["plot"].append(timed("plot", out, "-o", folder / f"{number}.svg"))
    medians = {step: tuple(median(values) for values in zip(*figures, strict=True)) for step, figures in steps.items()}
    return {"once": once, "unchanged": unchanged, **{step: (pair[0], pair[1]) for step, pair in medians.items()}}


def timed(*words: str | Path) -> tuple[float, float]:
    """Wall seconds and processor seconds (of the command and of what it started) of one command."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([COMMAND, *words], check=True, capture_output=True)
    wall, after = time.perf_counter() - began, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


def report(figures: dict[str, tuple[float, float]], runs: int) -> str:
    told = {
        "once": "`kernel add`, the first time for a kernel: its tree's twin is made",
        "add": "`kernel add` of the edited file",
        "unchanged": "`kernel add` of the same file again",
        "run": "`run`, 60 virtual s, 2 flows, 50 Mbit/s",
        "plot": "`plot`, SVG",
    }
    lines = [
        "# From a saved controller to a figure",
        "",
        f"Median of {runs} on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end (other work on the "
        "machine makes wall times longer, processor times hardly). Made by "
        "`python bench/controller.py -o bench/controller.md`.",
        "",
        "| step | wall s | processor s |",
        "| --- | ---: | ---: |",
        *(f"| {what} | {figures[step][0]:.1f} | {figures[step][1]:.1f} |" for step, what in told.items()),
    ]
    total = [sum(figures[step][part] for step in ("add", "run", "plot")) for part in (0, 1)]
    lines += [f"| **edited file to figure** | **{total[0]:.1f}** | **{total[1]:.1f}** |"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
