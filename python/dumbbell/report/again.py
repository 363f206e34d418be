"""One run of a sweep again, from the experiment that lies in the sweep's folder: its command, its own experiment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import Point, written
from dumbbell.spec.document import toml, with_settings
from dumbbell.spec.tomlout import as_toml
from dumbbell.sweeps.again import repeated_by
from dumbbell.sweeps.folder import EXPERIMENT, Sweep
from dumbbell.sweeps.task import Task, tasks_at

__all__ = ["again", "experiment_at"]


def again(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """What one would type to get this row's run as a result folder; nothing where the sweep's file can't be read."""
    try:
        task = _task(sweep, row)
    except ExperimentError:
        return ""
    return repeated_by(task, str(sweep.folder / EXPERIMENT))


def experiment_at(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The experiment of this row's run alone. Raises `ExperimentError` where the sweep's files can't be read."""
    task, file = _task(sweep, row), sweep.folder / EXPERIMENT
    document = toml(text_named(sweep.folder, EXPERIMENT, file=str(file)), file)
    return as_toml(with_settings(document, dict(task.settings), file))


def _task(sweep: Sweep, row: Mapping[str, Any]) -> Task:
    asked = sweep.asked
    values = {}
    for shape in asked.every_axis:
        # A table holds a value as text; the file has it as it was.
        known = {str(written(value)): value for value in shape.values}
        values[shape.key] = known.get(str(row[shape.key]), row[shape.key])
    (task,) = tasks_at(asked, Point(int(row["point"]), values), [int(row["seed"])])
    kernel = row["kernel"] if row["engine"] == "kernel" else None
    return replace(task, engine=str(row["engine"]), kernel=kernel)
