"""How runs are asked for: which engine, which seeds, what their folders are called, how to repeat them.

Carrying them out, side by side, is `dumbbell.cli.carry`.
"""

import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from dumbbell.engine.base import Engine
from dumbbell.engine.host import HostEngine
from dumbbell.engine.kernel import KernelEngine
from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.engine.sim import Simulator
from dumbbell.errors import ExperimentError, OutputError
from dumbbell.spec import Case
from dumbbell.spec.document import seeds as parse_seeds
from dumbbell.spec.names import distinct
from dumbbell.spec.units import Wrong

__all__ = [
    "ENGINES",
    "default_folder",
    "engine_called",
    "plain",
    "repeat_command",
    "run_names",
    "runs_folder",
    "seeds_of",
]

ENGINES = ("sim", "kernel", "host")


def default_folder(name: str) -> Path:
    """Where results go by default: a new folder below `runs/`. Raises `OutputError` as `runs_folder` does."""
    return runs_folder() / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def runs_folder() -> Path:
    """`runs/` here. Raises `OutputError` where that is a link: the caller may not know where it leads."""
    folder = Path("runs")
    if folder.is_symlink():
        raise OutputError(
            f"{folder}: is a link to {folder.readlink()}, and results go by default into a folder of this one; "
            "remove it, or name a folder with --out"
        )
    return folder


def plain(text: str) -> str:
    """The text as the name of a folder: no path, nothing that a shell knows; maybe empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80]


def repeat_command(
    scenario: str, engine: str, seed: int, settings: Sequence[str], kernel: str | None = None,
    hosts: Sequence[str] = (), case: str | None = None,
) -> str:  # fmt: skip
    """What a person would type to get the same run again; without a `case`, all of them."""
    words = ["dumbbell", "run", scenario, "--engine", engine, "--seed", str(seed)]
    words += ["--hosts", ",".join(hosts)] if hosts and engine == "host" else []
    words += ["--kernel", kernel] if kernel else []
    words += ["--case", case] if case else []
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])


def engine_called(
    name: str, kernel: str | None, key: str = "--engine", *, allowed: Permissions = NOTHING,
    wall_limit_s: float | None = None,
) -> Engine:  # fmt: skip
    """The engine of this name; `key` is what named it, `allowed` what the user named besides any file.

    Raises `DumbbellError` where there is none, or where it may not run.
    """
    if name == "kernel":
        allowed.check_kernel(kernel, "kernel")
        return KernelEngine(kernel, wall_limit_s=wall_limit_s)
    if name not in ENGINES:
        raise ExperimentError("no engine is called that", key=key, value=name, right=f"there is: {', '.join(ENGINES)}")
    if kernel is not None:
        runs = "the simulator runs no kernel" if name == "sim" else "this machine has one kernel, the one that runs"
        raise ExperimentError(runs, key="--kernel", value=kernel, right="use --engine kernel")
    if name == "host":
        return HostEngine(allowed, wall_limit_s=wall_limit_s, key=key)
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
    """A plain folder name for each run; numbered where two would be alike, or like a result's own file."""
    many_seeds = len({number for _, number in wanted}) > 1
    tails = (f"-seed{number}" if many_seeds else "" for _, number in wanted)
    names = ((plain(case.name) or "run") + tail for (case, _), tail in zip(wanted, tails, strict=True))
    return distinct(names, own=("run.json", "sweep.json"))
