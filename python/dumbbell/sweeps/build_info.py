"""Identify the Dumbbell build of this process by hashes, so that two hosts can compare theirs.

A row depends on the simulator, the agent and the packages that compute it; maps and pages don't matter. `registry`
refuses workers of another build.
"""

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dumbbell
from dumbbell import _sim

__all__ = ["BUILD", "LIBRARIES", "Build", "difference", "remarks"]

PACKAGES = ("errors", "spec", "plan", "results", "kernels", "host", "linux", "engines", "analysis", "sweeps")
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
