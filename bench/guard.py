"""Did the simulator become slower? Instructions of five short runs, beside those in guard.json.

    python bench/guard.py [--update]

Instructions are the same in every run of one build, so a change of 5 % is one of the code. Another compiler has others:
where rustc or the processor's kind is not the one of the file, nothing is compared. `--update` writes the file anew.
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

__all__ = ["MOST_GROWTH", "RUNS_S", "Kept", "counts", "kept", "stranger"]

FILE = Path(__file__).with_name("guard.json")
RUNS_S = {"cyclic": 2.0, "hundred-cubic": 0.3, "ten-bbr": 0.1, "codel": 10.0, "many-1000": 0.2}
"""Virtual seconds of each: a second or two under valgrind."""
MOST_GROWTH = 0.05


@dataclass(frozen=True)
class Kept:
    """What the file says."""

    compiler: str
    machine: str
    instructions: Mapping[str, int]


def kept() -> Kept:
    """The file."""
    return Kept(**json.loads(FILE.read_text(encoding="utf-8")))


def compiler() -> str:
    """The compiler's name and version."""
    said = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout
    return " ".join(said.split()[:2])


def stranger(file: Kept) -> str | None:
    """Why nothing can be compared here, if so."""
    here = (compiler(), os.uname().machine)
    told = (file.compiler, file.machine)
    return None if here == told else f"guard.json is of {' on '.join(told)}, and this is {' on '.join(here)}"


def counts() -> dict[str, int]:
    """Instructions of each run, now."""
    build_simulator()
    with tempfile.TemporaryDirectory() as folder:
        return {name: simulated(bench(name), run_s, Path(folder))[0] for name, run_s in RUNS_S.items()}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--update", action="store_true")
    update = arguments.parse_args().update
    now = counts()
    before = kept().instructions if FILE.exists() else {}
    for name, instructions in now.items():
        change = f"{instructions / before[name] - 1:+.2%}" if name in before else "new"
        print(f"{name:15}{instructions:15,}  {change}")
    if update:
        file = Kept(compiler(), os.uname().machine, now)
        FILE.write_text(json.dumps(vars(file), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
