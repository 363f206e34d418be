"""Read a result's files and check them: JSON against its schema, Parquet against the polars schemas of its tables.

An error has the file, the value found and the value expected. A table that would not fit into memory is refused.
`crates/dumbbell/src/manifest/keys.rs` declares the keys, `tables` the columns.
"""

import os
import resource
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, overload

import polars as pl

from dumbbell import _sim, limits
from dumbbell.errors import ResultError
from dumbbell.results.tables import COLUMNS, REQUESTED_NAMES, TABLE_NAMES

if TYPE_CHECKING:
    from dumbbell.results.keys import RunManifest, SweepManifest

__all__ = [
    "FLOWS",
    "PROBES",
    "QUEUES",
    "REQUESTED",
    "SCHEMAS",
    "TABLES",
    "Schema",
    "check_known",
    "read_frame",
    "read_manifest",
    "read_table",
    "table_problem",
]


Schema = dict[str, type[pl.DataType]]

SCHEMAS: dict[str, Schema] = {
    table: {column.name: getattr(pl, column.kind) for column in columns} for table, columns in COLUMNS.items()
}
"""Every table's columns, in order, with their types."""
TABLES = {name: SCHEMAS[name] for name in TABLE_NAMES}
"""Those of every result."""
REQUESTED = {name: SCHEMAS[name] for name in REQUESTED_NAMES}
"""Those of a kernel's internals."""

FLOWS, QUEUES, PROBES = TABLES["flows"], TABLES["queues"], TABLES["probes"]


REMEDY = "the result is damaged: run it again or remove it"
MOST = 2**62
"""Upper bound of times, counts and rates; the sum of two fits into 64 bits."""
TEXT_BYTES = 16
"""Minimum memory of one string cell."""

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Errors of polars on a damaged file; some damage makes its Rust code panic."""

Columns = Mapping[str, type[pl.DataType]]


@overload
def read_manifest(path: Path, what: str, name: Literal["RunManifest"]) -> "RunManifest": ...
@overload
def read_manifest(path: Path, what: str, name: Literal["SweepManifest"]) -> "SweepManifest": ...
def read_manifest(path: Path, what: str, name: Literal["RunManifest", "SweepManifest"]) -> _sim.Record:
    """Read a manifest and check it against its declared keys. Raises `ResultError`."""
    if (size := _size(path)) > limits.most("manifest"):
        most = limits.most("manifest")
        _damaged(path, f"has {size:,} bytes; at most {most:,} are expected: {_allowed('manifest', size)}")
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ResultError(f"{path}: can't be read: {error}") from error
    try:
        return _sim.parse_manifest(text, name, what)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None


def read_table(path: Path, columns: Columns, known: Collection[str] = ()) -> pl.DataFrame:
    """Read a table with these columns and types; further columns may follow.

    With `known`, the first column is time: it must be sorted and, like the columns of `known`, have no nulls. Numbers
    must lie within 0 and `MOST`; only one-way delays may be negative, since clocks differ. Raises `ResultError`.
    """
    table = _with_todays_names(path.stem, read_frame(path))
    if problem := _of_types(table.schema, columns):
        _damaged(path, problem)
    # Older versions of Dumbbell wrote fewer columns; the missing ones are null.
    later = {column: kind for column, kind in columns.items() if column not in table.columns}
    if later:
        table = table.with_columns(pl.lit(None, dtype=kind).alias(column) for column, kind in later.items())
    if table.columns[: len(columns)] != list(columns):
        table = table.select(*columns, pl.exclude(*columns))
    if known and (problem := table_problem(table, columns, known)):
        _damaged(path, problem)
    return table


def _with_todays_names(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """The columns of results of earlier versions have older names."""
    older = {old: new for of, old, new in _sim.OLDER_COLUMNS if of == name}
    return table.rename({old: new for old, new in older.items() if old in table.columns and new not in table.columns})


def table_problem(table: pl.DataFrame, columns: Columns, known: Collection[str]) -> str | None:
    """The first problem of a table that has all columns: a null, an unsorted row or a number out of range."""
    return _of_known(table, (next(iter(columns)), *known)) or _of_numbers(table, columns)


def read_frame(path: Path) -> pl.DataFrame:
    """Read a Parquet file with any columns. Raises `ResultError`."""
    _check_size(path)
    try:
        return pl.read_parquet(path, glob=False)
    except UNREADABLE as error:
        _unreadable(path, error)


def check_known(path: Path, table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Check that these columns have no nulls and that the first is sorted. Raises `ResultError`."""
    if problem := _of_known(table, columns):
        _damaged(path, problem)


def _check_size(path: Path) -> None:
    """Check, by the file's metadata, that the table fits into memory."""
    _size(path)
    try:
        schema = pl.read_parquet_schema(path)
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    except UNREADABLE as error:
        _unreadable(path, error)
    needed_bytes = rows * sum(_width(kind) for kind in schema.values())
    if needed_bytes > limits.most("memory"):
        _damaged(
            path,
            f"has {rows:,} rows, which need {needed_bytes / 1e9:,.3g} GB of memory; "
            f"at most {limits.shown('memory')} are expected: {_allowed('memory', round(needed_bytes))}",
        )
    if needed_bytes > (available_bytes := memory_bytes()):
        _damaged(
            path,
            f"has {rows:,} rows, which need {needed_bytes / 2**30:,.0f} GB of memory; "
            f"this host has {available_bytes / 2**30:,.0f} GB",
        )


def _allowed(name: str, needed: int) -> str:
    return limits.raised(name, needed).removeprefix("or ")


def memory_bytes() -> int:
    """The memory that this process may use: physical memory or a lower resource limit."""
    sizes = [
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        *(resource.getrlimit(each)[0] for each in (resource.RLIMIT_AS, resource.RLIMIT_DATA)),
    ]
    return min(size for size in sizes if size != resource.RLIM_INFINITY)


def _width(kind: pl.DataType) -> float:
    if kind.is_integer() or kind.is_float():
        return int("".join(filter(str.isdigit, str(kind)))) / 8
    return 1 / 8 if kind == pl.Boolean else TEXT_BYTES


def _of_types(schema: pl.Schema, columns: Columns) -> str | None:
    for name, found in schema.items():
        if name in columns and found != columns[name]:
            return f"column '{name}' is {found}; {columns[name].__name__} is expected"
        if not (found.is_integer() or found.is_float() or found in (pl.String, pl.Boolean)):
            return f"column '{name}' is {found}; numbers, booleans or strings are expected"
    return None


def _of_known(table: pl.DataFrame, columns: Sequence[str]) -> str | None:
    for name in columns:
        if table[name].null_count():
            row = table[name].is_null().arg_max()
            return f"column '{name}' is null or missing in row {row}; a value in every row is expected"
    if not table[columns[0]].is_sorted():
        return f"column '{columns[0]}' is not sorted; ascending order is expected"
    return None


def _of_numbers(table: pl.DataFrame, columns: Columns) -> str | None:
    for name, kind in columns.items():
        if kind not in (pl.Int64, pl.Float64):
            continue  # Narrower types can't exceed the range.
        least = -MOST if name in SIGNED else 0
        wrong = table[name].filter(~table[name].is_between(least, MOST))
        if len(wrong):
            return f"column '{name}' has {wrong[0]}; numbers from {least} to {MOST} are expected"
    return None


SIGNED = frozenset({"forward_ns", "backward_ns"})
"""Columns that may be negative: delays between two clocks."""


def _size(path: Path) -> int:
    try:
        found = path.stat()
    except OSError as error:
        raise ResultError(f"{path}: can't be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise ResultError(f"{path}: can't be read: not a regular file; {REMEDY}")
    return found.st_size


def _unreadable(path: Path, error: BaseException) -> NoReturn:
    raise ResultError(
        f"{path}: can't be read: {str(error).splitlines()[0] if str(error) else error!r}; {REMEDY}"
    ) from error


def _damaged(path: Path, problem: str) -> NoReturn:
    raise ResultError(f"{path}: {problem}; {REMEDY}")
