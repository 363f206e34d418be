"""`dumbbell plot`: which figure of which results, into which file; and the list of figures."""

from collections.abc import Sequence
from pathlib import Path

from dumbbell.cli.console import Console
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.plot import DEFAULT, PANELS, available, catalogue, draw, figure, save
from dumbbell.result import Run, load

__all__ = ["list_figures", "plot_runs"]

HEADINGS = {
    "panel": "panels of one run on its time: --panels NAME,NAME, or one with --figure NAME",
    "one": "of one run: --figure NAME",
    "several": "of several runs: --figure NAME",
}


def plot_runs(
    folders: Sequence[Path], output: Path | None, *, panels: str | None, name: str | None, metric: str | None,
    width: int, scale: float,
) -> Path:  # fmt: skip
    """Draw and write. Raises `DumbbellError` for what can't be drawn or written."""
    if not folders:
        raise ExperimentError("no result is named", key="RUN", right="dumbbell plot RUN -o FILE.svg, or --list")
    if output is None:
        raise ExperimentError("no file is named", key="--output", right="such as -o figure.svg")
    if panels is not None and name is not None:
        raise ExperimentError("panels and a figure at once", key="--figure", right="either --panels or --figure")
    runs = [load(folder) for folder in folders]
    if name is not None:
        chart = draw(runs, name, width, metric=metric)
    elif len(runs) > 1:
        raise ExperimentError(
            f"{len(runs)} results and no figure", key="--figure", right="panels show one; of several: see --list"
        )
    else:
        wanted = [part.strip() for part in panels.split(",")] if panels is not None else _of_itself(runs[0])
        chart = figure(runs[0], wanted, width)
    save(chart, output, scale)
    return output


def _of_itself(run: Run) -> list[str]:
    """The usual panels as far as the run can fill them, or else any others (of a ping's log: its ping)."""
    found = available(run, DEFAULT) or available(run, tuple(PANELS))
    if not found:
        raise ResultError(f"{run.folder}: nothing can be drawn: it says nothing over time")
    return found


def list_figures(out: Console) -> None:
    """Every figure with what it shows."""
    entries = catalogue()
    wide = max(len(entry.name) for entry in entries)
    for kind, heading in HEADINGS.items():
        out.print(heading, style="bold")
        for entry in entries:
            if entry.runs == kind:
                out.print(f"  {entry.name:{wide}}  {entry.about}", soft_wrap=True)
