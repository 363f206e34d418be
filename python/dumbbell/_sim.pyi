"""The simulator as an extension, built from `crates/python`."""

from collections.abc import Callable
from pathlib import Path

VERSION: str
CONTROLLERS: list[str]

class Arrow:
    """A table that speaks Arrow's PyCapsule protocol."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Refused(ValueError):
    """The simulator can't carry out this plan."""

class Fault(RuntimeError):
    """The simulator broke a law of its own."""

def simulate(
    plan: str, progress: Callable[[float], None] | None = None, capture: Path | None = None
) -> tuple[Arrow, Arrow, Arrow, str]:
    """Carries a plan out: flows, queues, probes, and a report in JSON."""

def check(plan: str) -> None:
    """Can this plan be carried out? Raises `Refused` when not."""

def parameters(controller: str) -> list[tuple[str, str, str]]:
    """What can be set of a controller: name, default, and what it takes, of each parameter."""
