"""How many runs a second does a sweep do, and does its memory stay flat?

    python bench/sweep_runs.py [-o bench/sweep.md] [--runs 10000] [--guests 1000] [--jobs 2]

The sweeps are `ten-thousand.toml` on the simulator and `thousand-guests.toml` on the kernel, carried out as the command
does it, without the cache. What a run costs beside its simulation is `sweep_overhead.py`'s, which takes both in turns:
on a machine whose speed changes from minute to minute, two figures taken one after the other have no difference.
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
    """One sweep as it went."""

    told: dict[str, float]
    cpu_s: float
    """Of all its processes, guests included."""
    wall_s: float
    """Of the runs alone: from the first row to the last."""
    memory: list[tuple[float, int]]
    """Seconds since its start, and bytes that all its processes hold (PSS)."""


def main() -> None:
    asked = _arguments()
    tables = []
    for file, runs, points in (("ten-thousand.toml", asked.runs, 100), ("thousand-guests.toml", asked.guests, 10)):
        if runs:
            seeds = max(runs // points, 1)
            tables.append(_table(file, _swept(HERE / file, seeds, asked.jobs), asked.jobs))
    text = f"{_head(asked.jobs)}\n" + "\n".join(tables)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _swept(file: Path, seeds: int, jobs: int) -> Swept:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as room:
        words = [
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
        words += ["--out", f"{room}/out"]
        began = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        memory = []
        while process.poll() is None:
            memory.append((time.monotonic() - began, _held(process.pid)))
            time.sleep(SAMPLE_S)
        assert process.stdout is not None
        told = json.loads(process.stdout.read())
        wall_s = _rows_took_s(Path(room) / "out" / "rows.sqlite")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Swept(told, cpu_s, wall_s, memory)


def _rows_took_s(journal: Path) -> float:
    import sqlite3

    with sqlite3.connect(journal) as link:
        words = "SELECT (julianday(max(done_at)) - julianday(min(done_at))) * 86400 FROM rows"
        return float(link.execute(words).fetchone()[0])


def _held(process: int) -> int:
    """Bytes of a process and all below it, shared pages counted once (PSS)."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(_held(int(child)) for child in children)


def _table(file: str, swept: Swept, jobs: int) -> str:
    runs = swept.told["runs"]
    rows: list[tuple[str, str]] = [
        ("runs", f"{runs:,}"),
        ("ok, invalid, failed", ", ".join(f"{swept.told[key]:,}" for key in ("ok", "invalid", "failed"))),
        ("wall time, s", f"{swept.told['wall_s']:.1f}"),
        ("runs a second, of the command as a whole", f"{runs / swept.told['wall_s']:.1f}"),
        ("runs a second, from the first row to the last", f"{(runs - 1) / swept.wall_s:.1f}"),
        ("processor time a run, ms", f"{swept.cpu_s / runs * 1e3:.2f}"),
    ]
    rows += [
        (f"memory of all {jobs + 1} processes, MB, at {name}", f"{held / 1e6:.0f}") for name, held in _moments(swept)
    ]
    lines = [f"## `{file}`", "", "| what | |", "| --- | ---: |", *(f"| {what} | {figure} |" for what, figure in rows)]
    return "\n".join(lines) + "\n"


def _moments(swept: Swept) -> list[tuple[str, int]]:
    """At tenths of the time in which runs were done, and at most."""
    held = [each for _, each in swept.memory]
    chosen = [(f"{part} %", held[min(len(held) * part // 100, len(held) - 1)]) for part in (25, 50, 75)]
    return [*chosen, ("its most", max(held))]


def _head(jobs: int) -> str:
    with Path("/proc/loadavg").open(encoding="ascii") as load:
        average = load.read().split()[0]
    return (
        f"# What a sweep costs\n\n{jobs} processes on {processor()}, load {average} at the end. "
        f"Made by `python bench/sweep_runs.py {' '.join(sys.argv[1:])}`.\n"
    )


def _arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--runs", type=int, default=10_000, help="on the simulator, in hundreds")
    parser.add_argument("--guests", type=int, default=1_000, help="on the kernel, in tens")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
