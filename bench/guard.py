"""Detect a slower simulator: compare the instructions of five short runs with guard.json.

    python bench/guard.py [--update]

A build executes the same instructions in every run, so a change of 5 % comes from the code. Counts depend on the
compiler: if rustc or the CPU architecture differs from the file, nothing is compared. `--update` rewrites the file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments import bench
from instructions import build_simulator, simulated

__all__ = ["MAX_GROWTH", "RUNS_S", "Stored", "counts", "mismatch", "stored"]

FILE = Path(__file__).with_name("guard.json")
RUNS_S = {"cyclic": 2.0, "hundred-cubic": 0.3, "ten-bbr": 0.1, "codel": 10.0, "many-1000": 0.2}
"""Virtual seconds of each run: a second or two under valgrind."""
MAX_GROWTH = 0.05


@dataclass(frozen=True)
class Stored:
    """The content of the file."""

    compiler: str
    machine: str
    instructions: Mapping[str, int]


def stored() -> Stored:
    """Read the file."""
    return Stored(**json.loads(FILE.read_text(encoding="utf-8")))


def compiler() -> str:
    """The compiler's name and version."""
    version = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout
    return " ".join(version.split()[:2])


def mismatch(file: Stored) -> str | None:
    """Why the counts cannot be compared on this host, or None."""
    here = (compiler(), os.uname().machine)
    there = (file.compiler, file.machine)
    return None if here == there else f"guard.json has {' on '.join(there)}, this host has {' on '.join(here)}"


def counts() -> dict[str, int]:
    """Count the instructions of each run."""
    build_simulator()
    with tempfile.TemporaryDirectory() as folder:
        return {name: simulated(bench(name), run_s, Path(folder))[0] for name, run_s in RUNS_S.items()}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--update", action="store_true")
    update = arguments.parse_args().update
    now = counts()
    before = stored().instructions if FILE.exists() else {}
    for name, instructions in now.items():
        change = f"{instructions / before[name] - 1:+.2%}" if name in before else "new"
        print(f"{name:15}{instructions:15,}  {change}")
    if update:
        file = Stored(compiler(), os.uname().machine, now)
        FILE.write_text(json.dumps(vars(file), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
