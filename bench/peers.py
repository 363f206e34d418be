"""Compare Dumbbell with ns-3: speed, memory, instructions, and the difference from the real kernel.

    python bench/peers.py [-o docs/results/benchmarks.md] [--runs 7] [--quick] [NAME...]

Runs the same experiments (`experiments.py`) on the simulator, the kernel engine and each installed build of ns-3
(`scripts/ns3.sh`). Contestants alternate, round by round, and round N has seed N. Ratios compare runs of one round, so
that other load of the host affects both. A run of ns-3 is stopped after `LIMIT_S`, in the first round after
`TIMEOUT_S`, and counts with the virtual time reached. Each run has its own process. `peers_page` writes the page;
`-o` also writes `results/peers.json`.
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

from experiments import EXPERIMENTS, Bench, fill, write_results
from instructions import SPANS_S, of_ns3, of_simulator
from ns3_peer import Ns3, builds, output
from peers_page import Figures, numbers, page

HERE = Path(__file__).parent
LIMIT_S = 10
TIMEOUT_S = 45
QUICK_RUNS, QUICK_LIMIT_S = 2, 3


@dataclass(frozen=True)
class Contestant:
    """One engine or build of ns-3."""

    name: str
    run: Callable[[Bench, int, int], dict[str, Any]]
    """Run an experiment with a seed and a limit of wall seconds."""
    instructions: Callable[[Bench, Path], float] | None
    """Instructions a data packet; None if they cannot be counted."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="experiments (all)")
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--runs", type=int, default=7, help="rounds (7)")
    arguments.add_argument("--quick", action="store_true", help="two rounds, short limits, no valgrind")
    options = arguments.parse_args()
    peers = builds()
    if not peers:
        sys.exit("ns-3 is not installed: run scripts/setup.sh bench, then scripts/ns3.sh")
    for peer in peers:
        peer.build()
    all_contestants = contestants(peers)
    benches = [bench for bench in EXPERIMENTS if not options.names or bench.name in options.names]
    began = datetime.now(UTC)
    rounds = QUICK_RUNS if options.quick else options.runs
    limits_s = (QUICK_LIMIT_S, QUICK_LIMIT_S) if options.quick else (TIMEOUT_S, LIMIT_S)
    runs = {bench.name: measured(bench, all_contestants, rounds, limits_s) for bench in benches}
    instructions = {} if options.quick else {bench.name: counted(bench, all_contestants) for bench in benches}
    figures = Figures(began, benches, [each.name for each in all_contestants], runs, instructions, peers)
    text = page(figures, limits_s)
    print(text)
    if options.output:
        fill(options.output, "study of peers", text)
        write_results("peers", numbers(figures))
    return 0


def contestants(peers: list[Ns3]) -> list[Contestant]:
    """The simulator comes first: ratios refer to it."""
    return [
        Contestant(
            "simulator", partial(ours, "sim"), lambda bench, folder: of_simulator(bench, SPANS_S[bench.name], folder)
        ),
        Contestant("kernel engine", partial(ours, "kernel"), None),
        *(Contestant(peer.name, partial(theirs, peer), partial(counted_of, peer)) for peer in peers),
    ]


def ours(engine: str, bench: Bench, seed: int, _limit_s: int) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(output([sys.executable, HERE / "one_run.py", engine, bench.name, str(seed)]))
    return figures


def theirs(peer: Ns3, bench: Bench, seed: int, limit_s: int) -> dict[str, Any]:
    return peer.run(bench.case(), seed, limit_s)


def counted_of(peer: Ns3, bench: Bench, folder: Path) -> float:
    return of_ns3(peer, bench, SPANS_S[bench.name], folder)


def measured(
    bench: Bench, all_contestants: list[Contestant], rounds: int, limits_s: tuple[int, int]
) -> dict[str, list[dict[str, Any]]]:
    """All runs of an experiment, by contestant and round; `limits_s` of the first round and of the others."""
    runs: dict[str, list[dict[str, Any]]] = {each.name: [] for each in all_contestants}
    for number in range(1, rounds + 1):
        limit_s = limits_s[min(number, 2) - 1]
        for each in all_contestants:
            run = each.run(bench, number, limit_s)
            runs[each.name].append(run)
            cost = f"{run['wall_s']:.3f} s, {run['packets']:,} packets, {run['reached_s']:.3f} virtual s"
            print(f"{bench.name} {number}/{rounds} {each.name}: {cost}", file=sys.stderr)
    return runs


def counted(bench: Bench, all_contestants: list[Contestant]) -> dict[str, float]:
    """Instructions a data packet, by contestant."""
    with tempfile.TemporaryDirectory() as folder:
        found = {each.name: each.instructions(bench, Path(folder)) for each in all_contestants if each.instructions}
    print(f"{bench.name}: instructions a packet: {found}", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
