"""Samples out of a run's tables as numpy arrays: whose they are, and when they were taken.

A small table costs microseconds this way, where a query costs most of a millisecond; a large one is sorted by flow
once. What samples mean is the rest of this room.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dumbbell.analysis.window import Window
from dumbbell.columns import Bools, Column, Floats, Places, Table
from dumbbell.result import Run

__all__ = ["Bools", "Floats", "Rows", "by_flow", "during", "known", "remembered", "rows_by_flow", "where"]

Asked = ParamSpec("Asked")
Found = TypeVar("Found")
Rows = slice | npt.NDArray[np.intp]


def remembered(find: Callable[Concatenate[Run, Asked], Found]) -> Callable[Concatenate[Run, Asked], Found]:
    """A pure function of a run that is worked out once for each run and question; its answers are not to be changed."""

    @wraps(find)
    def answer(run: Run, *asked: Asked.args, **more: Asked.kwargs) -> Found:
        question = (find, asked, *more.items())
        found = run.remembered.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = run.remembered[question] = find(run, *asked, **more)
        return cast("Found", found)

    return cast("Callable[Concatenate[Run, Asked], Found]", answer)


def by_flow(run: Run, column: str) -> dict[str, tuple[Floats, Floats]]:
    """Times in ns and values of a column of `flows`, in the rows' order, of each flow of the birth certificate.

    Rows of which the value or the time is not known are left out; a flow without rows has empty arrays.
    """
    rows, said = _rows(run), run.table("flows").column(column)
    times, values, starts = rows.times, said.floats(), rows.starts
    if rows.order is not None:
        values = values[rows.order]
    if said.known is not None or rows.dated is not None:
        kept = _both(said.known, rows.dated)
        at = (kept if rows.order is None else kept[rows.order]).nonzero()[0]
        times, values, starts = times[at], values[at], at.searchsorted(starts)
    return {
        name: (times[start:stop], values[start:stop])
        for name, start, stop in zip(rows.names, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }


def rows_by_flow(run: Run) -> dict[str, Rows]:
    """Which rows of `flows` each flow of the birth certificate has, in their order."""
    rows = _rows(run)
    parts = [slice(start, stop) for start, stop in pairwise(rows.starts.tolist())]
    return dict(zip(rows.names, parts if rows.order is None else [rows.order[part] for part in parts], strict=True))


def where(table: Table, column: str, name: str) -> Bools:
    """In which rows a column of texts has this one."""
    return np.asarray(table.positions(column, [name]) == 0)


def during(times: Column, bounds: Window) -> Bools:
    """Which times, in ns, lie in a window; both its ends belong to it."""
    inside = (times.values >= bounds[0]) & (times.values <= bounds[1])
    return np.asarray(inside if times.known is None else inside & times.known)


def known(column: Column, rows: Bools) -> Floats:
    """What a column says in these rows, where it says anything."""
    return column.floats()[rows if column.known is None else rows & column.known]


_UNKNOWN = object()
"""None is an answer."""


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
    dated: Bools | None
    """Of which rows, as they stand, somebody knows when; None: of all."""


@remembered
def _rows(run: Run) -> _Rows:
    names = list(dict.fromkeys(flow["name"] for flow in run.birth["flows"]))
    places = run.table("flows").positions("flow", names)
    order = None if (places[1:] >= places[:-1]).all() else np.argsort(_narrow(places, len(names)), kind="stable")
    risen = places if order is None else places[order]
    starts = risen.searchsorted(np.arange(len(names) + 1, dtype=risen.dtype))
    taken = run.table("flows").column("time_ns")
    times = taken.floats()
    return _Rows(names, starts, order, times if order is None else times[order], taken.known)


def _both(some: Bools | None, others: Bools | None) -> Bools:
    """Rows that are in both, where None is all; not for two of them."""
    if some is None or others is None:
        return cast("Bools", others if some is None else some)
    return some & others


def _narrow(places: Places, most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """In sixteen bits where that is enough: they are sorted by radix, in one pass over the rows."""
    return places.astype(np.uint16) if most < 2**16 else places
