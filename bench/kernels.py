"""Measure the time from a saved C file to a run's results.

    python bench/kernels.py --source ~/linux [-o bench/kernels.md] [--runs 3]

The script appends a comment to net/ipv4/tcp_bbr.c in the given source tree, builds the kernel and runs `cyclic` on it
for 60 virtual seconds; then it restores the file. It reports medians; a first build, which compiles everything, is not
counted. Wall time depends on other load of the host, so the page also has CPU time (user + system) and the load.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from command_cost import Spent, spent

EDITED = "net/ipv4/tcp_bbr.c"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--source", type=Path, required=True)
    arguments.add_argument(
        "--name", default="bench", help="the kernel's name; an existing kernel saves the first build"
    )
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=3)
    options = arguments.parse_args()
    build = ["kernel", "build", "--source", str(options.source), "--name", options.name]
    spent(*build)
    nothing = [spent(*build) for _ in range(options.runs)]
    file = options.source / EDITED
    before, times = file.read_bytes(), file.stat()
    built, ran = [], []
    try:
        for number in range(options.runs):
            file.write_bytes(before + f"/* {time.time_ns()} {number} */\n".encode())
            built.append(spent(*build))
            with tempfile.TemporaryDirectory() as folder:
                run = ("run", "cyclic", "--kernel", options.name, "--set", "duration=60s", "--out", f"{folder}/run")
                ran.append(spent(*run))
    finally:
        file.write_bytes(before)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    text = page(
        options.runs, {"nothing changed: build": nothing, "one file edited: build": built, "60 s of `cyclic`": ran}
    )
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def page(runs: int, rows: dict[str, list[Spent]]) -> str:
    last = list(rows)[1:]
    rows = rows | {"edited file to numbers": [a + b for a, b in zip(*(rows[name] for name in last), strict=True)]}
    lines = [
        "# From a saved file to numbers",
        "",
        f"Median of {runs} on {os.cpu_count()} cores ({platform.machine()}), load average {os.getloadavg()[0]:.1f} "
        "at the end. Made by `python bench/kernels.py --source DIR -o bench/kernels.md`. With a load above 1 the wall "
        "time is that of a host that does other things too; CPU time is inflated less.",
        "",
        "| step | wall s | user + system s |",
        "| --- | ---: | ---: |",
    ]
    for name, costs in rows.items():
        lines.append(f"| {name} | {median(s.wall_s for s in costs):.1f} | {median(s.cpu_s for s in costs):.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
