"""Rows of a log as tables with exactly the columns of a result.

A value that doesn't fit its column is an error that names both; values are never wrapped or truncated.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.results.table_schema import TABLES

__all__ = ["EMPTY", "columns", "rows"]

EMPTY: dict[str, pl.DataFrame] = {name: pl.DataFrame(schema=schema) for name, schema in TABLES.items()}
"""Each table without rows."""


def rows(table: str, found: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A table of these rows; missing keys are null."""
    keys = {key for row in found for key in row}
    return columns(table, {key: [row.get(key) for row in found] for key in keys}, len(found))


def columns(table: str, found: Mapping[str, Sequence[Any] | np.ndarray | pl.Series], count: int) -> pl.DataFrame:
    """A table of these columns, `count` rows long; the others are null.

    Raises `ImportProblem` for a value that doesn't fit.
    """
    schema = TABLES[table]
    unknown = set(found) - set(schema)
    assert not unknown, unknown
    filled = {
        name: _series(name, found[name], kind) if name in found else pl.Series(name, [None] * count, dtype=kind)
        for name, kind in schema.items()
    }
    return pl.DataFrame(filled, schema=schema)


def _series(name: str, values: Sequence[Any] | np.ndarray | pl.Series, kind: type[pl.DataType]) -> pl.Series:
    try:
        if isinstance(values, np.ndarray | pl.Series):
            return pl.Series(name, values).cast(kind, strict=True)
        return pl.Series(name, values, dtype=kind, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        wrong = next((value for value in values if not _fits(value, kind)), None)
        raise ImportProblem("a number that exceeds its column", place=name, value=wrong) from None


def _fits(value: Any, kind: type[pl.DataType]) -> bool:
    try:
        pl.Series([value], dtype=kind, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        return False
    return True
