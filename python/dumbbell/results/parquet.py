"""Data frames as Parquet files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from dumbbell import _sim

__all__ = ["METADATA", "system_errors", "write_table"]


METADATA = {"dumbbell.format": _sim.TABLE_FORMAT}
"""Of every Parquet file."""


def write_table(table: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a table as Parquet. Raises `OSError`, for instance when the disk is full."""
    with system_errors():
        if isinstance(table, pl.LazyFrame):
            table.sink_parquet(file, compression="zstd", statistics=True, metadata=METADATA)
        else:
            table.write_parquet(file, compression="zstd", statistics=True, metadata=METADATA)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise polars' errors that come from the system as `OSError`."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        # polars wraps system errors in its own types; the message has the errno.
        if number := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        raise
