"""Write every row and every column as text: a CSV file per table, or a JSON line per row.

CSV text is quoted, which distinguishes empty text from null, and never starts like a formula (`csv_cells`); floats have
enough digits to round-trip.
"""

from collections.abc import Iterator
from pathlib import Path

from dumbbell.control_characters import json_text
from dumbbell.csv_cells import harmless
from dumbbell.results.result import Run, system_errors
from dumbbell.results.table_schema import TABLES

__all__ = ["write_csv", "write_jsonl"]

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
