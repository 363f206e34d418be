"""Samples out of a run's tables as numpy arrays: whose they are, and when they were taken.

A small table costs microseconds this way, where a query costs most of a millisecond; a large one is sorted by flow
once. What samples mean is the rest of this room.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.window import Window
from dumbbell.result import Run, positions

__all__ = ["Bools", "Floats", "by_flow", "during", "known", "numbers", "remembered", "where"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def remembered(find: Callable[Concatenate[Run, Asked], Found]) -> Callable[Concatenate[Run, Asked], Found]:
    """A pure function of a run that is worked out once for each run and question; its answers are not to be changed."""

    @wraps(find)
    def answer(run: Run, *asked: Asked.args, **more: Asked.kwargs) -> Found:
        question = (find, asked, *more.items())
        if question not in run.remembered:
            run.remembered[question] = find(run, *asked, **more)
        return cast("Found", run.remembered[question])

    return cast("Callable[Concatenate[Run, Asked], Found]", answer)


def by_flow(run: Run, column: str) -> dict[str, tuple[Floats, Floats]]:
    """Times in ns and values of a column of `flows`, in the rows' order, of each flow of the birth certificate.

    Rows of which the value or the time is not known are left out; a flow without rows has empty arrays.
    """
    rows, table = _rows(run), run.flows
    values, times = numbers(table[column]), numbers(table["time_ns"])
    order, starts = rows.order, rows.starts
    unknown = ~(known(table[column]) & known(table["time_ns"])) if _holes(table, column) else None
    if unknown is not None:
        kept = ~unknown if order is None else ~unknown[order]
        before = np.concatenate([[0], np.cumsum(kept)])
        order, starts = np.flatnonzero(kept) if order is None else order[kept], before[starts]
    if order is not None:
        values, times = values[order], times[order]
    return {
        name: (times[start:stop], values[start:stop])
        for name, start, stop in zip(rows.names, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }


def numbers(column: pl.Series) -> Floats:
    """A column as floats, NaN where it is null."""
    return np.asarray(column.to_numpy(), dtype=np.float64)


def known(column: pl.Series) -> Bools:
    """Which of a column's values are not null."""
    if not column.null_count():
        return np.ones(len(column), dtype=np.bool_)
    # As floats, whole numbers are NaN only where they are null; a query would take ten times as long.
    return ~np.isnan(column.to_numpy()) if column.dtype.is_integer() else column.is_not_null().to_numpy()


def where(column: pl.Series, name: str) -> Bools:
    """In which rows a column has this name."""
    same = column == name
    return np.asarray((same.fill_null(value=False) if same.null_count() else same).to_numpy(), dtype=np.bool_)


def during(times: pl.Series, bounds: Window) -> Bools:
    """Which times, in ns, lie in a window; both its ends belong to it."""
    values = times.to_numpy()
    return np.asarray((values >= bounds[0]) & (values <= bounds[1]))


@dataclass(frozen=True)
class _Rows:
    """The rows of `flows` by flow: where each flow's begin, the last one's end behind them."""

    names: list[str]
    starts: npt.NDArray[np.intp]
    order: npt.NDArray[np.intp] | None
    """The rows sorted by flow; None where they are sorted as they stand."""


@remembered
def _rows(run: Run) -> _Rows:
    names = list(dict.fromkeys(flow["name"] for flow in run.birth["flows"]))
    places = positions(run.flows["flow"], names)
    counts = np.bincount(places, minlength=len(names) + 1)[: len(names)]
    starts = np.concatenate([[0], np.cumsum(counts)])
    if np.all(places[1:] >= places[:-1]):
        return _Rows(names, starts, None)
    # Sixteen bits are sorted by radix, in one pass over the rows.
    narrow = places.astype(np.uint16) if len(names) < 2**16 else places
    return _Rows(names, starts, np.argsort(narrow, kind="stable"))


def _holes(table: pl.DataFrame, column: str) -> bool:
    return bool(table[column].null_count() or table["time_ns"].null_count())
