"""Metrics by name, and the evaluation of expectations.

`dumbbell.spec.expectation` has the grammar; `summary` supplies the numbers, over the whole run or a metric's window.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.analysis.summary import summary
from dumbbell.analysis.window import NS, Window
from dumbbell.errors import ResultError
from dumbbell.results.result import Run
from dumbbell.spec.expectation import Expectation, Metric, parse_expectation, parse_metric
from dumbbell.spec.qdisc import suggest

__all__ = ["Expectation", "Metric", "Outcome", "Reader", "check", "metric", "parse_expectation", "parse_metric"]


@dataclass(frozen=True)
class Outcome:
    """The result of an expectation."""

    expression: str
    value: float | int | bool | str | None
    """The metric's value in this run."""
    passed: bool


class Reader:
    """Look up a run's numbers, computing the summary of each window once."""

    def __init__(self, run: Run, numbers: Mapping[str, Any] | None = None) -> None:
        self._run = run
        self._summaries: dict[Window | None, Mapping[str, Any]] = {} if numbers is None else {None: numbers}

    def check(self, expressions: Iterable[str]) -> list[Outcome]:
        """Evaluate expectations.

        An expectation on a window that the run never reached fails. Raises as `check` does.
        """
        outcomes = []
        for text in expressions:
            numbers = self._summary(parse_expectation(text).metric)
            outcomes.append(Outcome(text, None, passed=False) if numbers is None else check(numbers, text))
        return outcomes

    def value(self, text: str) -> object:
        """A metric by name, such as `ping_ms.max from 40s to 42s`; None if the run never reached its window.

        Raises `ValueError` for an invalid name, `ResultError` for a metric that doesn't exist.
        """
        parsed = parse_metric(text)
        numbers = self._summary(parsed)
        return None if numbers is None else metric(numbers, parsed.name)

    def _summary(self, of: Metric) -> Mapping[str, Any] | None:
        end_ns = round(self._run.manifest["duration_s"] * NS)
        window = None if of.whole else (of.from_ns or 0, end_ns if of.to_ns is None else min(of.to_ns, end_ns))
        if window is not None and window[0] >= window[1]:
            return None
        if window not in self._summaries:
            self._summaries[window] = summary(self._run, window)
        return self._summaries[window]


def check(summary: Mapping[str, Any], expression: str) -> Outcome:
    """Compare a summary with an expectation such as `groups.bbr.share > 0.6`; the caller chooses the window.

    Raises `ValueError` for an invalid expression, `ResultError` for a metric that doesn't exist.
    """
    expected = parse_expectation(expression)
    value = metric(summary, expected.metric.name)
    if isinstance(value, Mapping | list) and expected.value is not None:
        names = ", ".join(_names(value))
        raise ResultError(f"'{expected.metric.name}' is not a single number; it contains: {names}")
    shown = value if isinstance(value, float | int | str) else None
    return Outcome(expression, shown, expected.holds(value))


def metric(summary: Mapping[str, Any], name: str) -> object:
    """Look up a dotted name: `groups.bbr.share`, `flows.bbr-1.rtt_ms.p95`, `flows.0.bytes`.

    A name inside an unknown (null) object is unknown too. Raises `ResultError` with the valid names if part of the name
    doesn't exist.
    """
    value: object = summary
    parts = name.split(".")
    done = 0
    while done < len(parts) and value is not None:
        # A flow's or group's name may contain dots, so try increasingly many parts together.
        for upto in range(done + 1, len(parts) + 1):
            found, inner = _item(value, ".".join(parts[done:upto]))
            if found:
                value, done = inner, upto
                break
        else:
            raise _unknown(value, parts, done)
    return value


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
    name = ".".join(parts)
    at = f"'{'.'.join(parts[:done])}'" if done else "a summary"
    names = _names(value)
    meant, mark, _ = suggest(parts[done], names).partition("? ")
    meant = meant + mark if mark else ""
    contents = f"{meant}{at} has: {', '.join(names)}" if names else f"{at} is a single value"
    return ResultError(f"'{name}': no such key '{parts[done]}'; {contents}")


def _names(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [str(name) for name in value]
    if isinstance(value, list):
        return [str(item.get("name", at)) if isinstance(item, Mapping) else str(at) for at, item in enumerate(value)]
    return []
