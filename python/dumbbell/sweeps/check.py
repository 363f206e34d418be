"""Slips found before the first run: every level of every axis is planned once, on the engine that is asked there.

One level at a time, from the first point: what only two levels together can't do is a failed row. What a sweep file may
say at all, `dumbbell.spec.sweep` checks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell.engine import Request
from dumbbell.engine.permissions import NOTHING, Permissions
from dumbbell.engine.requests import engine_called
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.spec.axes import Point, steps
from dumbbell.spec.sweep import Sweep, case_at, engines_named, settings_at
from dumbbell.sweeps import identity

__all__ = ["check", "engines_of"]


def check(sweep: Sweep, allowed: Permissions = NOTHING) -> None:
    """Can each level be run? Raises `ExperimentError` that names the sweep's file, the axis and the value."""
    for point, keys in _levels(sweep):
        try:
            _plan(sweep, point, allowed)
        except DumbbellError as error:
            where = ", ".join(f"axes.{key}" for key in keys)
            value = point.values[keys[0]] if len(keys) == 1 else [point.values[key] for key in keys]
            told = str(error).removeprefix(f"{sweep.file}: ")
            if not keys:
                raise
            raise ExperimentError(told, file=str(sweep.file), key=f"{where} = {value!r}") from None


def engines_of(sweep: Sweep, allowed: Permissions = NOTHING) -> list[dict[str, Any]]:
    """The identity of every engine and kernel that the grid asks for. Raises `DumbbellError`."""
    return sorted((identity.engine(*pair, allowed) for pair in engines_named(sweep)), key=str)


def _levels(sweep: Sweep) -> Iterator[tuple[Point, list[str]]]:
    """The first point, then it with one level changed, and whose; of what runs beside, the first point that does."""
    first = {each.key: each.values[0] for each in sweep.every_axis}
    yield Point(0, first), []
    for table in sweep.axes:
        for level in steps(table):
            values = first | level
            yield Point(0, values if sweep.is_run(values) else _first_beside(sweep) | level), list(level)


def _first_beside(sweep: Sweep) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for table in sweep.axes:
        values |= next((level for level in steps(table) if sweep.beside is None or sweep.beside.means(level)), {})
    return values


def _plan(sweep: Sweep, point: Point, allowed: Permissions) -> None:
    settings = settings_at(sweep, point.values)
    kernel = None if settings["engine"] == "sim" else settings["kernel"]
    engine = engine_called(settings["engine"], kernel, "engine", allowed=allowed)
    engine.check(Request(sweep.name, case_at(sweep, point.values), 1, Path(sweep.name)))
