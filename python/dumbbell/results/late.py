"""Modules of this package that import polars, each imported when a name of it is first used."""

from typing import TYPE_CHECKING

from dumbbell.late import Late

__all__ = ["columns", "parquet", "reader"]

if TYPE_CHECKING:
    from dumbbell.results import columns, parquet, reader
else:
    columns, parquet, reader = (Late(f"dumbbell.results.{name}") for name in __all__)
