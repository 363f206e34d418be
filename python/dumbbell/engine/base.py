"""What every engine offers: one verb."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dumbbell.engine.programs import Typed
from dumbbell.engine.session import Session
from dumbbell.errors import ExperimentError, KernelError
from dumbbell.kernel import kernels
from dumbbell.plan.inside import Inside
from dumbbell.spec.document import Case
from dumbbell.spec.qdisc import suggest

__all__ = ["Engine", "Progress", "Request", "check_controllers"]

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
    capture: Path | None = None
    """A file for the run's packets; it must not exist."""
    inside: Inside = field(default_factory=Inside)
    """What else to look at, where the engine can."""
    typed: Typed | None = None
    """Programs whose commands somebody typed."""
    session: Session | None = None
    """One of the typed programs is a shell that somebody uses while the experiment runs."""
    notice: Callable[[str], None] = lambda _: None
    """Called, from any thread, with a sentence that the user should read while the experiment runs."""


class Engine(Protocol):
    """Runs an experiment and leaves a result folder."""

    name: str
    real_time: bool
    """Do runs side by side disturb each other?"""

    def check(self, request: Request) -> None:
        """Plan it and nothing more; raises what `run` would raise before it starts anything."""
        ...

    def run(self, request: Request, progress: Progress) -> Path:
        """Run it; returns the folder.

        Raises `EngineError` when there is no result, `OutputError` when it can't be put there.
        """
        ...


def check_controllers(request: Request, known: Sequence[str], owner: str, elsewhere: str = "") -> None:
    """Is every controller that was asked for among those that `owner` has? Raises `ExperimentError`."""
    for number, group in enumerate(request.case.experiment.flows):
        if group.cc is not None and group.cc not in known:
            raise ExperimentError(
                f"{owner} has no congestion control of this name",
                file=str(request.case.file),
                key=f"flows.{number}.cc",
                value=group.cc,
                right=_held(group.cc)
                or "; ".join(part for part in (suggest(group.cc, list(known)), elsewhere) if part),
            )


def _held(name: str) -> str:
    """Which stored kernels have a controller of this name because somebody added it; nothing where none has."""
    try:
        holders = [kernel.name for kernel in kernels() if any(name in added.names for added in kernel.added)]
    except KernelError:
        return ""
    if not holders:
        return ""
    if len(holders) == 1:
        return f"kernel '{holders[0]}' has it: add --kernel {holders[0]}"
    return f"these kernels have it: {', '.join(holders)}; add --kernel with one of them"
