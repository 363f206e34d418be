"""The experiments that every contestant of `peers.py` runs, and that `simulator.py` and `speed.py` time alone.

An experiment is its TOML file; nobody has its numbers a second time. What else a benchmark runs is its own.
"""

from dataclasses import dataclass
from pathlib import Path

from dumbbell.spec import Case, find, load

__all__ = ["EXPERIMENTS", "Bench", "bench"]

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


def bench(name: str) -> Bench:
    """The experiment of this name."""
    return next(each for each in EXPERIMENTS if each.name == name)
