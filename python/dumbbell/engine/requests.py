"""How runs are asked for: which engine, which seeds, what their folders are called, how to repeat them.

Carrying them out, side by side, is `dumbbell.cli.carry`.
"""

import itertools
import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from dumbbell.engine.base import Engine
from dumbbell.engine.host import HostEngine
from dumbbell.engine.kernel import KernelEngine
from dumbbell.engine.sim import Simulator
from dumbbell.errors import ExperimentError
from dumbbell.spec import Case
from dumbbell.spec.document import seeds as parse_seeds
from dumbbell.spec.units import Wrong

__all__ = ["ENGINES", "default_folder", "engine_called", "plain", "repeat_command", "run_names", "seeds_of"]

ENGINES = ("sim", "kernel", "host")


def default_folder(name: str) -> Path:
    """Where results go when nobody says: a new folder below `runs/`."""
    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def plain(text: str) -> str:
    """The text as the name of a folder: no path, nothing that a shell knows; maybe empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80]


def repeat_command(scenario: str, engine: str, seed: int, settings: Sequence[str], kernel: str | None = None) -> str:
    """What a person would type to get the same run again."""
    words = ["dumbbell", "run", scenario, "--engine", engine, "--seed", str(seed)]
    words += ["--kernel", kernel] if kernel else []
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])


def engine_called(name: str, kernel: str | None, key: str = "--engine", *, wall_limit_s: float | None = None) -> Engine:
    """The engine of this name; `key` is the option that named it. Raises `DumbbellError` where there is none."""
    if name == "kernel":
        return KernelEngine(kernel, wall_limit_s=wall_limit_s)
    if name not in ENGINES:
        raise ExperimentError("no engine is called that", key=key, value=name, right=f"there is: {', '.join(ENGINES)}")
    if kernel is not None:
        runs = "the simulator runs no kernel" if name == "sim" else "this machine has one kernel, the one that runs"
        raise ExperimentError(runs, key="--kernel", value=kernel, right="use --engine kernel")
    if name == "host":
        return HostEngine(wall_limit_s=wall_limit_s)
    if wall_limit_s is not None:
        raise ExperimentError("a limit in wall time is for Linux", key="--wall-limit", right="use --engine kernel")
    return Simulator()


def seeds_of(text: str | None, key: str) -> tuple[int, ...] | None:
    """The seeds that an option named; None where it is not given."""
    if text is None:
        return None
    try:
        return parse_seeds(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None


def run_names(wanted: Sequence[tuple[Case, int]]) -> list[str]:
    """A plain folder name for each run; numbered where two would be alike."""
    many_seeds = len({number for _, number in wanted}) > 1
    names: list[str] = []
    for case, number in wanted:
        name = plain(case.name) or "run"
        name += f"-seed{number}" if many_seeds else ""
        free = (f"{name}-{number}" for number in itertools.count(2))
        names.append(name if name not in names else next(each for each in free if each not in names))
    return names
