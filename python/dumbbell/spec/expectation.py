"""What is expected of a result, as a small grammar.

```text
expectation = name operator number      queue.delay_ms.p95 < 30
            | name "==" true|false|null cycle == null
            | name "in" low..high       groups.bbr.share in 0.6..0.8   (both ends belong to it)
name        = the keys of `--json`, joined by dots; an item of a list by its name or its number from 0
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

__all__ = ["Expectation", "parse_expectation"]


@dataclass(frozen=True)
class Expectation:
    """One parsed expectation."""

    metric: str
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
        raise ValueError(f"'{text}' is no expectation; {_RIGHT}")
    name, sign, right = match["name"], match["sign"] or "in", match["right"].strip()
    if not all(name.split(".")):
        raise ValueError(f"'{name}' is no metric's name in '{text}'; {_RIGHT}")
    if sign == "in":
        low, dots, high = right.partition("..")
        if not dots:
            raise ValueError(f"'{right}' is no range in '{text}'; write it as 0.6..0.8")
        bounds = _number(low, text), _number(high, text)
        if bounds[0] > bounds[1]:
            raise ValueError(f"the range {right} in '{text}' is empty; write the smaller number first")
        return Expectation(name, sign, *bounds)
    if sign == "==" and right in _WORDS:
        return Expectation(name, sign, _WORDS[right])
    return Expectation(name, sign, _number(right, text))


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


def _number(word: str, text: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"'{word.strip()}' is no number in '{text}'; {_RIGHT}")
    return number
