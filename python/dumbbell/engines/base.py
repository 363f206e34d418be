"""The interface of an engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dumbbell.errors import ExperimentError, KernelError
from dumbbell.plan.inside import Inside
from dumbbell.spec.document import Case
from dumbbell.spec.qdisc import suggest

if TYPE_CHECKING:  # Of the engines that run programs; the simulator must not wait for them.
    from dumbbell.engines.program_results import Typed
    from dumbbell.engines.shell_session import Session

__all__ = ["Engine", "Progress", "Request", "check_controllers"]

Progress = Callable[[float], None]
"""Called periodically with the simulated seconds that have passed."""


@dataclass(frozen=True)
class Request:
    """A run to execute."""

    name: str
    """Name of the scenario or file."""
    case: Case
    seed: int
    out: Path
    """The result folder; it must not exist."""
    command: str = ""
    """The command that reproduces the run."""
    capture: Path | None = None
    """A file for the run's packets; it must not exist."""
    inside: Inside = field(default_factory=Inside)
    """Optional recordings, if the engine supports them."""
    typed: "Typed | None" = None
    """Programs whose commands the user typed."""
    session: "Session | None" = None
    """One of the typed programs is an interactive shell."""
    notice: Callable[[str], None] = lambda _: None
    """Called, from any thread, with a message for the user while the experiment runs."""


class Engine(Protocol):
    """Runs an experiment and writes a result folder."""

    name: str
    real_time: bool
    """Do concurrent runs disturb each other?"""

    def check(self, request: Request) -> None:
        """Plan the run without starting it; raises the errors that `run` raises before it starts anything."""
        ...

    def run(self, request: Request, progress: Progress) -> Path:
        """Run it; returns the folder.

        Raises `EngineError` if there is no result, `OutputError` if the folder can't be written.
        """
        ...


def check_controllers(request: Request, known: Sequence[str], owner: str, elsewhere: str = "") -> None:
    """Raises `ExperimentError` for a congestion control that is not in `known`."""
    for number, group in enumerate(request.case.experiment.flows):
        if group.cc is not None and group.cc not in known:
            raise ExperimentError(
                f"{owner} has no congestion control with this name",
                file=str(request.case.file),
                key=f"flows.{number}.cc",
                value=group.cc,
                right=_kernels_with(group.cc)
                or "; ".join(part for part in (suggest(group.cc, list(known)), elsewhere) if part),
            )


def _kernels_with(name: str) -> str:
    """Advice: stored kernels with a congestion control that this engine lacks; empty if there are none."""
    from dumbbell.kernels.features import holders  # noqa: PLC0415 — only for an error

    try:
        names = [kernel.name for kernel in holders({name})]
    except KernelError:
        return ""
    if not names:
        return ""
    if len(names) == 1:
        return f"kernel '{names[0]}' has it: add --kernel {names[0]}"
    return f"these kernels have it: {', '.join(names)}; add --kernel with one of them"
