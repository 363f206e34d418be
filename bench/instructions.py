"""Count instructions a data packet by valgrind, as the difference of two runs, which excludes start-up.

The simulator is counted as `crates/dumbbell/src/bin/time_run.rs`, the same code without Python. A guest is not counted:
valgrind does not run programs that trace others, and few virtual machines expose CPU counters.
"""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from experiments import Bench
from ns3_peer import ROOT, Ns3, arguments, output

from dumbbell.plan import plan_case

__all__ = ["SPANS_S", "Count", "a_packet", "build_simulator", "of_ns3", "of_simulator", "simulated"]

SPANS_S = {"cyclic": (1.0, 2.0), "hundred-cubic": (0.15, 0.25), "ten-bbr": (0.05, 0.09), "codel": (5.0, 10.0)}
"""The counted span in virtual seconds: short, because valgrind is some 50 times slower, and ns-3 must reach its end."""
TIME_RUN = ROOT / "target" / "wheel" / "time_run"

Count = tuple[int, int]
"""Instructions and data packets of one run."""


def a_packet(shorter: Count, longer: Count) -> float:
    """Instructions a data packet in the part that only the longer run has."""
    return (longer[0] - shorter[0]) / (longer[1] - shorter[1])


def of_simulator(bench: Bench, span_s: tuple[float, float], folder: Path) -> float:
    """Instructions a data packet of the simulator between two virtual times."""
    build_simulator()
    return a_packet(*(simulated(bench, duration_s, folder) for duration_s in span_s))


def build_simulator() -> None:
    """Build the simulator without Python, with the profile of the extension."""
    build = ["cargo", "build", "--profile", "wheel", "--quiet", "--locked", "-p", "dumbbell", "--bin", "time_run"]
    subprocess.run(build, check=True, cwd=ROOT)


def simulated(bench: Bench, duration_s: float, folder: Path) -> Count:
    """One run of the simulator, seed 1."""
    file = folder / f"{bench.name}-{duration_s}.toml"
    file.write_text(bench.toml(f"duration={duration_s * 1e3:.0f}ms"), encoding="utf-8")
    instructions, printed = counted([TIME_RUN, file], folder)
    return instructions, int(re.findall(r"(\d+) data packets", printed)[0])


def of_ns3(peer: Ns3, bench: Bench, span_s: tuple[float, float], folder: Path) -> float:
    """Instructions a data packet of a build of ns-3."""
    counts = []
    for duration_s in span_s:
        case = bench.case(f"duration={duration_s * 1e3:.0f}ms")
        instructions, printed = counted([peer.program, *arguments(case, plan_case(case, 1), 1)], folder)
        counts.append((instructions, sum(json.loads(printed)["segments"])))
    return a_packet(*counts)


def counted(command: Sequence[str | Path], folder: Path) -> tuple[int, str]:
    """Instructions of a program, and its output."""
    counts = folder / "cachegrind.out"
    counts.unlink(missing_ok=True)
    valgrind = ["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counts}"]
    printed = output([*valgrind, *command])
    return total(counts.read_text(encoding="utf-8", errors="replace")), printed


def total(text: str) -> int:
    """The total of a cachegrind file. Raises `ValueError` if it has none."""
    for line in reversed(text.splitlines()):
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise ValueError("a cachegrind file without a summary")
