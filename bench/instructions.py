"""Instructions a data packet, counted by valgrind: by how much two runs differ, so that starting counts for nothing.

The simulator is counted as `crates/sim/src/bin/time_plan.rs`, the same code without Python around it. Nobody counts a
guest here: valgrind carries no program that traces others, and a processor's own counters are not to be had everywhere.
"""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from experiments import Bench
from ns3_peer import ROOT, Ns3, output, words

from dumbbell.plan import plan_case

__all__ = ["SPANS_S", "Count", "a_packet", "build_simulator", "of_ns3", "of_simulator", "simulated"]

SPANS_S = {"cyclic": (1.0, 2.0), "hundred-cubic": (0.15, 0.25), "ten-bbr": (0.05, 0.09), "codel": (5.0, 10.0)}
"""Virtual seconds from and to which it is counted: valgrind is some 50 times slower, and ns-3 shall be done too."""
TIME_PLAN = ROOT / "target" / "wheel" / "time_plan"

Count = tuple[int, int]
"""Instructions and data packets of a whole run."""


def a_packet(shorter: Count, longer: Count) -> float:
    """Instructions a data packet, of what the longer run has beyond the shorter."""
    return (longer[0] - shorter[0]) / (longer[1] - shorter[1])


def of_simulator(bench: Bench, span_s: tuple[float, float], folder: Path) -> float:
    """Our simulator's, from one virtual time to another."""
    build_simulator()
    return a_packet(*(simulated(bench, duration_s, folder) for duration_s in span_s))


def build_simulator() -> None:
    """The simulator without Python around it, made as the extension is."""
    build = ["cargo", "build", "--profile", "wheel", "--quiet", "--locked", "-p", "dumbbell-sim", "--bin", "time_plan"]
    subprocess.run(build, check=True, cwd=ROOT)


def simulated(bench: Bench, duration_s: float, folder: Path) -> Count:
    """A whole run of our simulator, seed 1."""
    plan = folder / f"{bench.name}-{duration_s}.json"
    plan.write_text(bench.world(f"duration={duration_s * 1e3:.0f}ms"), encoding="utf-8")
    instructions, said = counted([TIME_PLAN, plan], folder)
    return instructions, int(re.findall(r"(\d+) data packets", said)[0])


def of_ns3(peer: Ns3, bench: Bench, span_s: tuple[float, float], folder: Path) -> float:
    """A build of ns-3's."""
    counts = []
    for duration_s in span_s:
        case = bench.case(f"duration={duration_s * 1e3:.0f}ms")
        instructions, said = counted([peer.program, *words(case, plan_case(case, 1), 1)], folder)
        counts.append((instructions, sum(json.loads(said)["segments"])))
    return a_packet(*counts)


def counted(command: Sequence[str | Path], folder: Path) -> tuple[int, str]:
    """Instructions of a program, and what it printed."""
    told = folder / "cachegrind.out"
    told.unlink(missing_ok=True)
    valgrind = ["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={told}"]
    said = output([*valgrind, *command])
    return total(told.read_text(encoding="utf-8", errors="replace")), said


def total(text: str) -> int:
    """All instructions of a cachegrind file. Raises `ValueError` where it doesn't say."""
    for line in reversed(text.splitlines()):
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise ValueError("a cachegrind file without a summary")
