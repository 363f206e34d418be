"""Read the output of `dumbbell export`: the same run with every row and every column.

Three forms: a folder of CSV files with `run.json`, a file of JSON lines, and the key `dumbbell` in a Flent file. The
manifest is the run's own, with a record of the export and import.

In CSV a text cell that a spreadsheet would evaluate as a formula is escaped (`harmless`): one that begins like a
formula, or like an escaped cell, gets a leading `'`, the spreadsheet convention; `restored` removes it. Numbers are not
escaped: -1 stays -1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from dumbbell import _sim
from dumbbell.importers import qlog
from dumbbell.importers.log_source import Source, open_source
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.results.reader import TABLES

__all__ = [
    "CARRIER",
    "DumbbellExport",
    "detect_jsonl",
    "from_flent",
    "harmless",
    "is_folder",
    "read_folder",
    "read_jsonl",
    "restored",
]


ESCAPE = "'"
BEGINNINGS = r"^['=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""First characters of a formula, characters that some spreadsheets strip before one, and their full-width forms."""


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """The table, escaped for CSV, column names included."""
    escaped = table.with_columns(_prefixed(pl.col(name)) for name in cs.expand_selector(table, _TEXT))
    heads = pl.Series(table.columns, dtype=pl.String).to_frame("name").select(_prefixed(pl.col("name")))
    return escaped.rename(dict(zip(table.columns, heads["name"], strict=True)))


def restored(table: pl.DataFrame) -> pl.DataFrame:
    """The original table, from one that `harmless` escaped."""
    return table.with_columns(cs.string().str.strip_prefix(ESCAPE))


_TEXT = cs.string(include_categorical=True)


def _prefixed(cell: pl.Expr) -> pl.Expr:
    text = cell.cast(pl.String)
    return pl.when(text.str.contains(BEGINNINGS)).then(pl.lit(ESCAPE) + text).otherwise(text).name.keep()


CARRIER = "dumbbell"


@dataclass(frozen=True)
class DumbbellExport:
    """A complete exported run."""

    format: str
    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]


def is_folder(path: Path) -> bool:
    """Is it a folder of CSV files with a manifest?"""
    return path.is_dir() and (path / "run.json").is_file() and any((path / f"{name}.csv").is_file() for name in TABLES)


def read_folder(path: Path) -> tuple[DumbbellExport, list[Source]]:
    """Read a folder of CSV files; returns the run and the files."""
    manifest_source = open_source(path / "run.json")
    manifest = _manifest(manifest_source.document, manifest_source)
    sources, tables = [manifest_source], {}
    for name in TABLES:
        source = open_source(path / f"{name}.csv")
        sources.append(source)
        tables[name] = _csv(name, source)
    return DumbbellExport("Dumbbell CSV", manifest, tables), sources


def detect_jsonl(source: Source) -> bool:
    """Is the first line a manifest?"""
    return source.data.startswith(b'{"table": "run"')


def read_jsonl(source: Source) -> DumbbellExport:
    """Read JSON lines: the manifest, then a line per row."""
    manifest: dict[str, Any] | None = None
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    heads: dict[str, list[str]] = {}
    rows_promised = 0
    if source.unfinished:
        source.fail("the last line is incomplete: the file was truncated", line=len(source.lines) + 1)
    for line in source.lines:
        value = source.parsed(line.text.encode(), line.number)
        if not isinstance(value, dict) or not isinstance(value.get("table"), str):
            source.fail(
                "not a row of dumbbell export", line=line.number, value=line.text, right='an object with "table"'
            )
        table = value.pop("table")
        if table == "run" and manifest is None:
            manifest = _manifest(value.get("run"), source)
            promised = value.get("rows")
            rows_promised = promised if isinstance(promised, int) else 0
            columns = value.get("columns")
            heads = columns if isinstance(columns, dict) else {}
        elif table in found:
            found[table].append(value)
        else:
            source.fail("unknown table", line=line.number, value=table)
    if manifest is None:
        source.fail("no manifest", line=1)
    if sum(map(len, found.values())) != rows_promised:
        source.fail(f"expected {rows_promised} rows, found {sum(map(len, found.values()))}: the file was truncated")
    tables = {}
    for name in TABLES:
        keys = heads.get(name)
        schema = _schema(name, [str(key) for key in keys] if isinstance(keys, list) else list(TABLES[name]), source)
        strange = next((key for row in found[name] for key in row if key not in schema), None)
        if strange is not None:
            source.fail("a column that the first line doesn't list", place=name, value=strange)
        tables[name] = _frame(name, {key: [row.get(key) for row in found[name]] for key in schema}, schema, source)
    return DumbbellExport("Dumbbell JSON lines", manifest, tables)


def from_flent(value: Any, source: Source) -> DumbbellExport:
    """The run in a Flent file written by `dumbbell export`."""
    if not isinstance(value, dict) or not isinstance(value.get("tables"), dict):
        source.fail("not a run of dumbbell export", place=CARRIER)
    manifest, tables = _manifest(value.get("run"), source), {}
    for name in TABLES:
        columns = value["tables"].get(name)
        if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
            source.fail("not a table of dumbbell export", place=f"{CARRIER}.tables.{name}")
        if len({len(column) for column in columns.values()}) > 1:
            source.fail("columns of different lengths", place=f"{CARRIER}.tables.{name}")
        tables[name] = _frame(name, columns, _schema(name, list(columns), source), source)
    return DumbbellExport("Flent, by Dumbbell", manifest, tables)


def _manifest(value: Any, source: Source) -> dict[str, Any]:
    newest = _sim.MANIFEST_FORMAT
    if isinstance(value, dict) and type(value.get("format")) is int and value["format"] > newest:
        source.fail(f"format {value['format']} is newer than this version reads ({newest})", place="format")
    if problem := _sim.manifest_problem(value):
        source.fail(f"not a valid run.json: {problem}")
    return dict(value)


def _schema(table: str, names: list[str], source: Source) -> dict[str, type[pl.DataType]]:
    known = TABLES[table] | ({**EXTRA, **qlog.EXTRA} if table == "flows" else {})
    strange = [name for name in names if name not in known]
    if strange:
        source.fail(f"unknown column of '{table}'", place=table, value=strange[0])
    missing = [name for name in TABLES[table] if name not in names]
    if missing:
        source.fail("a column is missing", place=table, value=missing[0])
    return {name: known[name] for name in names}


def _frame(
    table: str, columns: Mapping[str, list[Any]], schema: dict[str, type[pl.DataType]], source: Source
) -> pl.DataFrame:
    try:
        return pl.DataFrame(columns, schema=schema, strict=True)
    except (TypeError, OverflowError, ValueError, pl.exceptions.PolarsError) as error:
        source.fail(f"a value that doesn't fit its column: {str(error).splitlines()[0]}", place=table)


def _csv(table: str, source: Source) -> pl.DataFrame:
    if source.unfinished:
        source.fail("the last line is incomplete: the file was truncated", line=source.data.count(b"\n") + 1)
    head = source.head[0].text
    names = [name.strip('"') for name in head.split(",")] if head else []
    schema = _schema(table, names, source)
    try:
        return restored(pl.read_csv(source.data, schema=schema))
    except (pl.exceptions.PolarsError, ValueError) as error:
        source.fail(f"not a row of dumbbell export: {str(error).splitlines()[0]}", place=table)
