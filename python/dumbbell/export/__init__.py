"""A result for other programs: a folder of CSV files, a file of JSON lines, a Flent file.

```text
carry   csv and jsonl: every row, every column, and the certificate
flent   Flent's own series, so that its plots work, and the run itself beside them
```

Each holds the whole run: `dumbbell.importers` reads it back without loss. What numbers mean is `dumbbell.analysis`.
"""

from collections.abc import Callable
from pathlib import Path

from dumbbell.errors import ImportProblem
from dumbbell.export.carry import write_csv, write_jsonl
from dumbbell.export.flent import write_flent
from dumbbell.publish import captured, staged
from dumbbell.result import Run

__all__ = ["FORMATS", "export_run"]

FORMATS: dict[str, tuple[str, Callable[[Run, Path], None]]] = {
    "csv": (".csv", write_csv),
    "jsonl": (".jsonl", write_jsonl),
    "flent": (".flent.gz", write_flent),
}
"""By name: how the path ends, and who writes it. CSV is a folder."""


def export_run(run: Run, out: Path | None = None, format_: str | None = None) -> Path:
    """Write the run; returns where. Nothing is overwritten, and a file appears whole or not at all.

    Raises `ImportProblem` for a format that isn't known, `OutputError` when it can't be written.
    """
    name = format_ or _by_suffix(out)
    if name not in FORMATS:
        raise ImportProblem("no such format", place="--format", value=name, right=f"there is: {', '.join(FORMATS)}")
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
    """The format that a path's end says; a path without one of them becomes a folder of CSV files."""
    if out is None:
        return "csv"
    if out.name.endswith((".flent.gz", ".flent")):
        return "flent"
    return "jsonl" if out.suffix in (".jsonl", ".ndjson") else "csv"
