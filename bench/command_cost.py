"""What a command of Dumbbell took, by the wall's clock and by the processors'; for the benches that type commands."""

import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Spent", "spent"]

COMMAND = Path(sys.executable).with_name("dumbbell")


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    wall_s: float
    cpu_s: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


def spent(*words: str | Path) -> Spent:
    """Run the command with all that it starts; a failure ends the benchmark with what it said."""
    began, before = time.perf_counter(), _cpu_s()
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dumbbell {' '.join(map(str, words))}: {done.stderr}")
    return Spent(time.perf_counter() - began, _cpu_s() - before)


def _cpu_s() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
