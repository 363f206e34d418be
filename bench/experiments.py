"""The experiments that every contestant of `peers.py` runs, and that `simulator.py` and `speed.py` time alone.

An experiment is its TOML file; nobody has its numbers a second time. What else a benchmark runs is its own.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from dumbbell.plan import as_world, plan_case
from dumbbell.spec import Case, find, load

__all__ = ["EXPERIMENTS", "MANY", "Bench", "bench"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Bench:
    """An experiment, and what it is in a line."""

    name: str
    file: str
    sets: tuple[str, ...]
    text: str
    which: int = 0
    """Of the file's cases."""

    def case(self, *sets: str) -> Case:
        """It, with some keys set otherwise."""
        return load(find(self.file), (*self.sets, *sets))[self.which]

    def world(self, *sets: str) -> str:
        """The same as the simulator's own program reads it, with seed 1."""
        return json.dumps(as_world(plan_case(self.case(*sets), 1), 1))


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
"""For the simulator alone: is it as fast with many flows?"""


def bench(name: str) -> Bench:
    """The experiment of this name."""
    return next(each for each in (*EXPERIMENTS, *MANY) if each.name == name)
