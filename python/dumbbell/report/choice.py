"""Which maps a sweep's page shows: those that were asked for, or else the first ones that anybody would look at."""

from collections.abc import Sequence

import polars as pl
from pydantic import ValidationError

from dumbbell.errors import ResultError
from dumbbell.plot.swept import PANELS_MAX
from dumbbell.spec.axes import Axis
from dumbbell.spec.sweep import Map
from dumbbell.sweeps.folder import Sweep

__all__ = ["default_map", "maps_of"]

VALUES_MAX = 3
USUAL = ("utilisation", "queue.delay_ms.mean", "jain")
"""After a group's share, or else its throughput."""


def maps_of(sweep: Sweep, values: Sequence[str] = ()) -> tuple[list[Map], str]:
    """The maps, and what to say of their choice. Raises `ResultError` for one that can't be read."""
    if values:
        return [default_map(sweep, value) for value in values], ""
    try:
        asked = [Map.model_validate(entry) for entry in sweep.birth.get("maps") or []]
    except ValidationError as error:
        raise ResultError(f"{sweep.folder}: a map of its certificate can't be read: {error}") from error
    if asked:
        return asked, ""
    return [
        default_map(sweep, value) for value in usual(sweep)
    ], "The sweep asks for no maps; these are the usual ones. "


def usual(sweep: Sweep) -> list[str]:
    """The values that anybody would look at first. Raises `ResultError` for a sweep without any metric."""
    shares = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".share")]
    rates = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".throughput_mbps")]
    found = [*(shares or rates)[:1], *(name for name in USUAL if name in sweep.metrics)] or sweep.metrics
    known = [name for name in found if sweep.runs.filter(pl.col("status") == "ok")[name].drop_nulls().len()]
    if not known:
        raise ResultError(f"{sweep.folder}: no run is valid and has a metric; dumbbell stats says why")
    return known[:VALUES_MAX]


def default_map(sweep: Sweep, value: str) -> Map:
    """A map of this value: the two longest axes with numbers across and up, the others as panels.

    Of what has no room among the panels, only the first value is shown; the map says which.
    """
    free = sorted(_free(sweep), key=lambda axis: (axis.numbers is None, -_length(sweep, axis)))
    if not free:
        return Map(value=value, x="seed")
    x, y, *others = [*free, None, None][: max(len(free), 2)]
    assert x is not None
    panels, conditions, count = [], [], 1
    for axis in others:
        assert axis is not None
        if count * _length(sweep, axis) <= PANELS_MAX:
            panels.append(axis.key)
            count *= _length(sweep, axis)
        else:
            conditions.append(_first_of(sweep, axis))
    return Map(
        value=value, x=x.key, y=y.key if y else None, panels=tuple(panels),
        where=" and ".join(conditions) or None, middle=0.5 if value.endswith(".share") and _two(sweep) else None,
        contour=(0.5,) if value.endswith(".share") and _two(sweep) else (),
    )  # fmt: skip


def _free(sweep: Sweep) -> list[Axis]:
    """The axes that vary, without those that follow from earlier ones: they go together."""
    found: list[Axis] = []
    for axis in sweep.axes.values():
        keys = [each.key for each in found]
        before = sweep.runs.select(keys).n_unique() if keys else 1
        if sweep.runs.select([*keys, axis.key]).n_unique() > before:
            found.append(axis)
    return found


def _two(sweep: Sweep) -> bool:
    """Do two groups share the path, so that a half is the middle?"""
    return sum(name.endswith(".share") for name in sweep.metrics) == 2


def _length(sweep: Sweep, axis: Axis) -> int:
    return sweep.runs[axis.key].n_unique()


def _first_of(sweep: Sweep, axis: Axis) -> str:
    value = sweep.runs[axis.key].drop_nulls()[0]
    return f'"{axis.key}" = ' + ("'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value))
