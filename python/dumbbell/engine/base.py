"""What every engine offers: one verb."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dumbbell.spec.document import Case

__all__ = ["Engine", "Progress", "Request"]

Progress = Callable[[float], None]
"""Called now and then with the seconds of the experiment that have passed."""


@dataclass(frozen=True)
class Request:
    """One run that somebody wants."""

    name: str
    """Of the scenario or file."""
    case: Case
    seed: int
    out: Path
    """The result folder; it must not exist."""
    command: str = ""
    """What a person would type to get the same again."""


class Engine(Protocol):
    """Runs an experiment and leaves a result folder."""

    name: str

    def run(self, request: Request, progress: Progress) -> Path:
        """Run it; returns the folder.

        Raises `EngineError` when there is no result, `OutputError` when it can't be put there.
        """
        ...
