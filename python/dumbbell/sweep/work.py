"""Carries one task of a sweep out: read, run, measured; whatever goes wrong becomes a row with its reason.

Only what is wrong with the machine (a full disk, an interrupt) is raised. Which tasks there are is `due`'s.
"""

import tempfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from dumbbell import result, spec
from dumbbell.analysis import measures
from dumbbell.engine import Engine, Request
from dumbbell.engine.requests import engine_called
from dumbbell.errors import DumbbellError, OutputError
from dumbbell.result import Run
from dumbbell.spec.document import with_settings
from dumbbell.sweep.task import Base, Row, Status, Task

__all__ = ["carried_out", "case_of"]

Tick = Callable[[], None]
"""Called now and then while a run goes on; it may raise to end it."""


def carried_out(base: Base, task: Task, tick: Tick, keep: Path | None = None) -> Row:
    """Run one task; with `keep` its result stays there, as a folder.

    Raises `OutputError` where the machine has no room for a run, and what `tick` raises.
    """
    try:
        if keep is not None:
            return _judged(base, task, _run(base, task, tick, keep))
        with tempfile.TemporaryDirectory(prefix="dumbbell-sweep-") as private:
            return _judged(base, task, _run(base, task, tick, Path(private) / "run"))
    except OutputError:
        raise
    except DumbbellError as error:
        return _row(task, "failed", f"{type(error).__name__}: {error}")


def case_of(base: Base, task: Task) -> spec.Case:
    """The experiment that a task runs. Raises `ExperimentError`."""
    (case,) = spec.read(with_settings(base.experiment, dict(task.settings), base.file), base.file)
    return case


def _run(base: Base, task: Task, tick: Tick, out: Path) -> Run:
    engine = _engine(task.engine, task.kernel)
    request = Request(base.name, case_of(base, task), task.seed, out)
    return result.load(engine.run(request, lambda _seconds: tick()))


@cache
def _engine(name: str, kernel: str | None) -> Engine:
    return engine_called(name, kernel, "engine")


def _judged(base: Base, task: Task, run: Run) -> Row:
    window = None if base.window is None else (base.window[0], base.window[1] or round(run.birth["duration_s"] * 1e9))
    found = {
        name: value
        for name, value in measures(run, window).items()
        if any(fnmatchcase(name, pattern) for pattern in base.metrics)
    }
    if run.birth["valid"]:
        return _row(task, "ok", None, found)
    return _row(task, "invalid", "; ".join(run.birth["invalid"]), found)


def _row(task: Task, status: Status, reason: str | None, found: dict[str, float] | None = None) -> Row:
    return Row(task.point, task.seed, task.engine, task.kernel, task.values, status, reason, found or {})
