"""Dumbbell beside its peers: speed, memory, instructions, and how near each comes to the real kernel.

    python bench/peers.py [-o docs/benchmarks.md] [--runs 7] [--quick] [NAME...]

The same experiments (`experiments.py`) on our simulator, our kernel engine and every build of ns-3 that is here
(`scripts/ns3.sh`). Contestants take turns, round by round, and round N has seed N: a ratio is of two runs of one round,
so what else the machine does meets both. A run of ns-3 is stopped after `LIMIT_S`, in the first round after
`PATIENCE_S`, and counts with what it did until then. Each run has a process of its own. `peers_page` writes the page.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, Bench
from instructions import SPANS_S, of_ns3, of_simulator
from ns3_peer import Ns3, builds, output
from peers_page import Figures, page, why

HERE = Path(__file__).parent
LIMIT_S = 10
PATIENCE_S = 45
QUICK_RUNS, QUICK_LIMIT_S = 2, 3


@dataclass(frozen=True)
class Contestant:
    """Who runs experiments."""

    name: str
    run: Callable[[Bench, int, int], dict[str, Any]]
    """An experiment with a seed, for so many wall seconds at most where it may take long."""
    instructions: Callable[[Bench, Path], float] | None
    """Instructions a data packet; None where nobody can count them."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="experiments; all unless told otherwise")
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=7, help="rounds (7)")
    arguments.add_argument("--quick", action="store_true", help="two rounds, short limits, nothing counted by valgrind")
    asked = arguments.parse_args()
    peers = builds()
    if not peers:
        sys.exit("no ns-3 here: run scripts/setup.sh bench, then scripts/ns3.sh")
    for peer in peers:
        peer.build()
    everybody = contestants(peers)
    benches = [bench for bench in EXPERIMENTS if not asked.names or bench.name in asked.names]
    began = datetime.now(UTC)
    rounds = QUICK_RUNS if asked.quick else asked.runs
    limits_s = (QUICK_LIMIT_S, QUICK_LIMIT_S) if asked.quick else (PATIENCE_S, LIMIT_S)
    runs = {bench.name: raced(bench, everybody, rounds, limits_s) for bench in benches}
    instructions = {} if asked.quick else {bench.name: counted(bench, everybody) for bench in benches}
    figures = Figures(began, benches, [each.name for each in everybody], runs, instructions, peers)
    text = page(figures, limits_s, why(asked.output))
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    return 0


def contestants(peers: list[Ns3]) -> list[Contestant]:
    """The simulator first: ratios are to it."""
    return [
        Contestant(
            "simulator", partial(ours, "sim"), lambda bench, room: of_simulator(bench, SPANS_S[bench.name], room)
        ),
        Contestant("kernel engine", partial(ours, "kernel"), None),
        *(Contestant(peer.name, partial(theirs, peer), partial(counted_of, peer)) for peer in peers),
    ]


def ours(engine: str, bench: Bench, seed: int, _limit_s: int) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(output([sys.executable, HERE / "one_run.py", engine, bench.name, str(seed)]))
    return told


def theirs(peer: Ns3, bench: Bench, seed: int, limit_s: int) -> dict[str, Any]:
    return peer.run(bench.case(), seed, limit_s)


def counted_of(peer: Ns3, bench: Bench, room: Path) -> float:
    return of_ns3(peer, bench, SPANS_S[bench.name], room)


def raced(
    bench: Bench, everybody: list[Contestant], rounds: int, limits_s: tuple[int, int]
) -> dict[str, list[dict[str, Any]]]:
    """All runs of an experiment, by contestant, in the order of the rounds; limits: the first round's, the others'."""
    runs: dict[str, list[dict[str, Any]]] = {each.name: [] for each in everybody}
    for number in range(1, rounds + 1):
        limit_s = limits_s[min(number, 2) - 1]
        for each in everybody:
            told = each.run(bench, number, limit_s)
            runs[each.name].append(told)
            said = f"{told['wall_s']:.3f} s, {told['packets']:,} packets, {told['reached_s']:.3f} virtual s"
            print(f"{bench.name} {number}/{rounds} {each.name}: {said}", file=sys.stderr)
    return runs


def counted(bench: Bench, everybody: list[Contestant]) -> dict[str, float]:
    """Instructions a data packet, by contestant."""
    with tempfile.TemporaryDirectory() as folder:
        found = {each.name: each.instructions(bench, Path(folder)) for each in everybody if each.instructions}
    print(f"{bench.name}: instructions a packet: {found}", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
