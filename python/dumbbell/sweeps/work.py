"""Carries one task of a sweep out: read, run, measured; whatever goes wrong becomes a row with its reason.

Only what is wrong with the machine (a full disk, an interrupt) is raised. Which tasks there are is `due`'s.
"""

import re
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from dumbbell import result, spec
from dumbbell.analysis import measures
from dumbbell.engine import Engine, KernelEngine, Request, Simulator
from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.engine.requests import engine_called
from dumbbell.errors import DumbbellError, OutputError
from dumbbell.publish import remove
from dumbbell.result import Run
from dumbbell.spec.document import with_settings
from dumbbell.sweeps.again import repeated_by
from dumbbell.sweeps.cache import Known
from dumbbell.sweeps.task import Base, Row, Status, Task

__all__ = ["carried_out", "case_of", "row_of"]

Tick = Callable[[], None]
"""Called now and then while a run goes on; it may raise to end it."""
Look = Callable[[spec.Case], Known | None]
"""Asked before a run whether its row is known."""


def carried_out(
    base: Base, task: Task, tick: Tick, keep: Path | None = None, *, room: Path | None = None, look: Look | None = None
) -> Row:
    """Run one task; with `keep` its result stays there, as a folder; without, what it writes is in `room` meanwhile.

    Raises `OutputError` where the machine has no room for a run, and what `tick` raises.
    """
    began = time.perf_counter()
    try:
        row = _carried_out(base, task, tick, keep, room, look)
    except OutputError:
        raise
    except DumbbellError as error:
        row = row_of(task, "failed", _told(error, base, room, keep))
    except Exception as error:
        # A fault of ours costs a row, not the sweep; its place is enough to find it.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        row = row_of(task, "failed", f"{_told(error, base, room, keep)} (a fault of Dumbbell's own: {where})")
    return replace(row, wall_s=time.perf_counter() - began)


def case_of(base: Base, task: Task) -> spec.Case:
    """The experiment that a task runs. Raises `ExperimentError`."""
    (case,) = spec.read(with_settings(base.experiment, dict(task.settings), base.file), base.file)
    return case


def row_of(task: Task, status: Status, reason: str | None, found: dict[str, float] | None = None) -> Row:
    """The row of a task, with what came of it."""
    return Row(task.point, task.seed, task.engine, _kernel(task), task.values, status, reason, found or {})


def _carried_out(base: Base, task: Task, tick: Tick, keep: Path | None, room: Path | None, look: Look | None) -> Row:
    case = case_of(base, task)
    if look is not None and (known := look(case)) is not None:
        return replace(row_of(task, known.status, known.reason, known.metrics), cached=True)
    engine = _engine(task.engine, task.kernel, base.allowed)
    again = repeated_by(task, base.file.name, base.allowed.hosts)
    request = Request(base.name, case, task.seed, keep or Path(_NOWHERE), again)
    if keep is not None:
        # A folder that is there is of a sweep that was killed between the result and its row.
        remove(keep)
        return _judged(base, task, result.load(engine.run(request, lambda _seconds: tick())))
    if isinstance(engine, Simulator):
        return _judged(base, task, engine.simulate(request, lambda _seconds: tick()))
    with tempfile.TemporaryDirectory(prefix=_NOWHERE, dir=room, ignore_cleanup_errors=True) as private:
        request = replace(request, out=Path(private) / "run")
        return _judged(base, task, result.load(engine.run(request, lambda _seconds: tick())))


@cache
def _engine(name: str, kernel: str | None, allowed: Permissions = NOTHING) -> Engine:
    return engine_called(name, kernel, "engine", allowed=allowed)


def _judged(base: Base, task: Task, run: Run) -> Row:
    window = None if base.window is None else (base.window[0], base.window[1] or round(run.birth["duration_s"] * 1e9))
    found = measures(run, window, base.metrics)
    if run.birth["valid"]:
        return row_of(task, "ok", None, found)
    return row_of(task, "invalid", "; ".join(run.birth["invalid"]), found)


def _kernel(task: Task) -> str | None:
    """As it was asked for; the one that was meant where nobody named one."""
    if task.engine != "kernel" or task.kernel:
        return task.kernel
    try:
        engine = _engine(task.engine, task.kernel)
    except DumbbellError:
        return None
    return str(engine.kernel.name) if isinstance(engine, KernelEngine) else None


def _told(error: Exception, base: Base, room: Path | None, keep: Path | None) -> str:
    """An error without this machine's folders: the same sweep elsewhere gives the same table."""
    text = f"{type(error).__name__}: {error}"
    folders = [keep and keep.parent, room or Path(tempfile.gettempdir()), base.file.parent]
    for folder in folders:
        text = text.replace(f"{folder}/", "") if folder else text
    return re.sub(rf"{_NOWHERE}[a-z0-9_]{{8}}/", "", text)


_NOWHERE = "run-"
"""Begins the names of folders that nobody keeps."""
