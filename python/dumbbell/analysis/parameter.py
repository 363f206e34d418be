"""Order runs by the one number in which their experiments differ: a loss, a rate, a buffer.

The flows' controllers may differ too; they name the lines. Sweeps have their own axes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.analysis.summary import measures, over_runs
from dumbbell.results.result import Run
from dumbbell.spec.units import Wrong, duration_ns, rate_bps

__all__ = [
    "METRICS",
    "Parameter",
    "answers",
    "by_parameter",
    "dotted_leaves",
    "line_names",
    "parameter_of",
    "wide",
]


METRICS = {
    "fct_s": "Completion time, s",
    "queueing_delay_ms": "Mean queueing delay, ms",
    "throughput_mbps": "Throughput, Mbit/s",
}
"""Metrics to compare: of each group, and the delay of the bottleneck's queue where nothing has to complete."""
DELAY = "queue.delay_ms.mean"
_LEFT_OUT = re.compile(r"(title|seeds|source|expect)\b|flows\.\d+\.(cc|name|cc_parameters)\b")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([A-Za-z%]*)")
_SCHEMA = {"flow": pl.String, "metric": pl.String, "value": pl.Float64, "mean": pl.Float64, "min": pl.Float64,
           "max": pl.Float64, "runs": pl.Int64}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """The number in which the experiments differ."""

    name: str
    """The experiment's key, or the preceding word in a tc command."""
    unit: str
    values: tuple[float, ...]
    """One value per run."""

    @property
    def title(self) -> str:
        """Name and unit, for an axis or a column."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


def parameter_of(runs: Sequence[Run]) -> Parameter | None:
    """None if the experiments are unknown, equal, or differ in more than one number."""
    leaves = [dict(dotted_leaves(run.manifest.experiment or {})) for run in runs]
    keys = dict.fromkeys(key for each in leaves for key in each if not _LEFT_OUT.match(key))
    differ = [key for key in keys if len({str(each.get(key)) for each in leaves}) > 1]
    if len(differ) != 1:
        return None
    rows = [str(each.get(differ[0])).split() for each in leaves]
    places = [place for place, texts in enumerate(zip(*rows, strict=False)) if len(set(texts)) > 1]
    if len({len(row) for row in rows}) > 1 or len(places) != 1:
        return None
    found = _numbers([row[places[0]] for row in rows])
    name = rows[0][places[0] - 1] if places[0] else differ[0]
    return None if found is None else Parameter(name, *found)


def by_parameter(runs: Sequence[Run], found: Parameter) -> pl.DataFrame:
    """A row for each line, metric and value: mean, min and max over the valid runs there, and their number `runs`.

    Columns `flow, metric, value, mean, min, max, runs`; `flow` is the controller, or the group if a run has several
    groups of one controller. Metrics that no run has are omitted.
    """
    measured: dict[tuple[str, float], list[dict[str, float]]] = {}
    for run, value in zip(runs, found.values, strict=True):
        if run.manifest.valid:
            for line, known in answers(run).items():
                measured.setdefault((line, value), []).append(known)
    if any("fct_s" in known for each in measured.values() for known in each):
        # Next to completed transfers the queue of one that did not complete is no answer.
        measured = {key: [_without_delay(known) for known in each] for key, each in measured.items()}
    rows = [
        (line, metric, value, row["mean"], row["min"], row["max"], row["runs"])
        for (line, value), each in measured.items()
        for metric, row in over_runs(each).items()
    ]
    lines = list(dict.fromkeys(line for line, _ in measured))
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    order = pl.col("flow").replace_strict(lines, range(len(lines)), return_dtype=pl.Int64)
    return table.sort(order, "metric", "value", maintain_order=True)


def _without_delay(known: Mapping[str, float]) -> dict[str, float]:
    return {metric: number for metric, number in known.items() if metric != "queueing_delay_ms"}


def answers(run: Run) -> dict[str, dict[str, float]]:
    """The `METRICS` that the run has, by line.

    The queue's delay is the answer of a run without sized transfers. Its line is that of the only group, or `queue`.
    """
    numbers = measures(run, None, [*(f"groups.*.{metric}" for metric in ("fct_s", "throughput_mbps")), DELAY])
    lines = line_names(run)
    found = {}
    for group, line in lines.items():
        mine = {metric: numbers.get(f"groups.{group}.{metric}") for metric in METRICS}
        found[line] = {metric: number for metric, number in mine.items() if number is not None}
    if DELAY in numbers and not any("fct_s" in each for each in found.values()):
        line = next(iter(lines.values())) if len(lines) == 1 else "queue"
        found.setdefault(line, {})["queueing_delay_ms"] = numbers[DELAY]
    return found


def wide(table: pl.DataFrame) -> tuple[list[str], list[list[float | None]]]:
    """`by_parameter` in wide form: a heading for each metric and line; a row for each value, which comes first."""
    means = {row[:3]: row[3] for row in table.select("metric", "flow", "value", "mean").iter_rows()}
    known = dict.fromkeys((metric, line) for metric, line, _ in means)
    columns = [(metric, line) for metric in METRICS for each, line in known if each == metric]
    heads = [_head(metric, line) for metric, line in columns]
    values = sorted({value for _, _, value in means})
    return heads, [[value, *(means.get((*column, value)) for column in columns)] for value in values]


def _head(metric: str, line: str) -> str:
    unit = METRICS[metric].rpartition(", ")[2]
    if metric == "queueing_delay_ms":
        return f"queueing delay, {unit}" if line == "queue" else f"{line}: queueing delay, {unit}"
    return f"{line}, {unit}"


def line_names(run: Run) -> dict[str, str]:
    """The name of each group's line: its controller, or the group if two groups share one."""
    controllers = {flow.group: flow.cc or flow.group for flow in run.manifest.flows}
    return controllers if len(set(controllers.values())) == len(controllers) else {name: name for name in controllers}


def dotted_leaves(value: object, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar with its dotted key; list items by index."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield at, value
        return
    for key, inner in items:
        yield from dotted_leaves(inner, f"{at}.{key}" if at else str(key))


def _numbers(texts: Sequence[str]) -> tuple[str, tuple[float, ...]] | None:
    """Their common unit and their numbers."""
    parts = [_NUMBER.fullmatch(word) for word in texts]
    if any(part is None for part in parts):
        return None
    if len({part[2] for part in parts if part}) == 1:
        return parts[0][2] if parts[0] else "", tuple(float(part[1]) for part in parts if part)
    for read, unit, scale in ((duration_ns, "ms", 1e6), (rate_bps, "Mbit/s", 1e6)):
        with suppress(Wrong):
            return unit, tuple(read(word) / scale for word in texts)
    return None
