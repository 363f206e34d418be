"""Results and sweeps as tables of text, one row a line: CSV, JSON lines, Parquet.

CSV text is quoted, which distinguishes empty text from null, and never starts like a formula (`csv_cells`); floats have
enough digits to round-trip.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from dumbbell.control_characters import json_text
from dumbbell.csv_cells import harmless
from dumbbell.errors import ImportProblem, OutputError
from dumbbell.publish import captured
from dumbbell.results.result import Run, system_errors
from dumbbell.results.table_schema import TABLES
from dumbbell.sweeps.folder import Sweep

__all__ = ["export_sweep", "write_csv", "write_jsonl", "write_table"]


PIECE_ROWS = 50_000


def write_csv(run: Run, folder: Path) -> None:
    """Write `run.json` and a CSV file per table into a folder."""
    (folder / "run.json").write_text(json_text(run.manifest, allow_nan=True, indent=1) + "\n", encoding="utf-8")
    for name in TABLES:
        table = harmless(getattr(run, name))
        with system_errors():
            table.write_csv(folder / f"{name}.csv", quote_style="non_numeric", null_value="", line_terminator="\n")


def write_jsonl(run: Run, file: Path) -> None:
    """Write the manifest as the first line, then a line per row; nulls are omitted."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    tables = {name: getattr(run, name) for name in TABLES}
    head = {
        "table": "run",
        "rows": sum(len(table) for table in tables.values()),
        "columns": {name: table.columns for name, table in tables.items()},
        "run": run.manifest,
    }
    yield json_text(head, allow_nan=True)
    for name, table in tables.items():
        for piece in table.iter_slices(PIECE_ROWS):
            for row in piece.iter_rows(named=True):
                known = {column: value for column, value in row.items() if value is not None}
                yield json_text({"table": name, **known}, allow_nan=True)


FORMATS = ("csv", "jsonl", "parquet")


def export_sweep(sweep: Sweep, out: Path | None = None, format_: str | None = None) -> Path:
    """Write the table; returns the path. Never overwrites, and the file appears complete or not at all.

    Raises `ImportProblem` for an unknown format, `OutputError` when it can't be written.
    """
    path = out or Path(f"{sweep.folder.resolve().name}.{format_ or 'csv'}")
    write_table(sweep.runs, path, format_)
    return path


def write_table(table: pl.DataFrame, path: Path, format_: str | None = None) -> None:
    """Write any table in this way. Raises as `export_sweep` does."""
    name = format_ or path.suffix.removeprefix(".") or "csv"
    if name not in FORMATS:
        place = "--format" if format_ else str(path)
        raise ImportProblem("unknown table format", place=place, value=name, right=f"choose from: {', '.join(FORMATS)}")
    try:
        with captured(path) as file, system_errors():
            assert file is not None
            if name == "csv":
                harmless(table).write_csv(file, quote_style="non_numeric", null_value="", line_terminator="\n")
            elif name == "jsonl":
                table.write_ndjson(file)
            else:
                table.write_parquet(file, compression="zstd", statistics=True)
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{path}: can't be written: {error}") from error
