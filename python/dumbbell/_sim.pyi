"""The simulator as an extension, built from `crates/python`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSION: str
CONTROLLERS: list[str]

class Arrow:
    """A table that speaks Arrow's PyCapsule protocol."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def columns(self) -> list[str]:
        """The columns' names, in order."""

    def column(self, name: str) -> tuple[Numbers, Numbers | None]:
        """A column of numbers, and which are known; None: all. Raises `KeyError`."""

    def cell(self, name: str, row: int) -> Any:
        """One value; None where it is not known."""

    def last(self, name: str) -> dict[str, int]:
        """The last row of each name that a column of names has."""

    def names(self, name: str) -> tuple[Numbers, Numbers | None, list[str]]:
        """A column of names: codes, which are known, and the names that they stand for. Raises `KeyError`."""

class Numbers:
    """Numbers in a row, or truths: `numpy.asarray(numbers)` is an array of the same memory."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class Refused(ValueError):
    """The simulator can't carry out this plan."""

class Outgrown(RuntimeError):
    """A run holds more than it may: the seconds of the experiment that have passed, and the bytes."""

class Fault(RuntimeError):
    """The simulator broke a law of its own."""

def simulate(
    plan: str,
    progress: Callable[[float], None] | None = None,
    capture: Path | None = None,
    most_bytes: int | None = None,
) -> tuple[Arrow, Arrow, Arrow, str]:
    """Carries a plan out: flows, queues, probes, and a report in JSON."""

def journeys(
    plan: str,
    start: int,
    stop: int,
    most_rows: int,
    progress: Callable[[float], None] | None = None,
    most_bytes: int | None = None,
) -> tuple[Arrow, int]:
    """Where packets were that were under way in a window (ns): the first `most_rows`, and how many more there were."""

def check(plan: str) -> None:
    """Can this plan be carried out? Raises `Refused` when not."""

def parameters(controller: str) -> list[tuple[str, str, str]]:
    """What can be set of a controller: name, default, and what it takes, of each parameter."""
