"""What is expected of a result, and what the experiment's source reports.

What a name's value is in a run, `dumbbell.analysis.expect` looks up.

How a run compares is `dumbbell.analysis.expect`.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dumbbell import _sim
from dumbbell.spec.model import Seen
from dumbbell.spec.units import refused

__all__ = ["Expectation", "Metric", "ends_of", "figure_text", "parse_expectation", "parse_metric", "units_of"]


@dataclass(frozen=True)
class Metric:
    """A number of a run, and which part of the run it is of."""

    name: str
    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def whole(self) -> bool:
        """Is it of the entire run?"""
        return self.from_ns is None and self.to_ns is None


@dataclass(frozen=True)
class Expectation:
    """One parsed expectation."""

    metric: Metric
    operator: str
    """One of `< <= > >= == in`."""
    value: float | bool | None
    """What it is compared with; the lower end for `in`."""
    high: float | None = None
    """The upper end for `in`."""

    def holds(self, value: object) -> bool:
        """Whether the metric's value is as expected; what isn't known (null) meets only `== null`."""
        if self.operator == "==" and (self.value is None or isinstance(self.value, bool)):
            return value is self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.operator == "in":
            assert self.value is not None
            assert self.high is not None
            return self.value <= value <= self.high
        return _COMPARISONS[self.operator](value, self.value)


def parse_expectation(text: str) -> Expectation:
    """Read one expectation; needs no run. Raises `Wrong`."""
    with refused():
        name, from_ns, to_ns, sign, value, high = _sim.parse_expectation(text)
    return Expectation(Metric(name, from_ns, to_ns), sign, value, high)


def parse_metric(text: str) -> Metric:
    """Read a metric's name, and its part of the run if it has one. Raises `Wrong`."""
    with refused():
        return Metric(*_sim.parse_metric(text))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": lambda left, right: math.isclose(left, right, rel_tol=1e-9),
}


@cache
def units_of(metric: str) -> Mapping[str, float]:
    """The units that a metric may be stated in, its own first: `flows.bbr.rtt_ms.p95` has ms, us and s.

    Raises `Wrong`.
    """
    with refused():
        return dict(_sim.units_of(metric))


def ends_of(seen: Seen) -> tuple[float | None, float | None]:
    """Both ends of a figure; of a single value the same twice."""
    return (seen.low, seen.high) if seen.value is None else (seen.value, seen.value)


def figure_text(ends: tuple[float | None, float | None], unit: str, show: Callable[[float], str]) -> str:
    """A figure as people write it: `1,620 Mbit/s`, `16 to 122 packets`, `1,000 ms or more`; `show` writes a number."""
    low, high = ends
    if low is not None and high is not None:
        return f"{show(low) if low == high else f'{show(low)} to {show(high)}'} {unit}".rstrip()
    end, word = (high, "or less") if low is None else (low, "or more")
    return "" if end is None else f"{f'{show(end)} {unit}'.rstrip()} {word}"
