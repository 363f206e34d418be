"""A metric by its name, and what is expected of it.

```text
expectation = name operator number      queue.delay_ms.p95 < 30
            | name "==" true|false|null cycle == null
            | name "in" low..high       groups.bbr.share in 0.6..0.8   (both ends belong to it)
name        = the keys of `--json`, joined by dots; an item of a list by its name or its number from 0
operator    = "<" | "<=" | ">" | ">=" | "=="
```

Knows the words, not what they mean: the numbers come from `summary`.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import ResultError

__all__ = ["Expectation", "Outcome", "check", "metric", "parse_expectation"]


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


@dataclass(frozen=True)
class Outcome:
    """What became of one expectation."""

    expression: str
    value: float | int | bool | str | None
    """The metric's value in this run."""
    passed: bool


def check(summary: Mapping[str, Any], expression: str) -> Outcome:
    """Compare a summary with an expectation such as `groups.bbr.share > 0.6`.

    Raises `ValueError` for an expression that can't be read, `ResultError` for a metric that doesn't exist.
    """
    expected = parse_expectation(expression)
    value = metric(summary, expected.metric)
    if isinstance(value, Mapping | list) and expected.value is not None:
        names = ", ".join(_names(value))
        raise ResultError(f"'{expected.metric}' is no single number; it holds: {names}")
    shown = value if isinstance(value, float | int | str) else None
    return Outcome(expression, shown, expected.holds(value))


def metric(summary: Mapping[str, Any], name: str) -> object:
    """Look a dotted name up: `groups.bbr.share`, `flows.bbr-1.rtt_ms.p95`, `flows.0.bytes`.

    What lies inside an unknown (null) is unknown too. Raises `ResultError`, with the names that exist there,
    when a part of the name doesn't.
    """
    value: object = summary
    parts = name.split(".")
    done = 0
    while done < len(parts) and value is not None:
        # A flow's or group's own name may hold dots, so more and more parts are tried together.
        for upto in range(done + 1, len(parts) + 1):
            found, inner = _item(value, ".".join(parts[done:upto]))
            if found:
                value, done = inner, upto
                break
        else:
            raise _unknown(value, parts, done)
    return value


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


def _item(value: object, name: str) -> tuple[bool, Any]:
    if isinstance(value, Mapping):
        return name in value, value.get(name)
    if isinstance(value, list):
        for position, item in enumerate(value):
            if isinstance(item, Mapping) and item.get("name") == name:
                return True, item
            if name.isdecimal() and position == int(name) and name not in _names(value):
                return True, item
    return False, None


def _unknown(value: object, parts: list[str], done: int) -> ResultError:
    whole = ".".join(parts)
    at = f"'{'.'.join(parts[:done])}'" if done else "a summary"
    names = ", ".join(_names(value))
    holds = f"{at} holds: {names}" if names else f"{at} is a single value"
    return ResultError(f"'{whole}': there is no '{parts[done]}'; {holds}")


def _names(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [str(name) for name in value]
    if isinstance(value, list):
        return [str(item.get("name", at)) if isinstance(item, Mapping) else str(at) for at, item in enumerate(value)]
    return []
