"""Even time bins, and tables with a row per bin: the common grid of all time series.

`time_series` and `losses` count in them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.counters import Counter, Floats
from dumbbell.analysis.window import Window, bounds_ns, life_ns
from dumbbell.results.result import Run

__all__ = ["NAMELESS", "NOTHING", "Ints", "alive", "differences", "edges_ns", "frame", "names", "ratio"]

Ints = npt.NDArray[np.int64]

NOTHING: Floats = np.empty(0)
NAMELESS = {"flow": "", "group": ""}


def edges_ns(run: Run, step_ns: int, window: Window | None) -> Ints:
    """The edges of all complete bins of a window. Raises `ValueError` for a step of 0 or less."""
    if step_ns <= 0:
        raise ValueError(f"step must exceed 0 ns, got {step_ns}")
    from_ns, to_ns = bounds_ns(run, window)
    return np.arange(from_ns, to_ns + 1, step_ns, dtype=np.int64)


def differences(counter: Counter, edges: Ints) -> Floats:
    """The increase in each bin."""
    return np.diff(counter.at(edges))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Part ÷ whole; NaN (null in a table) where whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0))


def alive(run: Run, flow: Mapping[str, Any], edges: Ints) -> pl.Series:
    """The bins in which a flow was active, if only partly."""
    start_ns, stop_ns = life_ns(run, flow)
    return pl.Series((edges[1:] > start_ns) & (edges[:-1] < stop_ns), dtype=pl.Boolean)


def names(flow: Mapping[str, Any]) -> dict[str, str]:
    """The columns that identify a flow's rows."""
    return {"flow": flow["name"], "group": flow["group"]}


def frame(edges: Ints, named: Mapping[str, str], columns: Mapping[str, Floats]) -> pl.DataFrame:
    """One row per bin: its centre, its flow or group, the columns; NaN becomes null."""
    middles = (edges[:-1] + edges[1:]) // 2
    table = pl.DataFrame({"time_ns": middles, **columns}, schema_overrides={"time_ns": pl.Int64}, nan_to_null=True)
    return table.select("time_ns", *(pl.lit(name, pl.String).alias(column) for column, name in named.items()), *columns)
