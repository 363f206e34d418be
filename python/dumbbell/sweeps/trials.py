"""The trials of a search: the points that a sweep with `[search]` runs instead of its grid.

An axis written as a range may take any value between its ends, rounded to three digits; an axis of listed values takes
one of them. Optuna's tree-structured Parzen estimator proposes a batch of points from the values of earlier ones; the
best points then run with the sweep's other seeds.

A pure function of the sweep and the rows of earlier rounds, as `refinement`: a resumed search tries the same points,
and the number of processes changes nothing.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dumbbell import extras
from dumbbell.analysis.formula import value
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.late import optuna
from dumbbell.spec.axes import Axis, Point, steps, value_near
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.task import Row, Task, tasks_at

if TYPE_CHECKING:
    from dumbbell.spec.keys import Search

__all__ = ["BATCH", "Candidate", "check_objective", "next_trials", "objective", "trials_of"]

BATCH = 8
"""Points proposed together: enough for the cores of a small machine, few enough to learn from."""
RANDOM = 4
"""Batches of random points before the estimator has enough to learn from."""


@dataclass(frozen=True)
class Candidate:
    """A point that was tried."""

    point: int
    values: Mapping[str, Any]
    """Of the axes, as written."""
    found: tuple[float, ...]
    """The searched value in every valid run that has it, by seed."""
    runs: int
    reasons: tuple[str, ...] = ()
    """Why runs are invalid or failed."""

    @property
    def mean(self) -> float | None:
        """Of the runs that have the value."""
        return math.fsum(self.found) / len(self.found) if self.found else None


def objective(search: "Search") -> str:
    """The metric or formula whose value is searched."""
    return search.minimize or search.maximize or ""


def next_trials(sweep: Sweep, rows: Sequence[Row]) -> list[Task]:
    """The tasks of the next round, given all rows of earlier rounds; empty when the search is complete."""
    assert sweep.search is not None
    tried = trials_of(sweep, rows)
    if len(tried) < sweep.search.trials:
        count = min(BATCH, sweep.search.trials - len(tried))
        return [task for point in _proposed(sweep, tried, count) for task in tasks_at(sweep, point, sweep.seeds[:1])]
    known = {(row.point, row.seed) for row in rows}
    finalists = ranked(sweep, tried)[: sweep.search.best]
    if any(trial.runs > 1 for trial in tried):
        return []
    return [
        task
        for trial in sorted(finalists, key=lambda trial: trial.point)
        for task in tasks_at(sweep, Point(trial.point, trial.values), sweep.seeds)
        if (task.point, task.seed) not in known
    ]


def trials_of(sweep: Sweep, rows: Sequence[Row]) -> list[Candidate]:
    """Every point that was tried, by number."""
    assert sweep.search is not None
    rows = sorted(rows, key=lambda row: (row.point, row.seed))
    numbers = _values(objective(sweep.search), rows)
    points: dict[int, list[tuple[Row, float | None]]] = {}
    for row, number in zip(rows, numbers, strict=True):
        points.setdefault(row.point, []).append((row, number if row.status == "ok" else None))
    return [
        Candidate(
            point,
            pairs[0][0].values,
            tuple(number for _, number in pairs if number is not None),
            len(pairs),
            tuple(dict.fromkeys(row.reason or "" for row, _ in pairs if row.status != "ok")),
        )
        for point, pairs in points.items()
    ]


def ranked(sweep: Sweep, trials: Sequence[Candidate]) -> list[Candidate]:
    """The trials that have a value, best first; those with most runs first, for one run may be chance."""
    assert sweep.search is not None
    sign = 1.0 if sweep.search.minimize else -1.0
    known = [(trial, trial.mean) for trial in trials if trial.mean is not None]
    ordered = sorted(known, key=lambda pair: (-pair[0].runs, sign * pair[1], pair[0].point))
    distinct: dict[str, Candidate] = {}
    for trial, _ in ordered:
        distinct.setdefault(repr(sorted(trial.values.items(), key=repr)), trial)
    return list(distinct.values())


def check_objective(sweep: Sweep, names: Sequence[str]) -> None:
    """Raises `ExperimentError` if the searched value is no formula of these metrics."""
    assert sweep.search is not None
    try:
        value(objective(sweep.search), pl.DataFrame(schema=dict.fromkeys(names, pl.Float64)))
    except ResultError as error:
        key = "search.minimize" if sweep.search.minimize else "search.maximize"
        raise ExperimentError(str(error), file=str(sweep.file), key=key) from None


def _values(formula: str, rows: Sequence[Row]) -> list[float | None]:
    """The formula's value in each row; None if it is unknown there."""
    names = dict.fromkeys(name for row in rows for name in row.metrics)
    columns = {name: pl.Series([row.metrics.get(name) for row in rows], dtype=pl.Float64) for name in names}
    if not columns:
        return [None] * len(rows)
    table = pl.DataFrame(columns)
    try:
        return table.select(value(formula, table).alias("value"))["value"].to_list()
    except ResultError:  # A metric that no run has yet.
        return [None] * len(rows)


def _proposed(sweep: Sweep, tried: Sequence[Candidate], count: int) -> list[Point]:
    """New points; the first one of all is the first value of every axis."""
    study = _study(sweep, tried)
    spaces = {str(number): _distribution(table) for number, table in enumerate(sweep.axes)}
    made = []
    for at in range(len(tried), len(tried) + count):
        if at == 0:
            made.append(Point(0, {each.key: each.values[0] for each in sweep.every_axis}))
            continue
        params = study.ask(spaces).params
        found: dict[str, Any] = {}
        for number, table in enumerate(sweep.axes):
            found |= _at(table, params[str(number)])
        made.append(Point(at, found))
    return made


def _study(sweep: Sweep, tried: Sequence[Candidate]) -> "optuna.Study":
    """Optuna's study with the trials so far. Raises `MissingExtra`."""
    assert sweep.search is not None
    with extras.explained():
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            # Each batch has its own draws, which depend on nothing but its place.
            seed=(sweep.search.seed * 1_000_003 + len(tried)) % 2**32,
            n_startup_trials=min(RANDOM * BATCH, sweep.search.trials // 4),
            multivariate=True,
            constant_liar=True,
        )
    study = optuna.create_study(direction="minimize" if sweep.search.minimize else "maximize", sampler=sampler)
    spaces = {str(number): _distribution(table) for number, table in enumerate(sweep.axes)}
    for trial in tried:
        params = {str(number): _param(table, trial.values) for number, table in enumerate(sweep.axes)}
        state = optuna.trial.TrialState.COMPLETE if trial.found else optuna.trial.TrialState.PRUNED
        first = trial.found[0] if trial.found else None
        study.add_trial(optuna.trial.create_trial(params=params, distributions=spaces, value=first, state=state))
    return study


def _distribution(table: Sequence[Axis]) -> "optuna.distributions.BaseDistribution":
    """What Optuna may draw for a table of axes, which vary together."""
    if not _is_range(table):
        return optuna.distributions.CategoricalDistribution(tuple(range(len(table[0].values))))
    (axis,) = table
    low, high = min(axis.numbers or ()), max(axis.numbers or ())
    if axis.whole:
        return optuna.distributions.IntDistribution(int(low), int(high), log=axis.scale == "log")
    return optuna.distributions.FloatDistribution(low, high, log=axis.scale == "log")


def _at(table: Sequence[Axis], drawn: float) -> dict[str, Any]:
    """The values of the axes for what Optuna drew."""
    if not _is_range(table):
        return steps(table)[int(drawn)]
    (axis,) = table
    return {axis.key: value_near(axis, drawn)}


def _param(table: Sequence[Axis], values: Mapping[str, Any]) -> float:
    """What Optuna would have drawn for these values."""
    if not _is_range(table):
        return steps(table).index({each.key: values[each.key] for each in table})
    (axis,) = table
    number = min(max(axis.number(values[axis.key]), min(axis.numbers or ())), max(axis.numbers or ()))
    return int(number) if axis.whole else number


def _is_range(table: Sequence[Axis]) -> bool:
    return len(table) == 1 and table[0].is_range
