"""Which build of Dumbbell this process runs: what decides a row, as hashes that two machines can compare.

Rows are a function of the simulator, the agent and the rooms that lead from a sweep to a row; how a map looks or what
a page says changes none. Who is refused for another build, `fleet` decides.
"""

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dumbbell
from dumbbell import _sim

__all__ = ["BUILD", "Build", "difference", "remarks"]

ROOMS = ("errors", "spec", "plan", "result", "kernel", "machine", "engine", "analysis", "sweeps")
"""What a run passes through, from the file to the row."""
LIBRARIES = ("polars", "numpy", "scipy", "pydantic", "dask", "distributed")


@dataclass(frozen=True)
class Build:
    """What a process runs."""

    python: str
    """Its version: 3.11.2."""
    machine: str
    """The processor's kind, as uname has it."""
    simulator: str
    """Hash of the extension."""
    agent: str
    """Hash of the agent; empty where none is built."""
    sources: tuple[tuple[str, str], ...]
    """Each room of the package that decides a row, with the hash of its sources."""
    libraries: tuple[tuple[str, str], ...]
    """Versions of others' code."""


def difference(ours: Build, theirs: Build) -> str:
    """What makes rows of `theirs` other than ours, in words; empty where nothing does."""
    told = []
    if (mine := _minor(ours.python)) != (other := _minor(theirs.python)):
        told.append(f"Python {other} instead of {mine}")
    if ours.machine != theirs.machine:
        told.append(f"{theirs.machine} instead of {ours.machine}")
    if ours.simulator != theirs.simulator:
        told.append(f"simulator {_short(theirs.simulator)} instead of {_short(ours.simulator)}")
    if ours.agent != theirs.agent:
        told.append(f"agent {_short(theirs.agent)} instead of {_short(ours.agent)}")
    held = dict(theirs.sources)
    if rooms := [room for room, digest in ours.sources if held.get(room) != digest]:
        told.append(f"other sources in {', '.join(rooms)}")
    return "; ".join(told)


def remarks(ours: Build, theirs: Build) -> str:
    """What differs and need not change a row: patch releases and libraries; empty where nothing does."""
    held = dict(theirs.libraries)
    told = [f"{name} {held.get(name)} instead of {mine}" for name, mine in ours.libraries if held.get(name) != mine]
    if ours.python != theirs.python:
        told.insert(0, f"Python {theirs.python} instead of {ours.python}")
    return ", ".join(told)


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _short(digest: str) -> str:
    return digest[:12] or "none"


def _here() -> Build:
    package = Path(dumbbell.__file__).parent
    return Build(
        python=platform.python_version(),
        machine=platform.machine(),
        simulator=_hash([Path(_sim.__file__)]),
        agent=_hash([package / "bin" / "dumbbell-agent"]),
        sources=tuple((room, _hash(_sources(package, room))) for room in ROOMS),
        libraries=tuple((name, _version(name)) for name in LIBRARIES),
    )


def _sources(package: Path, room: str) -> list[Path]:
    return sorted((package / room).rglob("*.py")) or [package / f"{room}.py"]


def _hash(paths: list[Path]) -> str:
    """Of names and contents; empty where there is nothing."""
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


BUILD = _here()
"""Of this process, read when it began: what is edited later is not what it runs."""
