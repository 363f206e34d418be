"""Everything that a row depends on besides its task, as hashes: the build, the engine, the experiment's files.

Equal identities give equal rows. A sweep can't be resumed with another identity, and the cache never returns rows of
another.
"""

import hashlib
import json
import platform
from functools import cache
from typing import Any

import dumbbell
from dumbbell import _sim
from dumbbell.engines import KernelEngine
from dumbbell.engines.permissions import NOTHING, Permissions
from dumbbell.engines.requests import engine_called
from dumbbell.kernels.store import hash_of
from dumbbell.spec import Case
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.spec.experiment import document_of
from dumbbell.sweeps.build_info import BUILD, LIBRARIES, Build
from dumbbell.sweeps.iproute2 import is_used, tools
from dumbbell.sweeps.task import Base, Task

__all__ = ["build", "computes_identically", "engine", "iproute2", "key_of"]

NOT_THE_RUN = {"title", "source", "expect", "seeds"}
"""Keys of an experiment that don't affect the measurement."""


@cache
def build() -> dict[str, Any]:
    """The package and the numerical libraries."""
    return _build(BUILD)


def computes_identically(theirs: Build) -> bool:
    """Do both processes have the same build, so that they may share cached rows? Engines are compared elsewhere."""
    return _build(theirs) == build()


def _build(of: Build) -> dict[str, Any]:
    libraries = {name: release for name, release in of.libraries if name in LIBRARIES}
    python = ".".join(of.python.split(".")[:2])
    sources = hashlib.sha256(json.dumps(of.sources).encode()).hexdigest()
    return {"dumbbell": dumbbell.__version__, "sources": sources, "python": python, "libraries": libraries}


@cache
def engine(name: str, kernel: str | None, allowed: Permissions = NOTHING) -> dict[str, Any]:
    """The identity of an engine on this host. Raises `DumbbellError` if it doesn't exist or isn't permitted."""
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
    return about


def iproute2() -> dict[str, str]:
    """The programs that a run depends on if the agent leaves commands to them."""
    return {f"{name}_sha256": tool.sha256 for name, tool in tools().items()}


def key_of(base: Base, task: Task, case: Case) -> str | None:
    """The cache key of a run; None if runs don't repeat exactly: the host engine, or external programs."""
    if task.engine == "host" or case.experiment.programs:
        return None
    experiment = {key: value for key, value in document_of(case.experiment).items() if key not in NOT_THE_RUN}
    about = {
        "experiment": experiment,
        "files": {name: hash_of(read_named(base.file.parent, name, key)) for key, name in named_in(experiment)},
        "seed": task.seed,
        "metrics": base.metrics,
        "window": base.window,
        "engine": engine(task.engine, task.kernel, base.allowed),
        "iproute2": iproute2() if task.engine == "kernel" and is_used(case) else None,
        "build": build(),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
