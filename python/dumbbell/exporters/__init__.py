"""Export results: a folder of CSV files, a file of JSON lines, a Flent file.

Each file contains the whole run: `dumbbell.importers` reads it back without loss.
"""

from collections.abc import Callable
from pathlib import Path

from dumbbell.errors import ImportProblem
from dumbbell.exporters.flent import write_flent
from dumbbell.exporters.tables import write_csv, write_jsonl
from dumbbell.publish import captured, staged
from dumbbell.results.result import Run

__all__ = ["FORMATS", "export_run"]

FORMATS: dict[str, tuple[str, Callable[[Run, Path], None]]] = {
    "csv": (".csv", write_csv),
    "jsonl": (".jsonl", write_jsonl),
    "flent": (".flent.gz", write_flent),
}
"""By name: the path's suffix, and the writer. CSV is a folder."""


def export_run(run: Run, out: Path | None = None, format_: str | None = None) -> Path:
    """Write the run; returns the path. Never overwrites, and the output appears complete or not at all.

    Raises `ImportProblem` for an unknown format, `OutputError` when it can't be written.
    """
    name = format_ or _by_suffix(out)
    if name not in FORMATS:
        raise ImportProblem("unknown format", place="--format", value=name, right=f"choose from: {', '.join(FORMATS)}")
    suffix, write = FORMATS[name]
    path = out or Path(f"{run.folder.resolve().name}{suffix}")
    if name == "csv":
        with staged(path) as folder:
            write(run, folder)
    else:
        with captured(path) as file:
            assert file is not None
            write(run, file)
    return path


def _by_suffix(out: Path | None) -> str:
    """The format of a path's suffix; a path without a known suffix becomes a folder of CSV files."""
    if out is None:
        return "csv"
    if out.name.endswith((".flent.gz", ".flent")):
        return "flent"
    return "jsonl" if out.suffix in (".jsonl", ".ndjson") else "csv"
