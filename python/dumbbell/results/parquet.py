"""Data frames as Parquet files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

__all__ = ["system_errors", "write_table"]


def write_table(table: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a table as Parquet. Raises `OSError`, for instance when the disk is full."""
    with system_errors():
        if isinstance(table, pl.LazyFrame):
            table.sink_parquet(file, compression="zstd", statistics=True)
        else:
            table.write_parquet(file, compression="zstd", statistics=True)


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
