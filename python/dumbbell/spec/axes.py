"""What a sweep varies: axes of values, ranges spread over them, and the points where they cross.

Values stay as written, for they go into an experiment; beside each stands its number in one unit, so that
a map has a scale. What a point's experiment says is `dumbbell.spec.sweep`.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["RANGE", "UNITS", "Axis", "Point", "Scale", "axis", "between", "points", "steps", "written"]

Scale = Literal["linear", "log", "category"]

MOST_VALUES = 10_000
MOST_WHOLE = 2**63
"""A column of whole numbers holds no larger ones."""
DIGITS = (4, 6, 8, 10, 12)
"""Of a value within a range: as few as tell it from its neighbours, so that it can be read."""
WIDE = 10
"""A list whose largest number is so many times its smallest lies on a logarithmic scale."""
RANGE = frozenset({"from", "to", "points", "scale"})
"""The keys of a range."""


@dataclass(frozen=True)
class _Unit:
    """A kind of quantity, with the unit that its numbers have in tables."""

    suffix: str
    """Of the column."""
    word: str
    """As an experiment writes it."""
    read: Callable[[object], float]


def _in_bdp(value: object) -> float:
    products = units.size_or_bdp(value)
    if isinstance(products, int):
        raise Wrong("not a number of bandwidth-delay products", "such as 1.5bdp")
    return products


def _in_percent(value: object) -> float:
    """As written: a hundred times a share of one is 0.30000000000000004 where the file has 0.3 %."""
    units.share(value)
    return float(str(value).removesuffix("%"))


_UNITS = (
    _Unit("ms", "ms", lambda value: units.duration_ns(value) / 1e6),
    _Unit("mbps", "mbit", lambda value: units.rate_bps(value) / 1e6),
    _Unit("percent", "%", _in_percent),
    _Unit("bdp", "bdp", _in_bdp),
    _Unit("bytes", "b", lambda value: float(units.size_bytes(value))),
)
UNITS = frozenset(each.suffix for each in _UNITS)
"""What the numbers of an axis may be in."""
_HAS_UNIT = re.compile(r"[0-9.]+(?:e[+-]?[0-9]+)?[A-Za-z%]+")


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

    @property
    def column(self) -> str:
        """The column to plot: of the numbers where the values are quantities."""
        return f"{self.key}_{self.unit}" if self.unit else self.key

    @property
    def whole(self) -> bool:
        """Are all values whole numbers?"""
        return all(isinstance(value, int) and not isinstance(value, bool) for value in self.values)

    def number(self, value: object) -> float:
        """The number of a value in this axis's unit, also of one between its values."""
        if self.unit is None:
            return float(value)  # type: ignore[arg-type]
        kind = next((each for each in _UNITS if each.suffix == self.unit), None)
        if kind is None:
            raise ValueError(f"'{self.unit}' is not a unit of an axis")
        return kind.read(value)


@dataclass(frozen=True)
class Point:
    """One value of every axis."""

    number: int
    values: Mapping[str, Any]


def axis(key: str, value: object) -> Axis:
    """An axis from a list of values or a range. Raises `Wrong`."""
    if isinstance(value, dict):
        return _ranged(key, value)
    if not isinstance(value, list | tuple) or not value:
        raise Wrong("not a list of values", 'such as ["5ms", "20ms"], or { from = "1ms", to = "100ms", points = 5 }')
    if len(value) > MOST_VALUES:
        raise Wrong(f"more than {MOST_VALUES} values", "fewer of them")
    for each in value:
        _check(each)
    unit, numbers = _numbers(value)
    return Axis(key, tuple(value), _scale(numbers), numbers, unit)


def between(shape: Axis, low: float, high: float) -> tuple[Any, float] | None:
    """The value half-way between two numbers of an axis with numbers, with its number; None where there is none."""
    middle = _on_the_way((low, high), 0.5, shape.scale)
    for digits in DIGITS:
        value, number = _as_value(middle, shape.unit, digits, whole=shape.whole)
        if low < number < high:
            return value, number
    return None


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


def _check(value: object, depth: int = 0) -> None:
    """Is it a value that an experiment and a table can hold? Raises `Wrong`."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong(f"{value} is not a number that an experiment can have", "a finite one")
    if isinstance(value, int) and not -MOST_WHOLE <= value < MOST_WHOLE:
        raise Wrong("an integer of more than 64 bits", "a smaller one")
    if isinstance(value, list | tuple | dict) and depth < 8:
        for each in value.values() if isinstance(value, dict) else value:
            _check(each, depth + 1)
    elif not isinstance(value, int | float | str):
        raise Wrong("a type that experiments can't have", "numbers, texts, true and false, or lists and tables of them")


def _ranged(key: str, value: Mapping[str, Any]) -> Axis:
    right = '{ from = "1ms", to = "100ms", points = 5, scale = "log" }'
    if unknown := set(value) - RANGE:
        raise Wrong(f"unknown key '{min(unknown)}' in a range", right)
    if missing := {"from", "to", "points"} - set(value):
        raise Wrong(f"a range without '{min(missing)}'", right)
    count, scale = value["points"], value.get("scale", "linear")
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise Wrong("not a number of points", f"a whole number from 2 to {MOST_VALUES}")
    if scale not in ("linear", "log"):
        raise Wrong(f"'{scale}' is not a scale", "linear or log")
    ends = [value["from"], value["to"]]
    for end in ends:
        _check(end)
    unit, numbers = _numbers(ends)
    if numbers is None or not numbers[0] < numbers[1]:
        raise Wrong("the range must rise, between values of one unit", right)
    if scale == "log" and numbers[0] <= 0:
        raise Wrong("a logarithmic range can't begin at 0", "begin above 0, or use a linear one")
    return _spread(Axis(key, tuple(ends), scale, numbers, unit), count)


def _spread(ends: Axis, count: int) -> Axis:
    """An axis of this many values between its two, both of which stay as they are written. Raises `Wrong`."""
    assert ends.numbers is not None
    low, high = ends.numbers
    for digits in DIGITS:
        inner = [
            _as_value(_on_the_way((low, high), at / (count - 1), ends.scale), ends.unit, digits, whole=ends.whole)
            for at in range(1, count - 1)
        ]
        made = [(ends.values[0], low), *inner, (ends.values[1], high)]
        if all(first < second for (_, first), (_, second) in itertools.pairwise(made)):
            values, numbers = zip(*made, strict=True)
            return Axis(ends.key, values, ends.scale, numbers, ends.unit)
    known = dict.fromkeys(value for value, _ in made)
    listed = ", ".join(json.dumps(value) for value in list(known)[:MOST_LISTED])
    raise Wrong(
        f"only {len(known)} different values are in the range, not {count}",
        f"ask for fewer points, or list them: [{listed}{', …' if len(known) > MOST_LISTED else ''}]",
    )


MOST_LISTED = 20


def _on_the_way(ends: Sequence[float], part: float, scale: str) -> float:
    low, high = ends
    return low * (high / low) ** part if scale == "log" else low * (1 - part) + high * part


def _as_value(number: float, unit: str | None, digits: int, *, whole: bool) -> tuple[Any, float]:
    """A number of a unit as an experiment writes it, and the number that this says."""
    short = float(f"{number:.{digits}g}")
    if unit is None:
        value = round(number) if whole else short
        return value, float(value)
    kind = next(each for each in _UNITS if each.suffix == unit)
    if unit == "bytes":
        short = round(short)
    text = f"{Decimal(repr(short)).normalize():f}{kind.word}"
    try:
        return text, kind.read(text)
    except Wrong:  # Too small for its unit, such as less than a bit per second: no value of this axis.
        return text, math.nan


def _numbers(values: Sequence[object]) -> tuple[str | None, tuple[float, ...] | None]:
    """What all values are: their unit, where they have one, and their numbers."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return None, tuple(float(value) for value in values)  # type: ignore[arg-type]
    if not all(isinstance(value, str) and _HAS_UNIT.fullmatch(value) for value in values):
        return None, None
    for kind in _UNITS:
        try:
            return kind.suffix, tuple(kind.read(value) for value in values)
        except Wrong:
            continue
    return None, None


def _scale(numbers: Sequence[float] | None) -> Scale:
    if numbers is None:
        return "category"
    return "log" if min(numbers) > 0 and max(numbers) >= WIDE * min(numbers) else "linear"
