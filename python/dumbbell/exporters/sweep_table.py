"""A sweep's table as CSV, JSON lines, or Parquet, by the path's suffix; one row per run.

CSV text is quoted, which distinguishes empty text from null, and never starts like a formula (`csv_cells`); floats have
enough digits to round-trip.
"""

from pathlib import Path

import polars as pl

from dumbbell.csv_cells import harmless
from dumbbell.errors import ImportProblem, OutputError
from dumbbell.publish import captured
from dumbbell.results.result import system_errors
from dumbbell.sweeps.folder import Sweep

__all__ = ["export_sweep", "write_table"]

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
