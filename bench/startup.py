"""Measure how long commands take to start, and how much they import.

    python bench/startup.py [-o bench/startup.md] [--runs 10]

Warm: medians, with all files in the page cache. Cold: once each, after the kernel was asked to drop the pages of the
environment and of the package (`posix_fadvise`); their folders stay cached.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from speed import processor

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("dumbbell")
COUNT = """\
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    print(len(sys.modules), file=sys.stderr)
"""
PAGE = """# Time to start

{runs} times each on {cores} cores ({processor}; load {load:.1f} at the start). Wall time depends on the load, CPU time
hardly. Cold: with the files of Python's packages dropped from the page cache. Made by
`python bench/startup.py -o bench/startup.md`.

| command | warm, s | CPU, s | cold, s | modules |
| --- | ---: | ---: | ---: | ---: |
{table}
"""


@dataclass(frozen=True)
class Taken:
    """The time of a command in seconds."""

    wall_s: float
    cpu_s: float


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=10)
    options = arguments.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(name, words, Path(folder), options.runs) for name, words in commands(Path(folder))]
    page = PAGE.format(runs=options.runs, cores=os.cpu_count(), processor=processor(), load=load, table="\n".join(rows))
    sys.stdout.write(page)
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    return 0


def commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Their names in the table, and their words after the interpreter; each finds the results of earlier ones."""
    command = str(COMMAND)
    (folder / "import.py").write_text("import dumbbell\n", encoding="utf-8")
    yield "`import dumbbell`", [str(folder / "import.py")]
    yield "`dumbbell --help`", [command, "--help"]
    yield "`dumbbell scenarios`", [command, "scenarios"]
    yield "`dumbbell run cyclic`", [command, "run", "cyclic", "--out", "run"]
    subprocess.run([command, "run", "cyclic", "--out", "kept"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    yield "`dumbbell stats RUN`", [command, "stats", "kept"]
    yield "`dumbbell plot RUN`", [command, "plot", "kept", "-o", "plot.svg"]
    yield "`dumbbell report RUN`", [command, "report", "kept", "-o", "page.html"]


def row(name: str, words: Sequence[str], folder: Path, runs: int) -> str:
    """One line of the table."""
    taken(words, folder)  # Compiles modules, and fills the page cache.
    warm = [taken(words, folder) for _ in range(runs)]
    wall_s, cpu_s = median(each.wall_s for each in warm), median(each.cpu_s for each in warm)
    drop_pages()
    cold = taken(words, folder)
    counted = subprocess.run(
        [sys.executable, "-c", COUNT, *fresh(words, folder)], cwd=folder, capture_output=True, text=True, check=False
    )
    modules = int(counted.stderr.split()[-1])
    return f"| {name} | {wall_s:.2f} | {cpu_s:.2f} | {cold.wall_s:.2f} | {modules} |"


def taken(words: Sequence[str], folder: Path) -> Taken:
    """Run it once."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = [sys.executable, *fresh(words, folder)]
    subprocess.run(done, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def fresh(words: Sequence[str], folder: Path) -> list[str]:
    """The words, with a new result folder each time."""
    free = next(name for number in range(10**6) if not (folder / (name := f"run-{number}")).exists())
    return [free if word == "run" and position > 1 else word for position, word in enumerate(words)]


def drop_pages() -> None:
    """Drop the pages of Python's packages and of ours from the page cache."""
    for base in (Path(sys.prefix), Path(sys.base_prefix), ROOT / "python"):
        for path in base.rglob("*"):
            if path.is_file():
                descriptor = os.open(path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
