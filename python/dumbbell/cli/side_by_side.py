"""Results side by side: one row per metric, one column per run, and the last one's difference from the first."""

from collections.abc import Mapping, Sequence

from dumbbell.cli.console import Console
from dumbbell.cli.number_text import digits, distinct_names, grid
from dumbbell.results.result import Run

__all__ = ["show_side_by_side"]

LEAST = 1e-9


def show_side_by_side(out: Console, runs: Sequence[Run], rows: Sequence[Mapping[str, float]]) -> None:
    """Print the metrics of all runs (`measures`) as a table."""
    table = grid(["metric"], [*_heads(runs), "difference"])
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        table.add_row(name, *map(digits, values), _difference(values[0], values[-1]))
    seconds = [run.manifest["wall_s"] for run in runs]
    if any(second is not None for second in seconds):  # Imports have none.
        table.add_row("wall_s", *map(digits, seconds), _difference(seconds[0], seconds[-1]))
    out.print(table)
    for run in runs:
        for reason in run.manifest["invalid"]:
            out.print(f"INVALID: {run.folder}: {reason}", style="bold red")


def _heads(runs: Sequence[Run]) -> list[str]:
    """Distinct headings: engines, seeds, or folders."""
    engines = [str(run.manifest["engine"]) for run in runs]
    seeded = [
        engine if (seed := run.manifest["seed"]) is None else f"{engine}, seed {seed}"
        for engine, run in zip(engines, runs, strict=True)
    ]
    return distinct_names([engines, seeded, [run.folder.name for run in runs]])


def _difference(first: float | None, last: float | None) -> str:
    if first is None or last is None or abs(first) < LEAST:
        return ""
    return f"{100 * (last / first - 1):+.1f}%"
