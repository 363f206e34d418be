"""The files of a result as they are read: JSON by its schema, Parquet by its columns; a damaged one is an error.

An error names the file, what is in it and what is expected. Nothing is read that would not fit into this host's
memory. Which keys and columns there are is `manifest`'s and `result`'s.
"""

import json
import os
import resource
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from dumbbell import limits
from dumbbell.errors import ResultError
from dumbbell.manifest import FORMAT
from dumbbell.schema import Object, fault, strange

__all__ = ["check_known", "manifest_problem", "read_frame", "read_json", "read_table", "table_problem"]

REMEDY = "the result is damaged: run it again or remove it"
MOST = 2**62
"""No time, count or rate is larger: two of them can be added."""
TEXT_BYTES = 16
"""What a row of a column of texts takes at least."""

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""How polars fails on a damaged file: some damage makes its Rust panic."""

Columns = Mapping[str, type[pl.DataType]]


def read_json(path: Path, what: str, schema: Object) -> dict[str, Any]:
    """A JSON object with its `format`, checked by its schema. Raises `ResultError`."""
    if (size := _size(path)) > limits.most("manifest"):
        most = limits.most("manifest")
        _damaged(path, f"has {size:,} bytes; at most {most:,} are expected: {_allowed('manifest', size)}")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"{path}: can't be read: {error}") from error
    if not isinstance(value, dict) or type(value.get("format")) is not int:
        raise ResultError(f"{path}: not {what}: it has no 'format'")
    if value["format"] > FORMAT:
        raise ResultError(f"{path}: format {value['format']} is newer than this Dumbbell reads ({FORMAT})")
    if problem := manifest_problem(value, schema):
        _damaged(path, problem)
    return value


def read_table(path: Path, columns: Columns, known: Collection[str] = ()) -> pl.DataFrame:
    """A table with these columns, of these types; others may stand behind them.

    With `known`, rows are in the order of time, the first column, none of which is null, nor of `known`, and no number
    is negative or absurd, but for one-way delays, whose clocks may differ. Raises `ResultError`.
    """
    table = read_frame(path)
    if problem := _of_types(table.schema, columns):
        _damaged(path, problem)
    # A folder of an older Dumbbell lacks the columns that came later: they are not known.
    later = {column: kind for column, kind in columns.items() if column not in table.columns}
    if later:
        table = table.with_columns(pl.lit(None, dtype=kind).alias(column) for column, kind in later.items())
    if table.columns[: len(columns)] != list(columns):
        table = table.select(*columns, pl.exclude(*columns))
    if known and (problem := table_problem(table, columns, known)):
        _damaged(path, problem)
    return table


def manifest_problem(value: Any, schema: Object) -> str | None:
    """What is wrong with a manifest: the key, its value, and what is expected."""
    found = strange(value) or fault(schema, value)
    return None if found is None else str(found)


def table_problem(table: pl.DataFrame, columns: Columns, known: Collection[str]) -> str | None:
    """What is wrong with a table that has all columns: what has no value, is out of order, or out of range."""
    return _of_known(table, (next(iter(columns)), *known)) or _of_numbers(table, columns)


def read_frame(path: Path) -> pl.DataFrame:
    """A Parquet file with whatever columns it has. Raises `ResultError`."""
    _check_size(path)
    try:
        return pl.read_parquet(path, glob=False)
    except UNREADABLE as error:
        _unreadable(path, error)


def check_known(path: Path, table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Is there a value in every row of these columns, and is the first sorted? Raises `ResultError`."""
    if problem := _of_known(table, columns):
        _damaged(path, problem)


def _check_size(path: Path) -> None:
    """Would the table fit into memory, by what the file says of itself?"""
    _size(path)
    try:
        schema = pl.read_parquet_schema(path)
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    except UNREADABLE as error:
        _unreadable(path, error)
    wanted = rows * sum(_width(kind) for kind in schema.values())
    if wanted > limits.most("memory"):
        _damaged(
            path,
            f"says that it has {rows:,} rows, for which {wanted / 1e9:,.3g} GB of memory are needed; "
            f"at most {limits.shown('memory')} are expected: {_allowed('memory', round(wanted))}",
        )
    if wanted > (have := memory_bytes()):
        _damaged(
            path,
            f"says that it has {rows:,} rows, for which {wanted / 2**30:,.0f} GB of memory are needed; "
            f"at most {have / 2**30:,.0f} GB are expected, what this host has",
        )


def _allowed(name: str, needed: int) -> str:
    return limits.raised(name, needed).removeprefix("or ")


def memory_bytes() -> int:
    """What this process may use."""
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
            return f"column '{name}' is {found}; numbers, truths or texts are expected"
    return None


def _of_known(table: pl.DataFrame, columns: Sequence[str]) -> str | None:
    for name in columns:
        if table[name].null_count():
            row = table[name].is_null().arg_max()
            return f"column '{name}' is null, or missing, in row {row}; a value in every row is expected"
    if not table[columns[0]].is_sorted():
        return f"column '{columns[0]}' is not sorted; rows in its order are expected"
    return None


def _of_numbers(table: pl.DataFrame, columns: Columns) -> str | None:
    for name, kind in columns.items():
        if kind not in (pl.Int64, pl.Float64):
            continue  # Narrower ones hold no number that is out of range.
        least = -MOST if name in SIGNED else 0
        wrong = table[name].filter(~table[name].is_between(least, MOST))
        if len(wrong):
            return f"column '{name}' has {wrong[0]}; numbers from {least} to {MOST} are expected"
    return None


SIGNED = frozenset({"forward_ns", "backward_ns"})
"""Columns with numbers below zero: delays between two clocks."""


def _size(path: Path) -> int:
    try:
        found = path.stat()
    except OSError as error:
        raise ResultError(f"{path}: can't be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise ResultError(f"{path}: can't be read: it is no file; {REMEDY}")
    return found.st_size


def _unreadable(path: Path, error: BaseException) -> NoReturn:
    raise ResultError(
        f"{path}: can't be read: {str(error).splitlines()[0] if str(error) else error!r}; {REMEDY}"
    ) from error


def _damaged(path: Path, problem: str) -> NoReturn:
    raise ResultError(f"{path}: {problem}; {REMEDY}")
