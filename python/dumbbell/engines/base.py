"""The interface of an engine: what it is asked, what it reports, and what it may start only with the user's permission.

A file may be untrusted. By itself it starts only the simulator and kernels built on this host, which reach
nothing outside. The user permits anything else: the host's own kernel by `--engine host`, each ssh destination by
`--hosts`, a kernel by its path. In Python these are arguments of the call.

Callers get here an engine by its name, seeds, a folder's name, and the command that repeats a run. `dumbbell.cli.runs`
starts the runs.
"""

import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell import engines
from dumbbell.errors import ExperimentError, KernelError, OutputError
from dumbbell.plan.recordings import RecordingOptions
from dumbbell.spec.document import Case, distinct, split_setting, ssh_destinations
from dumbbell.spec.document import seeds as parse_seeds
from dumbbell.spec.units import Wrong, suggest

if TYPE_CHECKING:
    from dumbbell.engines.programs import Typed
    from dumbbell.engines.shell_session import Session
    from dumbbell.results.result import Run

__all__ = [
    "ENGINES",
    "NOTHING",
    "Engine",
    "Permissions",
    "Progress",
    "Request",
    "check_controllers",
    "default_folder",
    "engine_called",
    "kernels_set",
    "permitted",
    "plain",
    "repeat_command",
    "run_names",
    "runs_folder",
    "seeds_of",
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
"""Called periodically with the simulated seconds that have passed, and between the steps of a run; raises to end it."""


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
    recordings: RecordingOptions = field(default_factory=RecordingOptions)
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

    def run_and_keep(self, request: Request, progress: Progress) -> "Run":
        """The same; returns what `result.load` would read from the folder."""
        ...


def check_controllers(request: Request, known: Sequence[str], owner: str, elsewhere: str = "") -> None:
    """Raises `ExperimentError` for a congestion control that is not in `known`."""
    for number, group in enumerate(request.case.experiment.flows):
        if group.kind == "tcp" and group.cc is not None and group.cc not in known:
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


ENGINES = ("sim", "kernel", "host")


def default_folder(name: str) -> Path:
    """The default result folder: a new one below `runs/`. Raises `OutputError` like `runs_folder`."""
    return runs_folder() / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def runs_folder() -> Path:
    """`runs/` in the current folder. Raises `OutputError` if it is a link, which may lead anywhere."""
    folder = Path("runs")
    if folder.is_symlink():
        raise OutputError(
            f"{folder}: is a link to {folder.readlink()}, but default results need a folder here; "
            "remove the link, or name a folder with --out"
        )
    return folder


def plain(text: str) -> str:
    """The text as a folder name: no path separators or shell characters; may be empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80]


def repeat_command(
    scenario: str, engine: str, seed: int, settings: Sequence[str], kernel: str | None = None,
    hosts: Sequence[str] = (), case: str | None = None,
) -> str:  # fmt: skip
    """The command that reproduces a run; without a `case`, all cases."""
    words = ["dumbbell", "run", scenario, "--engine", engine, "--seed", str(seed)]
    words += ["--hosts", ",".join(hosts)] if hosts and engine == "host" else []
    words += ["--kernel", kernel] if kernel else []
    words += ["--case", case] if case else []
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])


def engine_called(
    name: str, kernel: str | None, key: str = "--engine", *, allowed: Permissions = NOTHING,
    wall_limit_s: float | None = None,
) -> Engine:  # fmt: skip
    """Create an engine by name; `key` is the option or key that selected it, `allowed` what the user permits.

    Raises `DumbbellError` if there is no such engine, or if it is not permitted.
    """
    if name == "kernel":
        allowed.check_kernel(kernel, "kernel")
        return engines.KernelEngine(kernel, wall_limit_s=wall_limit_s)
    if name not in ENGINES:
        raise ExperimentError("unknown engine", key=key, value=name, right=f"available: {', '.join(ENGINES)}")
    if kernel is not None:
        runs = "the simulator runs no kernel" if name == "sim" else "the engine 'host' uses the running kernel"
        raise ExperimentError(runs, key="--kernel", value=kernel, right="use --engine kernel")
    if name == "host":
        return engines.HostEngine(allowed, wall_limit_s=wall_limit_s, key=key)
    if wall_limit_s is not None:
        raise ExperimentError("the simulator has no wall time limit", key="--wall-limit", right="use --engine kernel")
    return engines.Simulator()


def seeds_of(text: str | None, key: str) -> tuple[int, ...] | None:
    """The seeds of an option; None if it is not given."""
    if text is None:
        return None
    try:
        return parse_seeds(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None


def run_names(cases: Sequence[tuple[Case, int]]) -> list[str]:
    """A unique folder name for each run, different from the result's own files."""
    many_seeds = len({number for _, number in cases}) > 1
    tails = (f"-seed{number}" if many_seeds else "" for _, number in cases)
    names = ((plain(case.name) or "run") + tail for (case, _), tail in zip(cases, tails, strict=True))
    return distinct(names, own=("run.json", "sweep.json"))
