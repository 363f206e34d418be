"""What a sweep varies: axes of values, and the points where they cross.

`crates/experiment/src/axes.rs` parses lists and ranges. Values stay as written, for they go into an experiment;
each that is a quantity also has its number in one unit, so that a map has a scale.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell import _sim
from dumbbell.spec.units import refused

__all__ = [
    "UNITS",
    "Axis",
    "Point",
    "Scale",
    "axis",
    "axis_of_values",
    "between",
    "points",
    "steps",
    "value_near",
    "written",
]

Scale = Literal["linear", "log", "category"]
UNITS = frozenset(_sim.AXIS_UNITS)
"""What the numbers of an axis may be in: milliseconds, Mbit/s, per cent, bandwidth-delay products, bytes."""


@dataclass(frozen=True)
class Axis:
    """One key and the values that it takes, in order."""

    key: str
    values: tuple[Any, ...]
    """As written."""
    scale: Scale
    numbers: tuple[float, ...] | None
    """The values in the column's unit; None where they are names."""
    unit: str | None = None
    """Of the numbers, where the values are quantities: ms, mbps, percent, bdp or bytes."""
    is_range: bool = False
    """Is it written as a range, so that a search may also take values between these?"""

    @property
    def column(self) -> str:
        """The column to plot: of the numbers where the values are quantities."""
        return f"{self.key}_{self.unit}" if self.unit else self.key

    @property
    def whole(self) -> bool:
        """Are all values whole numbers?"""
        return all(isinstance(value, int) and not isinstance(value, bool) for value in self.values)

    def number(self, value: object) -> float:
        """The number of a value in this axis's unit, also of one between its values. Raises `Wrong`."""
        if self.unit is None:
            return float(value)  # type: ignore[arg-type]
        with refused():
            return _sim.number_of(self.unit, value)


@dataclass(frozen=True)
class Point:
    """One value of every axis."""

    number: int
    values: Mapping[str, Any]


def axis(key: str, value: object) -> Axis:
    """An axis from a list of values or a range. Raises `Wrong`."""
    with refused():
        return axis_of_values(_sim.parse_axis(key, value))


def axis_of_values(values: Mapping[str, Any]) -> Axis:
    """The axis that `crates/experiment` parsed."""
    numbers = values["numbers"]
    return Axis(
        values["key"],
        tuple(values["values"]),
        values["scale"],
        None if numbers is None else tuple(numbers),
        values["unit"],
        values["is_range"],
    )


def between(shape: Axis, low: float, high: float) -> tuple[Any, float] | None:
    """The value half-way between two numbers of an axis with numbers, with its number; None where there is none."""
    return _sim.value_between(shape.scale, shape.unit, shape.whole, low, high)


def value_near(shape: Axis, number: float) -> Any:
    """The value of an axis with numbers that is written for a number, rounded to three digits."""
    return _sim.value_of_number(shape.unit, shape.whole, number)[0]


def steps(table: Sequence[Axis]) -> list[dict[str, Any]]:
    """The values of axes that go together, step by step."""
    return [{each.key: each.values[at] for each in table} for at in range(len(table[0].values))]


def points(tables: Sequence[Sequence[Axis]]) -> Iterator[Point]:
    """Every combination of the tables; the axes of one table go together. The last table varies fastest."""
    for number, parts in enumerate(itertools.product(*map(steps, tables))):
        yield Point(number, {key: value for part in parts for key, value in part.items()})


def written(value: object) -> Any:
    """A value as a table holds it: numbers and texts as they are, anything else as JSON, which TOML resembles."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
