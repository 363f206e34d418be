"""What a row depends on besides its task: this build, the engine, and what an experiment is made of, as hashes.

Two builds of one identity give the same rows; a sweep is never continued by another, and the cache never answers for
another.
"""

import hashlib
import json
import platform
from functools import cache
from typing import Any

import dumbbell
from dumbbell import _sim
from dumbbell.engine import KernelEngine
from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.engine.requests import engine_called
from dumbbell.kernel.store import hash_of
from dumbbell.spec import Case
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.sweeps.build import BUILD, Build
from dumbbell.sweeps.task import Base, Task
from dumbbell.sweeps.tools import tools

__all__ = ["build", "engine", "key_of", "reckons_alike"]

LIBRARIES = ("numpy", "polars", "pydantic", "scipy")
NOT_THE_RUN = {"title", "source", "expect", "seeds"}
"""Keys of an experiment that change nothing of what is measured."""


@cache
def build() -> dict[str, Any]:
    """The package and the libraries that it reckons with."""
    return _build(BUILD)


def reckons_alike(theirs: Build) -> bool:
    """May rows of that process stand for this one's in the cache? Engines are compared elsewhere."""
    return _build(theirs) == build()


def _build(of: Build) -> dict[str, Any]:
    libraries = {name: release for name, release in of.libraries if name in LIBRARIES}
    python = ".".join(of.python.split(".")[:2])
    sources = hashlib.sha256(json.dumps(of.sources).encode()).hexdigest()
    return {"dumbbell": dumbbell.__version__, "sources": sources, "python": python, "libraries": libraries}


@cache
def engine(name: str, kernel: str | None, allowed: Permissions = NOTHING) -> dict[str, Any]:
    """An engine of this machine. Raises `DumbbellError` where there is none, or where it may not run."""
    made = engine_called(name, kernel, "engine", allowed=allowed)
    if name == "sim":
        return {"engine": name, "version": _sim.VERSION, "sha256": BUILD.simulator}
    about: dict[str, Any] = {"engine": name, "agent_sha256": BUILD.agent}
    if name == "kernel":
        assert isinstance(made, KernelEngine)
        found = made.kernel
        about |= {
            "kernel": found.name,
            "release": found.release,
            "config_sha256": found.config_sha256,
            "sha256": found.binary_sha256,
        }
    else:
        about["release"] = platform.release()
    # They set a guest, or this machine, up.
    return about | {f"{name}_sha256": tool.sha256 for name, tool in tools().items()}


def key_of(base: Base, task: Task, case: Case) -> str | None:
    """The name under which a run's row is kept for other sweeps; None for what doesn't repeat, or may not."""
    if task.engine == "host" or case.experiment.programs:
        return None
    experiment = case.experiment.model_dump(mode="json", exclude=NOT_THE_RUN)
    about = {
        "experiment": experiment,
        "files": {name: hash_of(read_named(base.file.parent, name, key)) for key, name in named_in(experiment)},
        "seed": task.seed,
        "metrics": base.metrics,
        "window": base.window,
        "engine": engine(task.engine, task.kernel, base.allowed),
        "build": build(),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
