"""Even bins of time, and tables with one row a bin: the grid of everything over time.

What is counted in them is `rates` and `losses`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.counters import Counter, Floats
from dumbbell.analysis.window import Window, bounds_ns, life_ns
from dumbbell.result import Run

__all__ = ["NAMELESS", "NOTHING", "Ints", "alive", "differences", "edges_ns", "frame", "names", "ratio"]

Ints = npt.NDArray[np.int64]

NOTHING: Floats = np.empty(0)
NAMELESS = {"flow": "", "group": ""}


def edges_ns(run: Run, step_ns: int, window: Window | None) -> Ints:
    """The edges of all whole bins of a window. Raises `ValueError` for a step of nothing."""
    if step_ns <= 0:
        raise ValueError(f"a step must be longer than 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return np.arange(from_ns, to_ns + 1, step_ns, dtype=np.int64)


def differences(counter: Counter, edges: Ints) -> Floats:
    """What was counted in each bin."""
    return np.diff(counter.at(edges))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Part ÷ whole, NaN (null in a table) where there is no whole."""
    return np.asarray(np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0))


def alive(run: Run, flow: Mapping[str, Any], edges: Ints) -> pl.Series:
    """In which bins a flow lived, if only for a part."""
    start_ns, stop_ns = life_ns(run, flow)
    return pl.Series((edges[1:] > start_ns) & (edges[:-1] < stop_ns), dtype=pl.Boolean)


def names(flow: Mapping[str, Any]) -> dict[str, str]:
    """A flow's columns that say whose a row is."""
    return {"flow": flow["name"], "group": flow["group"]}


def frame(edges: Ints, named: Mapping[str, str], columns: Mapping[str, Floats]) -> pl.DataFrame:
    """One row a bin: its middle, who it is of, the columns; a NaN becomes null."""
    middles = (edges[:-1] + edges[1:]) // 2
    table = pl.DataFrame({"time_ns": middles, **columns}, schema_overrides={"time_ns": pl.Int64}, nan_to_null=True)
    return table.select("time_ns", *(pl.lit(name, pl.String).alias(column) for column, name in named.items()), *columns)
