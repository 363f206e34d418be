"""Find errors before the first run: plan every level of every axis once, on its engine.

One level changes at a time, starting at the first point; a conflict between two levels shows up as a failed row.
`dumbbell.spec.sweep` checks the file itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell.engines import Request
from dumbbell.engines.permissions import NOTHING, Permissions
from dumbbell.engines.requests import engine_called
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.spec.axes import Point, steps
from dumbbell.spec.sweep import Sweep, case_at, engines_used, selects, settings_at
from dumbbell.sweeps import identity
from dumbbell.sweeps.iproute2 import is_used

__all__ = ["check", "engines_of"]


def check(sweep: Sweep, allowed: Permissions = NOTHING) -> None:
    """Check that each level can run. Raises `ExperimentError` with the sweep's file, the axis and the value."""
    for point, keys in _levels(sweep):
        try:
            _plan(sweep, point, allowed)
        except DumbbellError as error:
            where = ", ".join(f"axes.{key}" for key in keys)
            value = point.values[keys[0]] if len(keys) == 1 else [point.values[key] for key in keys]
            problem = str(error).removeprefix(f"{sweep.file}: ")
            if not keys:
                raise
            raise ExperimentError(problem, file=str(sweep.file), key=f"{where} = {value!r}") from None


def engines_of(sweep: Sweep, allowed: Permissions = NOTHING) -> list[dict[str, Any]]:
    """The identity of every engine and kernel that the grid uses. Raises `DumbbellError`.

    It includes the machine's iproute2 if a level of an axis leaves commands to it.
    """
    used = engines_used(sweep)
    on_kernel = {name for name, _ in used} - {"sim"}
    levels = (case_at(sweep, point.values) for point, _ in _levels(sweep)) if on_kernel else ()
    tools = identity.iproute2() if any(is_used(case) for case in levels) else {}
    return sorted(
        (identity.engine(*pair, allowed) | (tools if pair[0] in on_kernel else {}) for pair in used), key=str
    )


def _levels(sweep: Sweep) -> Iterator[tuple[Point, list[str]]]:
    """The first point, then the first point with one level changed, each with the keys of that level.

    A level of the validation engine is combined with the first point that it validates.
    """
    first = {each.key: each.values[0] for each in sweep.every_axis}
    yield Point(0, first), []
    for table in sweep.axes:
        for level in steps(table):
            values = first | level
            yield Point(0, values if sweep.is_run(values) else _first_validated(sweep) | level), list(level)


def _first_validated(sweep: Sweep) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for table in sweep.axes:
        values |= next(
            (level for level in steps(table) if sweep.validate is None or selects(sweep.validate, level)), {}
        )
    return values


def _plan(sweep: Sweep, point: Point, allowed: Permissions) -> None:
    settings = settings_at(sweep, point.values)
    kernel = None if settings["engine"] == "sim" else settings["kernel"]
    engine = engine_called(settings["engine"], kernel, "engine", allowed=allowed)
    engine.check(Request(sweep.name, case_at(sweep, point.values), 1, Path(sweep.name)))
