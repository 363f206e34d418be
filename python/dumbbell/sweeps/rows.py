"""A row of a sweep's table as an experiment, and as the command that repeats it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import Point, written
from dumbbell.spec.document import as_toml, toml, with_settings
from dumbbell.sweeps.folder import EXPERIMENT, Sweep
from dumbbell.sweeps.task import Task, tasks_at
from dumbbell.sweeps.task_runner import command_for

__all__ = ["experiment_at", "reproduce_command"]


def reproduce_command(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The command that runs this row as a result folder; empty if the sweep's file can't be read."""
    try:
        task = _task(sweep, row)
    except ExperimentError:
        return ""
    return command_for(task, str(sweep.folder / EXPERIMENT))


def experiment_at(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The experiment of this row alone. Raises `ExperimentError` if the sweep's files can't be read."""
    task, file = _task(sweep, row), sweep.folder / EXPERIMENT
    document = toml(text_named(sweep.folder, EXPERIMENT, file=str(file)), file)
    return as_toml(with_settings(document, dict(task.settings), file))


def _task(sweep: Sweep, row: Mapping[str, Any]) -> Task:
    definition = sweep.definition
    values = {}
    for shape in definition.every_axis:
        # The table holds values as text; the file has the originals.
        known = {str(written(value)): value for value in shape.values}
        values[shape.key] = known.get(str(row[shape.key]), row[shape.key])
    (task,) = tasks_at(definition, Point(int(row["point"]), values), [int(row["seed"])])
    kernel = row["kernel"] if row["engine"] == "kernel" else None
    return replace(task, engine=str(row["engine"]), kernel=kernel)
