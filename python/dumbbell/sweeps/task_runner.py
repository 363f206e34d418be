"""Run one task of a sweep, and look up its row; an error becomes a failed row.

Only errors of the host, such as a full disk or an interrupt, are raised.
"""

import re
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell import spec
from dumbbell.analysis.summary import measures
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.engines.base import NOTHING, Permissions
from dumbbell.engines.requests import engine_called, repeat_command
from dumbbell.errors import DumbbellError, OutputError
from dumbbell.publish import remove
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec.document import inline_toml, with_settings
from dumbbell.sweeps.cache import Known
from dumbbell.sweeps.task import Base, Row, Status, Task

__all__ = ["case_of", "command_for", "row_of", "run_task", "setting"]


def command_for(task: Task, experiment: str, hosts: Sequence[str] = ()) -> str:
    """The full command that runs this task alone, in the folder of the sweep's `experiment.toml`."""
    settings = [setting(key, value) for key, value in task.settings]
    return repeat_command(experiment, task.engine, task.seed, settings, task.kernel, hosts)


def setting(key: str, value: Any) -> str:
    """`KEY=VALUE` that `--set` parses back to this value."""
    return f"{key}={_text(value)}"


def _text(value: Any) -> str:
    """The value as TOML; a string without quotes if it can't be mistaken for TOML: `20ms`, but `"1e3"`, `"true"`."""
    if isinstance(value, str) and not _is_toml(value) and value == value.strip():
        return value
    return inline_toml(value)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return False
    return True


Tick = Callable[[], None]
"""Called periodically during a run; may raise to abort it."""
Lookup = Callable[[spec.Case], Known | None]
"""Called before a run; returns its cached row, if any."""


def run_task(
    base: Base,
    task: Task,
    tick: Tick,
    keep: Path | None = None,
    *,
    tmp_dir: Path | None = None,
    lookup: Lookup | None = None,
) -> Row:
    """Run one task. `keep` is the folder for its result; without it, temporary files go to `tmp_dir`.

    Raises `OutputError` if files can't be written, and whatever `tick` raises.
    """
    began = time.perf_counter()
    try:
        row = _measured_row(base, task, tick, keep, tmp_dir, lookup)
    except OutputError:
        raise
    except DumbbellError as error:
        row = row_of(task, "failed", _without_paths(error, base, tmp_dir, keep))
    except Exception as error:
        # A bug fails one row, not the sweep; the source line helps to find it.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        row = row_of(task, "failed", f"{_without_paths(error, base, tmp_dir, keep)} (a bug in Dumbbell: {where})")
    return replace(row, wall_s=time.perf_counter() - began)


def case_of(base: Base, task: Task) -> spec.Case:
    """The experiment that a task runs. Raises `ExperimentError`."""
    (case,) = spec.read(with_settings(base.experiment, dict(task.settings), base.file), base.file)
    return case


def row_of(task: Task, status: Status, reason: str | None, found: dict[str, float] | None = None) -> Row:
    """The row of a task."""
    return Row(task.point, task.seed, task.engine, _kernel(task), task.values, status, reason, found or {})


def _measured_row(
    base: Base, task: Task, tick: Tick, keep: Path | None, tmp_dir: Path | None, lookup: Lookup | None
) -> Row:
    case = case_of(base, task)
    if lookup is not None and (known := lookup(case)) is not None:
        return replace(row_of(task, known.status, known.reason, known.metrics), cached=True)
    engine = _engine(task.engine, task.kernel, base.allowed)
    command = command_for(task, base.file.name, base.allowed.hosts)
    request = Request(base.name, case, task.seed, keep or Path(_NOWHERE), command)
    if keep is not None:
        # The folder exists if a sweep was killed between writing the result and storing its row.
        remove(keep)
        return _row_of_run(base, task, result.load(engine.run(request, lambda _seconds: tick())))
    if isinstance(engine, Simulator):
        return _row_of_run(base, task, engine.simulate(request, lambda _seconds: tick()))
    with tempfile.TemporaryDirectory(prefix=_NOWHERE, dir=tmp_dir, ignore_cleanup_errors=True) as private:
        request = replace(request, out=Path(private) / "run")
        return _row_of_run(base, task, result.load(engine.run(request, lambda _seconds: tick())))


@cache
def _engine(name: str, kernel: str | None, allowed: Permissions = NOTHING) -> Engine:
    return engine_called(name, kernel, "engine", allowed=allowed)


def _row_of_run(base: Base, task: Task, run: Run) -> Row:
    window = (
        None if base.window is None else (base.window[0], base.window[1] or round(run.manifest["duration_s"] * 1e9))
    )
    found = measures(run, window, base.metrics) if base.read is None else base.read(run, task)
    if run.manifest["valid"]:
        return row_of(task, "ok", None, found)
    return row_of(task, "invalid", "; ".join(run.manifest["invalid"]), found)


def _kernel(task: Task) -> str | None:
    """The task's kernel, or the default kernel if it names none."""
    if task.engine != "kernel" or task.kernel:
        return task.kernel
    try:
        engine = _engine(task.engine, task.kernel)
    except DumbbellError:
        return None
    return str(engine.kernel.name) if isinstance(engine, KernelEngine) else None


def _without_paths(error: Exception, base: Base, tmp_dir: Path | None, keep: Path | None) -> str:
    """An error's text without this host's folders, so that the table is the same on every host."""
    text = f"{type(error).__name__}: {error}"
    folders = [keep and keep.parent, tmp_dir or Path(tempfile.gettempdir()), base.file.parent]
    for folder in folders:
        text = text.replace(f"{folder}/", "") if folder else text
    return re.sub(rf"{_NOWHERE}[a-z0-9_]{{8}}/", "", text)


_NOWHERE = "run-"
"""Prefix of temporary folders."""
