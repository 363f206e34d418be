"""Metrics by name, the evaluation of expectations, and figures of an experiment's source against a run's.

`crates/experiment` has the grammar of expectations, and which figures a source may have; `summary` supplies the
numbers, over the whole run or a metric's window.
"""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell import _sim
from dumbbell.analysis import names
from dumbbell.analysis.native import NS, Window
from dumbbell.analysis.summary import summary
from dumbbell.errors import DumbbellError, ExperimentError, PlanError, ResultError
from dumbbell.plan import Plan, plan_case, plan_remote, queue_names
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.spec.units import refused, suggest

if TYPE_CHECKING:
    from dumbbell.spec.keys import Seen

__all__ = [
    "Expectation",
    "FigureComparison",
    "Metric",
    "Outcome",
    "Reader",
    "check",
    "check_expected",
    "compare_source_figures",
    "ends_of",
    "figure_text",
    "metric",
    "parse_expectation",
    "parse_metric",
    "units_of",
]


@dataclass(frozen=True)
class Metric:
    """A number of a run, and which part of the run it is of."""

    name: str
    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def of_entire_run(self) -> bool:
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


def ends_of(seen: "Seen") -> tuple[float | None, float | None]:
    """Both ends of a figure; of a single value the same twice."""
    return (seen.low, seen.high) if seen.value is None else (seen.value, seen.value)


def figure_text(ends: tuple[float | None, float | None], unit: str, show: Callable[[float], str]) -> str:
    """A figure as people write it: `1,620 Mbit/s`, `16 to 122 packets`, `1,000 ms or more`; `show` writes a number."""
    low, high = ends
    if low is not None and high is not None:
        return f"{show(low) if low == high else f'{show(low)} to {show(high)}'} {unit}".rstrip()
    end, word = (high, "or less") if low is None else (low, "or more")
    return "" if end is None else f"{f'{show(end)} {unit}'.rstrip()} {word}"


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
        end_ns = round(self._run.manifest.duration_s * NS)
        window = None if of.of_entire_run else (of.from_ns or 0, end_ns if of.to_ns is None else min(of.to_ns, end_ns))
        if window is not None and window[0] >= window[1]:
            return None
        if window not in self._summaries:
            self._summaries[window] = summary(self._run, window)
        return self._summaries[window]


def check_expected(cases: Iterable[Case]) -> None:
    """Look up the metric of every expectation before the run: a misspelt one would be found after it.

    Raises `ExperimentError` with the valid names.
    """
    for case in cases:
        plans = list(_plans(case)) if case.experiment.expect else []
        if not plans:
            continue
        flows = [(flow.name, flow.group, flow.bytes is not None) for flow in plans[0].flows]
        queues = dict.fromkeys(queue.name for plan in plans for queue in plan.queues)
        shape = names.shape(flows, list(queues), [each.name for each in plans[0].programs])
        for number, text in enumerate(case.experiment.expect):
            try:
                check(shape, text)
            except ResultError as error:
                raise ExperimentError(
                    "no such metric", file=str(case.file), key=f"expect.{number}", value=text, right=str(error)
                ) from None


def _plans(case: Case) -> Iterator[Plan]:
    """The plans that a case may run by: that of hosts of this host, and that of its real hosts, whose queues differ."""
    seed, hosts = case.experiment.seeds[0], case.experiment.hosts
    # What can't be planned, the engine says; a file with real hosts may be meant for them alone.
    with suppress(PlanError if hosts is None else DumbbellError):
        yield plan_case(case, seed)
    if hosts is not None:
        with suppress(DumbbellError):
            yield plan_remote(case, seed).plan


def check(summary: Mapping[str, Any], expression: str) -> Outcome:
    """Compare a summary with an expectation such as `groups.bbr.share > 0.6`; the caller chooses the window.

    Raises `ValueError` for an invalid expression, `ResultError` for a metric that doesn't exist.
    """
    expected = parse_expectation(expression)
    value = metric(summary, expected.metric.name)
    if expected.metric.name.startswith("groups.") and expected.metric.name.endswith(".fct_s"):
        # Alone it is the mean, as it was before it had a spread.
        value = value["mean"] if isinstance(value, Mapping) else value
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
        name = name if name in value else queue_names.today(name)
        return name in value, value.get(name)
    if isinstance(value, list):
        alias = None
        for position, item in enumerate(value):
            if isinstance(item, Mapping) and item.get("name") == name:
                return True, item
            if isinstance(item, Mapping) and item.get("name") == item.get("group") == names.sole_flow(name):
                alias = item
            if name.isdecimal() and position == int(name) and name not in _names(value):
                return True, item
        return alias is not None, alias
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


_Show = Callable[[float], str]
"""Formats a number."""


@dataclass(frozen=True)
class FigureComparison:
    """One figure of the source and the run's, both in the source's unit."""

    what: str
    metric: str
    unit: str
    low: float | None
    """The lower end of the range, or the value itself; None: open."""
    high: float | None
    here: float | None
    """None: unknown in this run."""
    problem: str = ""
    """Why the figures can't be compared."""

    @property
    def ratio(self) -> float | None:
        """The run's figure ÷ the source's value, or ÷ the end of its range that it exceeds; None inside the range."""
        bound = self._beyond()
        return None if self.here is None or not bound else self.here / bound

    @property
    def inside(self) -> bool | None:
        """Whether the run is within the source's range; None for a single value, or if unknown."""
        return None if self.here is None or self.low == self.high else self._beyond() is None

    def reported(self, show: _Show) -> str:
        """The source's figure, formatted by `figure_text`."""
        return figure_text((self.low, self.high), self.unit, show)

    def measured(self, show: _Show) -> str:
        """The run's figure in the same unit, or why there is none."""
        return self.problem or (
            "unknown" if self.here is None else figure_text((self.here, self.here), self.unit, show)
        )

    def verdict(self) -> str:
        """`inside`, or the ratio of the run's figure to the source's: `1.08 ×`."""
        if self.here is None:
            return ""
        if self.inside or (self.low == self.here):
            return "inside" if self.inside else "equal"
        times = f"{self.ratio:.2f} ×" if self.ratio is not None else "not 0"
        return times if self.low == self.high else f"outside, {times}"

    def _beyond(self) -> float | None:
        assert self.here is not None
        if self.low is not None and (self.here < self.low or self.low == self.high):
            return self.low
        return self.high if self.high is not None and self.here > self.high else None


def compare_source_figures(manifest: Mapping[str, Any], reader: Reader) -> Iterator[FigureComparison]:
    """Each figure that the source reports for this run's case, with the run's.

    Manifests of earlier versions may have text figures; these are skipped.
    """
    for seen in (manifest.get("source") or {}).get("seen") or []:
        if seen.get("case") not in (None, manifest.get("case")) or not seen.get("metric"):
            continue
        value = seen.get("value")
        low, high = (seen.get("low"), seen.get("high")) if value is None else (value, value)
        if any(isinstance(end, int | float) for end in (low, high)):
            yield _compared(seen, low, high, reader)


def _compared(seen: Mapping[str, Any], low: float | None, high: float | None, reader: Reader) -> FigureComparison:
    value: object = None
    units, problem = {"": 1.0}, ""
    try:
        units, value = dict(units_of(seen["metric"])), reader.value(seen["metric"])
    except (ResultError, ValueError) as error:
        problem = f"unknown metric: {error}"
    unit = seen.get("unit", next(iter(units)))
    known = isinstance(value, int | float) and not isinstance(value, bool)
    here = float(value) / units.get(unit, 1.0) if known else None  # type: ignore[arg-type]
    return FigureComparison(str(seen["what"]), seen["metric"], unit, low, high, here, problem)
