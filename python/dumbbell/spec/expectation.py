"""What is expected of a result. `crates/experiment/src/expectation.rs` has the grammar.

What a name's value is in a run, `dumbbell.analysis.expect` looks up.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dumbbell import _sim
from dumbbell.spec.units import refused

__all__ = ["Expectation", "Metric", "parse_expectation", "parse_metric"]


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
