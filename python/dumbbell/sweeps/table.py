"""Build the table `runs.parquet` from rows; the order of the rows doesn't matter."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from dumbbell.spec.axes import Axis, written
from dumbbell.spec.sweep import ABOUT_THE_RUN
from dumbbell.sweeps.task import Row

__all__ = ["table_of"]


def table_of(rows: Sequence[Row], axes: Sequence[Axis]) -> pl.DataFrame:
    """One row per run, sorted by point and seed; `docs/sweeps.md` documents the columns."""
    rows = sorted(rows, key=lambda row: (row.point, row.seed))
    columns: dict[str, pl.Series] = {
        "run": pl.Series(range(len(rows)), dtype=pl.Int64),
        "point": pl.Series([row.point for row in rows], dtype=pl.Int64),
    }
    for each in axes:
        if each.key not in ABOUT_THE_RUN:
            columns |= _of_axis(each, rows)
    columns |= {
        "engine": pl.Series([row.engine for row in rows], dtype=pl.String),
        "kernel": pl.Series([row.kernel for row in rows], dtype=pl.String),
        "seed": pl.Series([row.seed for row in rows], dtype=pl.Int64),
        "status": pl.Series([row.status for row in rows], dtype=pl.String),
        "reason": pl.Series([row.reason for row in rows], dtype=pl.String),
    }
    names = dict.fromkeys(name for row in rows for name in row.metrics)
    for name in names:
        columns[name] = pl.Series([row.metrics.get(name) for row in rows], dtype=pl.Float64)
    return pl.DataFrame(columns)


def _of_axis(shape: Axis, rows: Sequence[Row]) -> dict[str, pl.Series]:
    """The column of an axis as written and, for a quantity, the column of its number."""
    values: list[Any] = [written(row.values[shape.key]) for row in rows]
    if shape.numbers is not None and shape.unit is None:
        integers = all(isinstance(value, int) for value in shape.values)
        return {shape.key: pl.Series(values, dtype=pl.Int64 if integers else pl.Float64)}
    texts = {shape.key: pl.Series([str(value) for value in values], dtype=pl.String)}
    if shape.unit is None:
        return texts
    return texts | {shape.column: pl.Series([shape.number(row.values[shape.key]) for row in rows], dtype=pl.Float64)}
