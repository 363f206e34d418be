"""Samples of a run's tables as numpy arrays, by flow and time; the base RTT.

For small tables this takes microseconds, where a query takes most of a millisecond; large tables are sorted by flow
once. The other modules of this package interpret the samples.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dumbbell.analysis.native import remembered
from dumbbell.results.columns import Bools, Floats, Places
from dumbbell.results.result import Run

__all__ = [
    "Bools",
    "Floats",
    "Rows",
    "base_rtts_ns",
    "by_flow",
    "smallest_ns",
]


Rows = slice | npt.NDArray[np.intp]


def by_flow(run: Run, column: str) -> dict[str, tuple[Floats, Floats]]:
    """Times in ns and values of a column of `flows`, in row order, for each flow of the manifest.

    Rows with unknown value or time are omitted; a flow without rows has empty arrays.
    """
    rows, column_ = _rows(run), run.table("flows").column(column)
    times, values, starts = rows.times, column_.floats(), rows.starts
    if rows.order is not None:
        values = values[rows.order]
    if column_.known is not None or rows.dated is not None:
        kept = _both(column_.known, rows.dated)
        at = (kept if rows.order is None else kept[rows.order]).nonzero()[0]
        times, values, starts = times[at], values[at], at.searchsorted(starts)
    return {
        name: (times[start:stop], values[start:stop])
        for name, start, stop in zip(rows.names, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }


@dataclass(frozen=True)
class _Rows:
    """The rows of `flows` sorted by flow."""

    names: list[str]
    starts: npt.NDArray[np.intp]
    """Start of each flow's rows, plus the end of the last one's."""
    order: npt.NDArray[np.intp] | None
    """The sorted order; None if the rows are already sorted."""
    times: Floats
    """The rows' times, sorted."""
    dated: Bools | None
    """Which rows have a known time, in original order; None: all."""


@remembered
def _rows(run: Run) -> _Rows:
    names = list(dict.fromkeys(flow.name for flow in run.manifest.flows))
    places = run.table("flows").positions("flow", names)
    order = None if (places[1:] >= places[:-1]).all() else np.argsort(_narrow(places, len(names)), kind="stable")
    risen = places if order is None else places[order]
    starts = risen.searchsorted(np.arange(len(names) + 1, dtype=risen.dtype))
    taken = run.table("flows").column("time_ns")
    times = taken.floats()
    return _Rows(names, starts, order, times if order is None else times[order], taken.known)


def _both(some: Bools | None, others: Bools | None) -> Bools:
    """The intersection of two row masks, where None is all; not for two None."""
    if some is None or others is None:
        return cast("Bools", others if some is None else some)
    return some & others


def _narrow(places: Places, most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Use sixteen bits if they suffice: numpy then sorts by radix, in one pass."""
    return places.astype(np.uint16) if most < 2**16 else places


@remembered
def base_rtts_ns(run: Run) -> dict[str, float]:
    """By group, over its flows' `min_rtt_ns`; if no flow has any, of the probes, for all groups.

    Groups without any are omitted. The kernel reports an RTT of 0 before the first measurement.
    """
    found = smallest_ns(run, "min_rtt_ns")
    if not found and (probed := run.probes["rtt_ns"].drop_nulls()).len():
        return dict.fromkeys((flow.group for flow in run.manifest.flows), float(probed.min()))  # type: ignore[arg-type]
    return found


def smallest_ns(run: Run, column: str) -> dict[str, float]:
    """The smallest value of an RTT column, by group; of `rtt_ns`, which is smoothed, an upper bound of the base RTT."""
    values, found = by_flow(run, column), dict[str, float]()
    for flow in run.manifest.flows:
        known = values[flow["name"]][1]
        if (known := known[known > 0]).size:
            found[flow["group"]] = min(found.get(flow["group"], np.inf), float(known.min()))
    return found
