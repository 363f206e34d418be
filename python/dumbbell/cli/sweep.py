"""The command `sweep`: an experiment at many points."""
# ruff: noqa: PLC0415 — as in `app`

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["sweep"]


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A sweep file.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the table goes.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = None,
) -> None:
    """Run an experiment at every point of a grid; a table with a row a run."""
    from dumbbell.spec.sweep import load_sweep
    from dumbbell.sweep import conduct
    from dumbbell.sweep.conduct import Here
    from dumbbell.sweep.table import table_of

    asked = load_sweep(file, settings or ())
    rows = conduct(asked, Here(), lambda _row: None)
    table_of(rows, asked.every_axis).write_parquet(out)
