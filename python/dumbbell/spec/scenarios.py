"""The experiments that come with Dumbbell, by name.

Those of laboratories lie in `scenarios/`, published results in `scenarios/published/`, those that need programs of the
machine in `scenarios/programs/`; names are theirs alone. Sweeps lie in `scenarios/sweeps/`.
"""

import os
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.qdisc import suggest

__all__ = ["built_in", "find", "find_sweep", "published", "scenarios", "sweeps", "with_programs"]

_INSTALLED = Path(__file__).parent.parent / "scenarios"
_CHECKOUT = Path(__file__).parents[3] / "scenarios"


def scenarios() -> dict[str, Path]:
    """Every built-in experiment's file, by name: the laboratories' first, then the published ones."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("*.toml"))} | published()


def published() -> dict[str, Path]:
    """The files of published results, by name."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("published/*.toml"))}


def with_programs() -> dict[str, Path]:
    """The files of experiments that run programs, by name; not every machine has these programs."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("programs/*.toml"))}


def sweeps() -> dict[str, Path]:
    """The files of built-in sweeps, by name."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return {file.stem: file for file in sorted(folder.glob("sweeps/*.toml"))}


def find_sweep(name: str) -> Path:
    """The file of a built-in sweep, or the file itself.

    Raises `ExperimentError` naming what there is.
    """
    known = sweeps()
    if name in known:
        return known[name].resolve()
    path = Path(name)
    if path.suffix == ".toml" or path.is_file() or "/" in name:
        return path
    raise ExperimentError(f"no sweep is called '{name}'", right=suggest(name, list(known)) + "; or name a .toml file")


def find(name: str) -> Path:
    """The file of a scenario, or the file itself.

    Raises `ExperimentError` naming what there is.
    """
    path = Path(name)
    is_file = path.suffix == ".toml" or "/" in name or os.path.isfile(name)  # noqa: PTH113 — no name makes it raise
    return path if is_file and name not in scenarios() | with_programs() else built_in(name)


def built_in(name: str) -> Path:
    """The file of a scenario. Raises `ExperimentError` naming what there is."""
    known = scenarios() | with_programs()
    if name in known:
        return known[name].resolve()  # Some installers make links: files that it names lie beside what they lead to.
    raise ExperimentError(
        f"no scenario is called '{name}'", right=suggest(name, list(known)) + "; or name a .toml file"
    )
