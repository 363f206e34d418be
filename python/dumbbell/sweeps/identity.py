"""Everything that a row depends on besides its task, as hashes: build, engine, files, iproute2.

Equal identities give equal rows. A sweep can't be resumed with another identity, and the cache never returns rows of
another. A row depends on the simulator, the agent and the packages that compute it; maps and pages don't matter.

The agent executes nearly all commands itself. Where it leaves one to `ip` or `tc`, another version may configure the
kernel differently. `registry` refuses workers of another build, and for such runs those with another iproute2.
"""

import hashlib
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell import _sim
from dumbbell.engines import KernelEngine
from dumbbell.engines.agent_engine import PATH
from dumbbell.engines.base import NOTHING, Permissions, engine_called
from dumbbell.kernels.store import hash_of, sha256
from dumbbell.plan import plan_case
from dumbbell.spec import Case
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.stacks.store import MANIFEST, Built, find
from dumbbell.sweeps.task import Base, Task

__all__ = [
    "BUILD",
    "LIBRARIES",
    "TOOLS",
    "Build",
    "Tool",
    "build",
    "computes_identically",
    "difference",
    "engine",
    "iproute2",
    "is_used",
    "key_of",
    "remarks",
    "tools",
    "unlike",
]


PACKAGES = (
    "errors",
    "spec",
    "plan",
    "results",
    "kernels",
    "host",
    "linux",
    "stacks",
    "qlog",
    "engines",
    "analysis",
    "sweeps",
)
"""The packages that turn a sweep file into a row."""
LIBRARIES = ("numpy", "polars", "pydantic", "scipy")
"""Libraries whose version may change a row."""
CLUSTER_LIBRARIES = ("dask", "distributed")


@dataclass(frozen=True)
class Build:
    """The build of a process."""

    python: str
    """Python version, for example 3.11.2."""
    machine: str
    """Processor architecture, as `uname -m`."""
    simulator: str
    """Hash of the extension module."""
    agent: str
    """Hash of the agent; empty if it isn't built."""
    sources: tuple[tuple[str, str], ...]
    """Each package that affects a row, with the hash of its sources."""
    libraries: tuple[tuple[str, str], ...]
    """Versions of third-party libraries."""


def difference(ours: Build, theirs: Build) -> str:
    """Differences that change rows, in words; empty if there are none."""
    found = []
    if (mine := _minor(ours.python)) != (other := _minor(theirs.python)):
        found.append(f"Python {other} instead of {mine}")
    if ours.machine != theirs.machine:
        found.append(f"{theirs.machine} instead of {ours.machine}")
    if ours.simulator != theirs.simulator:
        found.append(f"simulator {_short(theirs.simulator)} instead of {_short(ours.simulator)}")
    if ours.agent != theirs.agent:
        found.append(f"agent {_short(theirs.agent)} instead of {_short(ours.agent)}")
    their_sources = dict(theirs.sources)
    if packages := [package for package, digest in ours.sources if their_sources.get(package) != digest]:
        found.append(f"different sources in {', '.join(packages)}")
    return "; ".join(found)


def remarks(ours: Build, theirs: Build) -> str:
    """Differences that may change rows in the last digits: patch releases and libraries; empty if there are none."""
    their_versions = dict(theirs.libraries)
    found = [
        f"{name} {their_versions.get(name)} instead of {mine}"
        for name, mine in ours.libraries
        if their_versions.get(name) != mine
    ]
    if ours.python != theirs.python:
        found.insert(0, f"Python {theirs.python} instead of {ours.python}")
    return ", ".join(found)


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _short(digest: str) -> str:
    return digest[:12] or "none"


def _own_build() -> Build:
    package = Path(dumbbell.__file__).parent
    return Build(
        python=platform.python_version(),
        machine=platform.machine(),
        simulator=_hash([Path(_sim.__file__)]),
        agent=_hash([package / "bin" / "dumbbell-agent"]),
        sources=tuple((name, _hash(_sources(package, name))) for name in PACKAGES),
        libraries=tuple((name, _version(name)) for name in (*LIBRARIES, *CLUSTER_LIBRARIES)),
    )


def _sources(package: Path, name: str) -> list[Path]:
    return sorted((package / name).rglob("*.py")) or [package / f"{name}.py"]


def _hash(paths: list[Path]) -> str:
    """Hash of file names and contents; empty if a file is missing."""
    digest = hashlib.sha256()
    for path in paths:
        if not path.is_file():
            return ""
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


BUILD = _own_build()
"""This process's build, read at import: later edits of the files don't affect the running code."""


TOOLS = ("ip", "tc")
ANSWER_S = 10.0


@dataclass(frozen=True)
class Tool:
    """One program."""

    version: str
    """For example iproute2-6.1.0, or the first line of its output."""
    sha256: str


@cache
def tools() -> dict[str, Tool]:
    """The installed programs by name, found on the engine's PATH."""
    paths = {name: shutil.which(name, path=PATH) for name in TOOLS}
    return {name: Tool(_tool_version(path), sha256(Path(path))) for name, path in paths.items() if path}


def is_used(case: Case) -> bool:
    """Does a run of the case on a kernel depend on these programs? Raises `DumbbellError` if the case has no plan."""
    return plan_case(case, 1).uses_iproute2


def unlike(ours: Mapping[str, Tool], theirs: Mapping[str, Tool]) -> str:
    """Version differences, in words; empty if there are none. Programs missing on either side are ignored."""
    found = [
        f"{name} of {theirs[name].version} instead of {tool.version}"
        for name, tool in ours.items()
        if name in theirs and theirs[name].version != tool.version
    ]
    return " and ".join(found)


def _tool_version(path: str) -> str:
    try:
        done = subprocess.run([path, "-V"], capture_output=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown version ({type(error).__name__})"
    text = (done.stdout + done.stderr).decode(errors="replace")
    if match := re.search(r"iproute2-[^\s,]+", text):
        return match[0]
    return (text.splitlines() or ["unknown version"])[0].strip()


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


def built_stacks(case: Case) -> list[Built]:
    """The QUIC stacks that a case uses and that are built: without one there is no run."""
    names = sorted({group.stack for group in case.experiment.flows if group.stack is not None})
    return [built for built in map(find, names) if built is not None]


def key_of(base: Base, task: Task, case: Case) -> str | None:
    """The cache key of a run; None if runs don't repeat exactly: the host engine, or external programs.

    The programs of a QUIC stack are those of its build, unless runs with it differ.
    """
    if task.engine == "host" or case.experiment.programs:
        return None
    stacks = built_stacks(case)
    if not all(stack.stack.repeats for stack in stacks):
        return None
    experiment = {
        key: value for key, value in case.experiment.document(complete=True).items() if key not in NOT_THE_RUN
    }
    about = {
        "experiment": experiment,
        "files": {name: hash_of(read_named(base.file.parent, name, key)) for key, name in named_in(experiment)},
        "seed": task.seed,
        "metrics": base.metrics,
        "window": base.window,
        "engine": engine(task.engine, task.kernel, base.allowed),
        "iproute2": iproute2() if task.engine == "kernel" and is_used(case) else None,
        "stacks": {stack.folder.name: sha256(stack.folder / MANIFEST) for stack in stacks},
        "build": build(),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
