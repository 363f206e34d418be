"""Samples out of a run's tables as numpy arrays: whose they are, and when they were taken.

A small table costs microseconds this way, where a query costs most of a millisecond; a large one is sorted by flow
once. What samples mean is the rest of this room.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

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
    rows, said = _rows(run), run.flows.get_column(column)
    times, values, starts = rows.times, numbers(said), rows.starts
    if rows.order is not None:
        values = values[rows.order]
    if said.null_count() or rows.blank is not None:
        kept = known(said) if rows.blank is None else known(said) & ~rows.blank
        kept = kept if rows.order is None else kept[rows.order]
        times, values, starts = times[kept], values[kept], np.concatenate([[0], np.cumsum(kept)])[starts]
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
    """The rows of `flows` sorted by flow."""

    names: list[str]
    starts: npt.NDArray[np.intp]
    """Where each flow's begin; behind them, where the last one's end."""
    order: npt.NDArray[np.intp] | None
    """Which row comes where; None where they are sorted as they stand."""
    times: Floats
    """When each was taken, sorted."""
    blank: Bools | None
    """Rows, as they stand, of which nobody knows when."""


@remembered
def _rows(run: Run) -> _Rows:
    names = list(dict.fromkeys(flow["name"] for flow in run.birth["flows"]))
    places = positions(run.flows.get_column("flow"), names)
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(names) + 1)[: len(names)])])
    order = None if np.all(places[1:] >= places[:-1]) else np.argsort(_narrow(places, len(names)), kind="stable")
    taken = run.flows.get_column("time_ns")
    times = numbers(taken)
    blank = ~known(taken) if taken.null_count() else None
    return _Rows(names, starts, order, times if order is None else times[order], blank)


def _narrow(places: npt.NDArray[np.uint32], most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """In sixteen bits where that is enough: they are sorted by radix, in one pass over the rows."""
    return places.astype(np.uint16) if most < 2**16 else places
