"""A sweep's table for other programs: CSV, JSON lines, or Parquet, as the path's end says; a row a run.

Text is quoted in CSV, so an empty text and an unknown one differ, and none begins as a formula does (`formulas`);
floats have the digits that give the same again.
"""

from pathlib import Path

import polars as pl

from dumbbell.errors import ImportProblem, OutputError
from dumbbell.formulas import harmless
from dumbbell.publish import captured
from dumbbell.result import system_errors
from dumbbell.sweeps.folder import Sweep

__all__ = ["export_sweep", "write_table"]

FORMATS = ("csv", "jsonl", "parquet")


def export_sweep(sweep: Sweep, out: Path | None = None, format_: str | None = None) -> Path:
    """Write the table; returns where. Nothing is overwritten, and the file appears whole or not at all.

    Raises `ImportProblem` for a format that isn't known, `OutputError` when it can't be written.
    """
    path = out or Path(f"{sweep.folder.resolve().name}.{format_ or 'csv'}")
    write_table(sweep.runs, path, format_)
    return path


def write_table(table: pl.DataFrame, path: Path, format_: str | None = None) -> None:
    """Write any table so. Raises as `export_sweep` does."""
    name = format_ or path.suffix.removeprefix(".") or "csv"
    if name not in FORMATS:
        place = "--format" if format_ else str(path)
        raise ImportProblem(
            "no such format of a table", place=place, value=name, right=f"there is: {', '.join(FORMATS)}"
        )
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
