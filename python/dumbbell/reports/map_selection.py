"""The maps on a sweep's page: those that the sweep file or the caller requests, else the default ones."""

from collections.abc import Sequence

import polars as pl

from dumbbell.errors import ExperimentError, ResultError
from dumbbell.plots.sweep_map import PANELS_MAX
from dumbbell.spec.axes import Axis
from dumbbell.spec.sweep import Map, read_map
from dumbbell.sweeps.folder import Sweep

__all__ = ["default_map", "maps_of"]

VALUES_MAX = 3
USUAL = ("utilization", "queue.delay_ms.mean", "jain")
"""Default values, after the first group's share or throughput."""


def maps_of(sweep: Sweep, values: Sequence[str] = ()) -> tuple[list[Map], str]:
    """The maps, and a note on their choice. Raises `ResultError` for a map that can't be parsed."""
    if values:
        return [default_map(sweep, value) for value in values], ""
    try:
        requested = [read_map(**entry) for entry in sweep.manifest.get("maps") or []]
    except (ExperimentError, TypeError) as error:
        raise ResultError(f"{sweep.folder}: a map in its manifest is not valid: {error}") from error
    if requested:
        return requested, ""
    return [
        default_map(sweep, value) for value in usual(sweep)
    ], "The sweep file requests no maps; these are the defaults. "


def usual(sweep: Sweep) -> list[str]:
    """The default values to map. Raises `ResultError` for a sweep without any metric."""
    shares = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".share")]
    rates = [name for name in sweep.metrics if name.startswith("groups.") and name.endswith(".throughput_mbps")]
    found = [*(shares or rates)[:1], *(name for name in USUAL if name in sweep.metrics)] or sweep.metrics
    known = [name for name in found if sweep.runs.filter(pl.col("status") == "ok")[name].drop_nulls().len()]
    if not known:
        raise ResultError(f"{sweep.folder}: no valid run has a metric; dumbbell stats shows why")
    return known[:VALUES_MAX]


def default_map(sweep: Sweep, value: str) -> Map:
    """A map of this value: the two longest numeric axes as x and y, the others as panels.

    An axis that exceeds `PANELS_MAX` is fixed at its first value, which the map names.
    """
    free = sorted(_free(sweep), key=lambda axis: (axis.numbers is None, -_length(sweep, axis)))
    if not free:
        return read_map(value=value, x="seed")
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
    return read_map(
        value=value, x=x.key, y=y.key if y else None, panels=tuple(panels),
        where=" and ".join(conditions) or None, middle=0.5 if value.endswith(".share") and _two(sweep) else None,
        contour=(0.5,) if value.endswith(".share") and _two(sweep) else (),
    )  # fmt: skip


def _free(sweep: Sweep) -> list[Axis]:
    """The axes that vary independently, without those that earlier axes determine."""
    found: list[Axis] = []
    for axis in sweep.axes.values():
        keys = [each.key for each in found]
        before = sweep.runs.select(keys).n_unique() if keys else 1
        if sweep.runs.select([*keys, axis.key]).n_unique() > before:
            found.append(axis)
    return found


def _two(sweep: Sweep) -> bool:
    """Do exactly two groups share the path, so that 0.5 is an equal share?"""
    return sum(name.endswith(".share") for name in sweep.metrics) == 2


def _length(sweep: Sweep, axis: Axis) -> int:
    return sweep.runs[axis.key].n_unique()


def _first_of(sweep: Sweep, axis: Axis) -> str:
    value = sweep.runs[axis.key].drop_nulls()[0]
    return f'"{axis.key}" = ' + ("'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value))
