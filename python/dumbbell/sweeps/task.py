"""One run of a sweep as a value: small, picklable, and enough for any process on any machine to carry it out.

What all runs of a sweep share is a `Base`, sent once; what is a run's own is a `Task`. `work` makes a `Row` of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.spec.axes import Point
from dumbbell.spec.sweep import ABOUT_THE_RUN, Sweep, settings_at

__all__ = ["Base", "Row", "Status", "Task", "base_of", "tasks_at"]

Status = Literal["ok", "invalid", "failed"]


@dataclass(frozen=True)
class Base:
    """What all runs of a sweep share."""

    name: str
    experiment: Mapping[str, Any]
    """The document, before any setting."""
    file: Path
    """Files that the experiment names lie beside it."""
    metrics: tuple[str, ...]
    window: tuple[int, int | None] | None
    allowed: Permissions = NOTHING
    """What the user, and not the sweep's file, lets its runs start."""


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
    """Of the axes at this point, as written."""


@dataclass(frozen=True)
class Row:
    """What came of a task; a function of the task, the build and the kernel."""

    point: int
    seed: int
    engine: str
    kernel: str | None
    values: Mapping[str, Any]
    status: Status
    reason: str | None
    """Why a run is invalid, or failed."""
    metrics: Mapping[str, float]
    wall_s: float | None = field(default=None, compare=False)
    """How long it took; of the machine, so in no table."""
    cached: bool = field(default=False, compare=False)
    """Was it known from an earlier sweep?"""


def base_of(sweep: Sweep, allowed: Permissions = NOTHING) -> Base:
    """What the runs of a sweep share; an experiment without a title has the sweep's."""
    titled = {"title": sweep.title} | dict(sweep.experiment)
    return Base(sweep.name, titled, sweep.experiment_file, sweep.metrics, sweep.window, allowed)


def tasks_at(sweep: Sweep, point: Point, seeds: Sequence[int]) -> list[Task]:
    """The runs at a point, a seed each."""
    settings = settings_at(sweep, point.values)
    engine, kernel = (settings.pop(key) for key in ABOUT_THE_RUN)
    return [
        Task(point.number, seed, engine, None if engine == "sim" else kernel, tuple(settings.items()), point.values)
        for seed in seeds
    ]
