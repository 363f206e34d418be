"""One run of a sweep as a small, picklable value that any process on any host can run.

`Base` has the data that all runs share and is sent once; `Task` has the data of one run. `task_runner` computes a `Row`
from both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dumbbell.engines.base import NOTHING, Permissions
from dumbbell.engines.kernel_choice import kernel_for
from dumbbell.errors import DumbbellError
from dumbbell.kernels.store import requested_name
from dumbbell.plan import plan_case
from dumbbell.results.result import Run
from dumbbell.spec.axes import Point
from dumbbell.spec.sweep import ABOUT_THE_RUN, Sweep, case_at, settings_at

__all__ = ["Base", "Reading", "Row", "Status", "Task", "base_of", "tasks_at"]

Status = Literal["ok", "invalid", "failed"]


@dataclass(frozen=True)
class Base:
    """The data that all runs of a sweep share."""

    name: str
    experiment: Mapping[str, Any]
    """The experiment document, before settings."""
    file: Path
    """Path of the experiment; referenced files are relative to its folder."""
    metrics: tuple[str, ...]
    window: tuple[int, int | None] | None
    read: "Reading | None" = None
    """A function of a module that takes the numbers from a run instead of `metrics`."""
    allowed: Permissions = NOTHING
    """Engines, kernels and hosts that the user, not the sweep's file, permits."""


@dataclass(frozen=True)
class Task:
    """One run."""

    point: int
    seed: int
    engine: str
    kernel: str | None
    settings: tuple[tuple[str, Any], ...]
    """Dotted keys and their values, in order."""
    values: Mapping[str, Any] = field(hash=False)
    """Values of the axes at this point, as written."""


Reading = Callable[[Run, Task], dict[str, float]]


@dataclass(frozen=True)
class Row:
    """The outcome of a task; depends only on the task, the build and the kernel."""

    point: int
    seed: int
    engine: str
    kernel: str | None
    values: Mapping[str, Any]
    status: Status
    reason: str | None
    """Why the run is invalid or failed."""
    metrics: Mapping[str, float]
    wall_s: float | None = field(default=None, compare=False)
    """Wall-clock time of the run; differs between hosts, so no table has it."""
    cached: bool = field(default=False, compare=False)
    """Does it come from the cache?"""


def base_of(sweep: Sweep, allowed: Permissions = NOTHING) -> Base:
    """The data that all runs share; an experiment without a title gets the sweep's."""
    titled = {"title": sweep.title} | dict(sweep.experiment)
    return Base(sweep.name, titled, sweep.experiment_file, sweep.metrics, sweep.window, allowed=allowed)


def tasks_at(sweep: Sweep, point: Point, seeds: Sequence[int]) -> list[Task]:
    """The runs of a point, one per seed."""
    settings = settings_at(sweep, point.values)
    engine, kernel = (settings.pop(key) for key in ABOUT_THE_RUN)
    if engine == "kernel" and not requested_name(kernel):
        kernel = _kernel_at(sweep, point)
    return [
        Task(point.number, seed, engine, None if engine == "sim" else kernel, tuple(settings.items()), point.values)
        for seed in seeds
    ]


def _kernel_at(sweep: Sweep, point: Point) -> str | None:
    """The kernel that this experiment needs; None for the default one, or if the run will report an error."""
    try:
        case = case_at(sweep, point.values)
        return kernel_for(case, plan_case(case, 1))
    except DumbbellError:
        return None
