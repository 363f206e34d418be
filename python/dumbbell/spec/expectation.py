"""What is expected of a result, as a small grammar.

```text
expectation = name operator number      queue.delay_ms.p95 < 30
            | name "==" true|false|null cycle == null
            | name "in" low..high       groups.bbr.share in 0.6..0.8   (both ends belong to it)
name        = keys, or keys "from" time "to" time: of that part of the run only
                                        ping_ms.max from 40s to 42s < 180   (either may be left out)
keys        = the keys of `--json`, joined by dots; an item of a list by its name or its number from 0
operator    = "<" | "<=" | ">" | ">=" | "=="
```

Read by hand, never evaluated: experiment files come from strangers. What a name's value is in a run,
`dumbbell.analysis.expect` looks up.
"""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dumbbell.spec.units import Wrong, duration_ns

__all__ = ["Expectation", "Metric", "parse_expectation", "parse_metric"]


@dataclass(frozen=True)
class Metric:
    """A number of a run, and which part of the run it is of."""

    name: str
    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def whole(self) -> bool:
        """Is it of the whole run?"""
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
    """Read one expectation; needs no run. Raises `ValueError` that says what would be right."""
    match = _EXPRESSION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not an expectation; {_RIGHT}")
    name, sign, right = parse_metric(match["name"]), match["sign"] or "in", match["right"].strip()
    if sign == "in":
        low, dots, high = right.partition("..")
        if not dots:
            raise ValueError(f"'{right}' is not a range in '{text}'; write it as 0.6..0.8")
        bounds = _number(low, text), _number(high, text)
        if bounds[0] > bounds[1]:
            raise ValueError(f"the range {right} in '{text}' is empty; write the smaller number first")
        return Expectation(name, sign, *bounds)
    if sign == "==" and right in _WORDS:
        return Expectation(name, sign, _WORDS[right])
    return Expectation(name, sign, _number(right, text))


def parse_metric(text: str) -> Metric:
    """Read a metric's name, and its part of the run if it has one. Raises `ValueError`."""
    match = _METRIC.fullmatch(text.strip())
    if match is None or not all(match["name"].split(".")):
        raise ValueError(f"'{text}' is not a metric's name; {_RIGHT}")
    from_ns, to_ns = _time(match["start"], text), _time(match["end"], text)
    if to_ns is not None and to_ns <= (from_ns or 0):
        raise ValueError(f"the part of the run in '{text}' is empty; write the earlier time first")
    return Metric(match["name"], from_ns, to_ns)


_METRIC = re.compile(r"(?P<name>\S(?:.*?\S)??)(?:\s+from\s+(?P<start>[0-9]\S*))?(?:\s+to\s+(?P<end>[0-9]\S*))?")
_EXPRESSION = re.compile(r"(?P<name>[^<>=]*[^<>=\s])(?:\s*(?P<sign><=|>=|==|<|>)\s*|\s+in\s+)(?P<right>[^<>=]+)")
_RIGHT = "write a metric, one of < <= > >= == and a number, as in 'groups.bbr.share > 0.6', or 'x in 0.6..0.8'"
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": lambda left, right: math.isclose(left, right, rel_tol=1e-9),
}


def _time(word: str | None, text: str) -> int | None:
    try:
        return None if word is None else duration_ns(word)
    except Wrong as wrong:
        raise ValueError(f"{wrong.problem}: '{word}' in '{text}'; write {wrong.right}") from None


def _number(word: str, text: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"'{word.strip()}' is not a number in '{text}'; {_RIGHT}")
    return number
