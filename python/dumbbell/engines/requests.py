"""Engine, seeds, folder name and command of a run.

`dumbbell.cli.runs` starts the runs.
"""

import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from dumbbell import engines
from dumbbell.engines.base import NOTHING, Engine, Permissions
from dumbbell.errors import ExperimentError, OutputError
from dumbbell.spec import Case
from dumbbell.spec.document import distinct
from dumbbell.spec.document import seeds as parse_seeds
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
    """The default result folder: a new one below `runs/`. Raises `OutputError` like `runs_folder`."""
    return runs_folder() / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def runs_folder() -> Path:
    """`runs/` in the current folder. Raises `OutputError` if it is a link, which may lead anywhere."""
    folder = Path("runs")
    if folder.is_symlink():
        raise OutputError(
            f"{folder}: is a link to {folder.readlink()}, but default results need a folder here; "
            "remove the link, or name a folder with --out"
        )
    return folder


def plain(text: str) -> str:
    """The text as a folder name: no path separators or shell characters; may be empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80]


def repeat_command(
    scenario: str, engine: str, seed: int, settings: Sequence[str], kernel: str | None = None,
    hosts: Sequence[str] = (), case: str | None = None,
) -> str:  # fmt: skip
    """The command that reproduces a run; without a `case`, all cases."""
    words = ["dumbbell", "run", scenario, "--engine", engine, "--seed", str(seed)]
    words += ["--hosts", ",".join(hosts)] if hosts and engine == "host" else []
    words += ["--kernel", kernel] if kernel else []
    words += ["--case", case] if case else []
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])


def engine_called(
    name: str, kernel: str | None, key: str = "--engine", *, allowed: Permissions = NOTHING,
    wall_limit_s: float | None = None,
) -> Engine:  # fmt: skip
    """Create an engine by name; `key` is the option or key that selected it, `allowed` what the user permits.

    Raises `DumbbellError` if there is no such engine, or if it is not permitted.
    """
    if name == "kernel":
        allowed.check_kernel(kernel, "kernel")
        return engines.KernelEngine(kernel, wall_limit_s=wall_limit_s)
    if name not in ENGINES:
        raise ExperimentError("unknown engine", key=key, value=name, right=f"available: {', '.join(ENGINES)}")
    if kernel is not None:
        runs = "the simulator runs no kernel" if name == "sim" else "the engine 'host' uses the running kernel"
        raise ExperimentError(runs, key="--kernel", value=kernel, right="use --engine kernel")
    if name == "host":
        return engines.HostEngine(allowed, wall_limit_s=wall_limit_s, key=key)
    if wall_limit_s is not None:
        raise ExperimentError("the simulator has no wall time limit", key="--wall-limit", right="use --engine kernel")
    return engines.Simulator()


def seeds_of(text: str | None, key: str) -> tuple[int, ...] | None:
    """The seeds of an option; None if it is not given."""
    if text is None:
        return None
    try:
        return parse_seeds(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=text, right=wrong.right) from None


def run_names(cases: Sequence[tuple[Case, int]]) -> list[str]:
    """A unique folder name for each run, different from the result's own files."""
    many_seeds = len({number for _, number in cases}) > 1
    tails = (f"-seed{number}" if many_seeds else "" for _, number in cases)
    names = ((plain(case.name) or "run") + tail for (case, _), tail in zip(cases, tails, strict=True))
    return distinct(names, own=("run.json", "sweep.json"))
