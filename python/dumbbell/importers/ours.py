"""What `dumbbell export` wrote, read back: the same run, every row and every column.

Three carriers: a folder of CSV files with `run.json` beside them, a file of JSON lines, and the key `dumbbell` in a
Flent file. The certificate is the run's own; that it was exported and imported is added to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.formulas import restored
from dumbbell.importers.source import Source, open_source
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.manifest import FORMAT, RUN
from dumbbell.result import TABLES
from dumbbell.stored import manifest_problem

__all__ = ["CARRIER", "Ours", "from_flent", "is_folder", "looks_jsonl", "read_folder", "read_jsonl"]

CARRIER = "dumbbell"


@dataclass(frozen=True)
class Ours:
    """A whole run of ours."""

    format: str
    birth: dict[str, Any]
    tables: dict[str, pl.DataFrame]


def is_folder(path: Path) -> bool:
    """Is it a folder of CSV files with a certificate?"""
    return path.is_dir() and (path / "run.json").is_file() and any((path / f"{name}.csv").is_file() for name in TABLES)


def read_folder(path: Path) -> tuple[Ours, list[Source]]:
    """Read a folder of CSV files, and the files themselves."""
    certificate = open_source(path / "run.json")
    birth = _birth(certificate.document, certificate)
    sources, tables = [certificate], {}
    for name in TABLES:
        source = open_source(path / f"{name}.csv")
        sources.append(source)
        tables[name] = _csv(name, source)
    return Ours("Dumbbell CSV", birth, tables), sources


def looks_jsonl(source: Source) -> bool:
    """Is the first line a certificate?"""
    return source.data.startswith(b'{"table": "run"')


def read_jsonl(source: Source) -> Ours:
    """Read JSON lines: the certificate, then a line a row."""
    birth: dict[str, Any] | None = None
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    heads: dict[str, list[str]] = {}
    rows_promised = 0
    if source.unfinished:
        source.fail("the last line has no end: the file was cut", line=len(source.lines) + 1)
    for line in source.lines:
        value = source.parsed(line.text.encode(), line.number)
        if not isinstance(value, dict) or not isinstance(value.get("table"), str):
            source.fail("no row of ours", line=line.number, value=line.text, right='an object with "table"')
        table = value.pop("table")
        if table == "run" and birth is None:
            birth = _birth(value.get("run"), source)
            promised = value.get("rows")
            rows_promised = promised if isinstance(promised, int) else 0
            columns = value.get("columns")
            heads = columns if isinstance(columns, dict) else {}
        elif table in found:
            found[table].append(value)
        else:
            source.fail("a table that no result has", line=line.number, value=table)
    if birth is None:
        source.fail("no certificate in it", line=1)
    if sum(map(len, found.values())) != rows_promised:
        source.fail(f"{rows_promised} rows are promised, {sum(map(len, found.values()))} are there: the file was cut")
    tables = {}
    for name in TABLES:
        keys = heads.get(name)
        schema = _schema(name, [str(key) for key in keys] if isinstance(keys, list) else list(TABLES[name]), source)
        strange = next((key for row in found[name] for key in row if key not in schema), None)
        if strange is not None:
            source.fail("a column that the first line doesn't name", place=name, value=strange)
        tables[name] = _frame(name, {key: [row.get(key) for row in found[name]] for key in schema}, schema, source)
    return Ours("Dumbbell JSON lines", birth, tables)


def from_flent(value: Any, source: Source) -> Ours:
    """The run that a Flent file of ours carries."""
    if not isinstance(value, dict) or not isinstance(value.get("tables"), dict):
        source.fail("no run of ours", place=CARRIER)
    birth, tables = _birth(value.get("run"), source), {}
    for name in TABLES:
        columns = value["tables"].get(name)
        if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
            source.fail("no table of ours", place=f"{CARRIER}.tables.{name}")
        if len({len(column) for column in columns.values()}) > 1:
            source.fail("columns of different lengths", place=f"{CARRIER}.tables.{name}")
        tables[name] = _frame(name, columns, _schema(name, list(columns), source), source)
    return Ours("Flent, by Dumbbell", birth, tables)


def _birth(value: Any, source: Source) -> dict[str, Any]:
    if isinstance(value, dict) and type(value.get("format")) is int and value["format"] > FORMAT:
        source.fail(f"format {value['format']} is newer than this Dumbbell reads ({FORMAT})", place="format")
    if problem := manifest_problem(value, RUN):
        source.fail(f"not as run.json has it: {problem}")
    return dict(value)


def _schema(table: str, names: list[str], source: Source) -> dict[str, type[pl.DataType]]:
    known = TABLES[table] | (EXTRA if table == "flows" else {})
    strange = [name for name in names if name not in known]
    if strange:
        source.fail(f"a column that '{table}' doesn't have", place=table, value=strange[0])
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
        source.fail(f"a value that its column can't hold: {str(error).splitlines()[0]}", place=table)


def _csv(table: str, source: Source) -> pl.DataFrame:
    if source.unfinished:
        source.fail("the last line has no end: the file was cut", line=source.data.count(b"\n") + 1)
    head = source.head[0].text
    names = [name.strip('"') for name in head.split(",")] if head else []
    schema = _schema(table, names, source)
    try:
        return restored(pl.read_csv(source.data, schema=schema))
    except (pl.exceptions.PolarsError, ValueError) as error:
        source.fail(f"no row of ours: {str(error).splitlines()[0]}", place=table)
