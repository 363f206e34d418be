"""Measure a sweep's runs per second and its memory over time.

    python bench/sweep_runs.py [-o bench/sweep.md] [--runs 10000] [--guests 1000] [--jobs 2]

The sweeps are `ten-thousand.toml` on the simulator and `thousand-guests.toml` on the kernel, run by `dumbbell sweep`
without the cache. `sweep_overhead.py` measures the cost of a run in addition to its simulation: it alternates between
both, because on a host whose speed changes from minute to minute two consecutive measurements do not compare.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from speed import processor

HERE = Path(__file__).parent
COMMAND = Path(sys.executable).with_name("dumbbell")
SAMPLE_S = 0.5


@dataclass(frozen=True)
class Swept:
    """Measurements of one sweep."""

    counts: dict[str, float]
    cpu_s: float
    """CPU time of all its processes, including guests."""
    wall_s: float
    """Wall time from the first row to the last."""
    memory: list[tuple[float, int]]
    """Seconds since the start, and memory of all its processes (PSS) in bytes."""


def main() -> None:
    options = _arguments()
    tables = []
    for file, runs, points in (("ten-thousand.toml", options.runs, 100), ("thousand-guests.toml", options.guests, 10)):
        if runs:
            seeds = max(runs // points, 1)
            tables.append(_table(file, _swept(HERE / file, seeds, options.jobs), options.jobs))
    text = f"{_head(options.jobs)}\n" + "\n".join(tables)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _swept(file: Path, seeds: int, jobs: int) -> Swept:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(COMMAND),
            "sweep",
            str(file),
            "--no-cache",
            "--json",
            "--jobs",
            str(jobs),
            "--set",
            f"seeds=1..{seeds}",
        ]
        command += ["--out", f"{folder}/out"]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        memory = []
        while process.poll() is None:
            memory.append((time.monotonic() - began, _memory_of(process.pid)))
            time.sleep(SAMPLE_S)
        assert process.stdout is not None
        counts = json.loads(process.stdout.read())
        wall_s = _rows_took_s(Path(folder) / "out" / "rows.sqlite")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Swept(counts, cpu_s, wall_s, memory)


def _rows_took_s(journal: Path) -> float:
    import sqlite3

    with sqlite3.connect(journal) as connection:
        query = "SELECT (julianday(max(done_at)) - julianday(min(done_at))) * 86400 FROM rows"
        return float(connection.execute(query).fetchone()[0])


def _memory_of(process: int) -> int:
    """Memory of a process and its descendants in bytes, shared pages counted once (PSS)."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(_memory_of(int(child)) for child in children)


def _table(file: str, swept: Swept, jobs: int) -> str:
    runs = swept.counts["runs"]
    rows: list[tuple[str, str]] = [
        ("runs", f"{runs:,}"),
        ("ok, invalid, failed", ", ".join(f"{swept.counts[key]:,}" for key in ("ok", "invalid", "failed"))),
        ("wall time, s", f"{swept.counts['wall_s']:.1f}"),
        ("runs a second, of the whole command", f"{runs / swept.counts['wall_s']:.1f}"),
        ("runs a second, from the first row to the last", f"{(runs - 1) / swept.wall_s:.1f}"),
        ("CPU time a run, ms", f"{swept.cpu_s / runs * 1e3:.2f}"),
    ]
    rows += [
        (f"memory of all {jobs + 1} processes, MB, at {name}", f"{memory / 1e6:.0f}")
        for name, memory in _quartiles(swept)
    ]
    lines = [f"## `{file}`", "", "| measure | |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _quartiles(swept: Swept) -> list[tuple[str, int]]:
    """Memory at quarters of the sweep's duration, and its maximum."""
    memory = [each for _, each in swept.memory]
    chosen = [(f"{percent} %", memory[min(len(memory) * percent // 100, len(memory) - 1)]) for percent in (25, 50, 75)]
    return [*chosen, ("its maximum", max(memory))]


def _head(jobs: int) -> str:
    with Path("/proc/loadavg").open(encoding="ascii") as load:
        average = load.read().split()[0]
    return (
        f"# What a sweep costs\n\n{jobs} processes on {processor()}, load {average} at the end. "
        f"Made by `python bench/sweep_runs.py {' '.join(sys.argv[1:])}`.\n"
    )


def _arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--runs", type=int, default=10_000, help="runs on the simulator, a multiple of 100")
    parser.add_argument("--guests", type=int, default=1_000, help="runs on the kernel, a multiple of 10")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
