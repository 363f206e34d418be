"""What several runs say together, in sentences: over the number in which they differ, over cases, or over seeds.

Only valid runs count. A sentence names no cause, and no number that is not an input.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import polars as pl

from dumbbell.analysis.parameter import METRICS, Parameter, answers, by_parameter, parameter_of
from dumbbell.analysis.summary import over_runs
from dumbbell.reports.markup import number, sentence
from dumbbell.results.result import Run

__all__ = ["across"]

SAME = 1.05
"""Largest ratio of two values that a sentence calls the same."""
NAMES = {"fct_s": "completion time", "queueing_delay_ms": "mean queueing delay", "throughput_mbps": "throughput"}
LINES_MAX = 6


def across(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """The sentences, the answer first; `names` are the runs'."""
    valid = [(name, run) for name, run in zip(names, runs, strict=True) if run.manifest.valid]
    if len(valid) < 2:
        return []
    if (found := parameter_of([run for _, run in valid])) is not None:
        return [text for text in _over_parameter([run for _, run in valid], found) if text]
    if len({(run.manifest.name, run.manifest.case, run.manifest.engine) for _, run in valid}) == 1:
        return [text for text in _over_seeds([run for _, run in valid]) if text]
    return [text for text in _over_cases(valid) if text]


def _over_parameter(runs: Sequence[Run], found: Parameter) -> Iterator[str | None]:
    table = by_parameter(runs, found)
    for metric in METRICS:
        part = table.filter(pl.col("metric") == metric)
        lines = part["flow"].unique(maintain_order=True).to_list()[:LINES_MAX]
        values = {line: part.filter(pl.col("flow") == line).select("value", "mean").rows() for line in lines}
        several = len(lines) > 1
        yield sentence(*(_trend(metric, line if several else "", values[line], found) for line in lines), capital=True)
        if metric == "fct_s" and several:
            yield _at_the_last(values, found)


def _trend(metric: str, line: str, points: Sequence[tuple[float, float]], found: Parameter) -> str:
    """From the first to the last value of the parameter: `the mean queueing delay rose from … to … (27 times)`."""
    if len(points) < 2:
        return ""
    unit = METRICS[metric].rpartition(", ")[2]
    (at_first, first), (at_last, last) = points[0], points[-1]
    what = f"the {NAMES[metric]}{f' of {line}' if line else ''}"
    ratio = _ratio(first, last)
    means = [mean for _, mean in points]
    if (extent := _ratio(min(means), max(means))) is not None and extent <= SAME:
        return f"{what} stayed at {_range(min(means), max(means), unit)}"
    verb = "rose" if last > first else "fell"
    times = "" if ratio is None or ratio < 1.5 else f" ({_times(ratio)} {'as much' if last > first else 'less'})"
    ends = [
        f"{number(value, unit)} at {found.name} {_at(at, found)}" for at, value in ((at_first, first), (at_last, last))
    ]
    return f"{what} {verb} from {ends[0]} to {ends[1]}{times}"


def _at_the_last(values: dict[str, list[tuple[float, float]]], found: Parameter) -> str | None:
    """Who was faster where the parameter is largest, by how much."""
    last = max((points[-1][0] for points in values.values() if points), default=None)
    here = {line: dict(points)[last] for line, points in values.items() if last in dict(points)}
    if last is None or len(here) < 2:
        return None
    order = sorted(here, key=lambda line: here[line])
    best, worst = order[0], order[-1]
    ratio = _ratio(here[best], here[worst])
    if ratio is None or ratio <= SAME:
        return f"At {found.name} {_at(last, found)} all took the same time."
    return (
        f"At {found.name} {_at(last, found)} {best} took {number(here[best], 's')} and {worst} "
        f"{number(here[worst], 's')}, {_times(ratio)} as long."
    )


def _over_seeds(runs: Sequence[Run]) -> Iterator[str | None]:
    each = [answers(run) for run in runs]
    lines = list(dict.fromkeys(line for known in each for line in known))[:LINES_MAX]
    for metric in METRICS:
        parts = []
        for line in lines:
            row = over_runs([known.get(line, {}) for known in each]).get(metric)
            if row is not None:
                unit = METRICS[metric].rpartition(", ")[2]
                parts.append(
                    f"the {NAMES[metric]}{'' if line == 'queue' else f' of {line}'} was {number(row['mean'], unit)} on "
                    f"average ({number(row['min'])} to {number(row['max'])})"
                )
        yield sentence(f"over {len(runs)} runs {parts[0]}", *parts[1:]) if parts else None


def _over_cases(named: Sequence[tuple[str, Run]]) -> Iterator[str | None]:
    """The runs with the least and the most of the metric that answers: time of transfers, else delay; throughput."""
    found = {name: answers(run) for name, run in named}
    sized = any("fct_s" in known for lines in found.values() for known in lines.values())
    for metric in ("fct_s" if sized else "queueing_delay_ms", "throughput_mbps"):
        lines = list(dict.fromkeys(line for each in found.values() for line in each))
        parts = []
        for line, values in groupby(
            (
                (line, (each[line][metric], name))
                for line in lines
                for name, each in found.items()
                if metric in each.get(line, {})
            ),
            key=lambda item: item[0],
        ):
            parts.append(_extremes(metric, line if len(lines) > 1 and line != "queue" else "", [v for _, v in values]))
        yield sentence(*parts[:LINES_MAX])


def _extremes(metric: str, line: str, values: Sequence[tuple[float, str]]) -> str:
    if len(values) < 2:
        return ""
    unit = METRICS[metric].rpartition(", ")[2]
    (least, first), (most, last) = min(values), max(values)
    what = f"the {NAMES[metric]}{f' of {line}' if line else ''}"
    ratio = _ratio(least, most)
    if ratio is not None and ratio <= SAME:
        return f"{what} was {_range(least, most, unit)} in all runs"
    times = "" if ratio is None or ratio < 1.5 else f", {_times(ratio)} as much"
    return f"{what} was lowest in {first} ({number(least, unit)}) and highest in {last} ({number(most, unit)}{times})"


def _range(low: float, high: float, unit: str) -> str:
    texts = number(low), number(high)
    return f"{texts[0]} {unit}" if texts[0] == texts[1] else f"{texts[0]} to {texts[1]} {unit}"


def _ratio(first: float, last: float) -> float | None:
    """The larger one by the smaller one; None if that is 0."""
    low, high = sorted((first, last))
    return high / low if low > 0 else None


def _times(ratio: float) -> str:
    return f"{number(round(ratio) if ratio >= 10 else round(ratio, 1))} times"


def _at(value: float, found: Parameter) -> str:
    return f"{value:g} {found.unit}" if found.unit else f"{value:g}"
