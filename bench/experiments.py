"""The experiments of `peers.py`, `simulator.py` and `speed.py`, and where benchmarks keep their figures as JSON."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.plan import plan_case
from dumbbell.spec import Case, find, load

__all__ = ["EXPERIMENTS", "HERE", "MANY", "Bench", "bench", "fill", "rendered", "table", "write_results"]

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from studies.study import fill, rendered, table, write_figures  # noqa: E402


@dataclass(frozen=True)
class Bench:
    """An experiment with a one-line description."""

    name: str
    file: str
    sets: tuple[str, ...]
    text: str
    which: int = 0
    """The index of the case in the file."""

    def case(self, *sets: str) -> Case:
        """The case, with some keys replaced."""
        return load(find(self.file), (*self.sets, *sets))[self.which]

    def simulated(self, *sets: str) -> _sim.SimulatorPlan:
        """The simulator's plan of the case with seed 1."""
        return plan_case(self.case(*sets), 1).for_simulator(1)

    def toml(self, *sets: str) -> str:
        """The experiment's file."""
        return _sim.write_toml(self.case(*sets).experiment.document())


EXPERIMENTS = (
    Bench("cyclic", "cyclic", ("duration=60s",), "60 s, 2 BBR and 2 CUBIC flows, 80 Mbit/s, sampled every 10 ms"),
    Bench(
        "hundred-cubic",
        str(HERE / "hundred-cubic.toml"),
        (),
        "10 s, 100 CUBIC flows, 1 Gbit/s, sampled every 100 ms",
    ),
    Bench("ten-bbr", str(HERE / "ten-bbr.toml"), (), "5 s, 10 BBR flows, 10 Gbit/s, sampled every 10 ms"),
    Bench("codel", str(HERE / "codel.toml"), (), "60 s, one CUBIC flow, 10 Mbit/s with CoDel, sampled every 10 ms"),
)

FLOWS = str(HERE / "many-flows.toml")
MANY = (
    Bench("many-10", FLOWS, (), "3 s, 10 CUBIC flows, 10 Gbit/s, 100 ms"),
    Bench("many-1000", FLOWS, (), "the same with 1,000", 1),
    Bench("many-10000", FLOWS, (), "the same with 10,000", 2),
)
"""For the simulator only: the cost of many flows."""


def bench(name: str) -> Bench:
    """The experiment called `name`."""
    return next(each for each in (*EXPERIMENTS, *MANY) if each.name == name)


def write_results(name: str, figures: Mapping[str, Any]) -> None:
    """Write `results/NAME.json`: docs/claims.toml compares pages with it."""
    write_figures(name, figures, HERE / "results")
