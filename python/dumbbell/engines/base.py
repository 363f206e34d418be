"""The interface of an engine: what it is asked, what it reports, and what it may start only with the user's permission.

A file may be untrusted. By itself it starts only the simulator and kernels built on this host, which reach
nothing outside. The user permits anything else: the host's own kernel by `--engine host`, each ssh destination by
`--hosts`, a kernel by its path. In Python these are arguments of the call.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell.errors import ExperimentError, KernelError
from dumbbell.plan.inside import Inside
from dumbbell.spec.document import Case, split_setting, ssh_destinations
from dumbbell.spec.units import suggest

if TYPE_CHECKING:
    from dumbbell.engines.programs import Typed
    from dumbbell.engines.shell_session import Session

__all__ = [
    "NOTHING",
    "Engine",
    "Permissions",
    "Progress",
    "Request",
    "check_controllers",
    "kernels_set",
    "permitted",
]


HOST = "host"


@dataclass(frozen=True)
class Permissions:
    """What the user permits; can be sent to other processes."""

    host: bool = False
    """May the engine `host` run?"""
    hosts: tuple[str, ...] = ()
    """Permitted ssh destinations, sorted."""
    kernels: tuple[str, ...] = ()
    """Permitted paths of kernels, which are programs of this host."""

    def check_engine(self, name: str, key: str) -> None:
        """Raises `ExperimentError` if this engine is not permitted."""
        if name == HOST and not self.host:
            raise ExperimentError(
                "the host's own kernel and ssh need the user's permission", key=key, value=name,
                right='add --engine host if you trust the file (in Python: engine="host")',
            )  # fmt: skip

    def check_kernel(self, name: str | None, key: str) -> None:
        """Raises `ExperimentError` if this kernel is not permitted."""
        if name is not None and "/" in name and name not in self.kernels:
            raise ExperimentError(
                "a kernel given by its path needs the user's permission", key=key, value=name,
                right=f"use the name of a kernel (dumbbell kernel list), or add --set kernel={name} if you trust it",
            )  # fmt: skip

    def check_hosts(self, case: Case) -> None:
        """Raises `ExperimentError` if the experiment's hosts are not permitted."""
        named = ssh_destinations(case.experiment)
        if set(named) == set(self.hosts):
            return
        file, these = str(case.file), ",".join(named)
        if not named:
            raise ExperimentError(
                "the experiment names no real hosts", file=file, key="--hosts", value=",".join(self.hosts),
                right="leave it out: the experiment runs in namespaces of this host",
            )  # fmt: skip
        raise ExperimentError(
            f"the file names the ssh hosts {', '.join(named)}, but --hosts permits {', '.join(self.hosts) or 'none'}",
            file=file, key="hosts",
            right=f"add --hosts {these} if you trust the file with these hosts (in Python: hosts={list(named)!r})",
        )  # fmt: skip


NOTHING = Permissions()
"""What a file may do without permission."""


def permitted(
    engines: Iterable[str] = (), hosts: str | Iterable[str] | None = None, kernels: Iterable[str | None] = ()
) -> Permissions:
    """The permissions given by these options; `hosts` in the syntax of `--hosts`. Raises `ExperimentError`."""
    parts = hosts.split(",") if isinstance(hosts, str) else (hosts or ())
    names = tuple(sorted({part.strip() for part in parts} - {""}))
    may_host = HOST in engines
    if names and not may_host:
        raise ExperimentError(
            "only the engine 'host' can use real hosts", key="--hosts", value=",".join(names), right="add --engine host"
        )
    return Permissions(may_host, names, tuple(sorted({kernel for kernel in kernels if kernel})))


def kernels_set(settings: Iterable[str]) -> list[str]:
    """The kernels given by `--set kernel=…`. Raises `ExperimentError`."""
    values: list[Any] = [value for key, value in map(split_setting, settings) if key == "kernel"]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, str)]


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
