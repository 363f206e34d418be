"""The command that runs one run of a sweep again, in full, from the experiment that lies in the sweep's folder."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec.axes import Point, written
from dumbbell.sweeps.again import repeated_by
from dumbbell.sweeps.folder import EXPERIMENT, Sweep
from dumbbell.sweeps.task import tasks_at

__all__ = ["again"]


def again(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """What one would type to get this row's run as a result folder; nothing where the sweep's file can't be read."""
    try:
        asked = sweep.asked
    except ExperimentError:
        return ""
    values = {}
    for shape in asked.every_axis:
        # A table holds a value as text; the file has it as it was.
        known = {str(written(value)): value for value in shape.values}
        values[shape.key] = known.get(str(row[shape.key]), row[shape.key])
    (task,) = tasks_at(asked, Point(int(row["point"]), values), [int(row["seed"])])
    kernel = row["kernel"] if row["engine"] == "kernel" else None
    return repeated_by(replace(task, engine=str(row["engine"]), kernel=kernel), str(sweep.folder / EXPERIMENT))
