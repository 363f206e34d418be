"""The command that runs one run of a sweep again, in full, from the experiment that lies in the sweep's folder."""

from collections.abc import Mapping
from typing import Any

from dumbbell.engine.requests import repeat_command
from dumbbell.errors import ExperimentError
from dumbbell.report.asked import inline
from dumbbell.spec.axes import written
from dumbbell.spec.sweep import ABOUT_THE_RUN, settings_at
from dumbbell.sweeps.folder import EXPERIMENT, Sweep

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
    settings = settings_at(asked, values)
    for key in ABOUT_THE_RUN:
        settings.pop(key)
    texts = [f"{key}={value if isinstance(value, str) else inline(value)}" for key, value in settings.items()]
    kernel = row["kernel"] if row["engine"] == "kernel" else None
    return repeat_command(str(sweep.folder / EXPERIMENT), str(row["engine"]), int(row["seed"]), texts, kernel)
