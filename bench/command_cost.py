"""Wall time and CPU time of `dumbbell` commands, for the benchmarks that run them."""

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
    """Wall time and CPU time of a command."""

    wall_s: float
    cpu_s: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


def spent(*arguments: str | Path) -> Spent:
    """Run a command and its child processes; a failure ends the benchmark with the command's stderr."""
    began, before = time.perf_counter(), _cpu_s()
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dumbbell {' '.join(map(str, arguments))}: {done.stderr}")
    return Spent(time.perf_counter() - began, _cpu_s() - before)


def _cpu_s() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
