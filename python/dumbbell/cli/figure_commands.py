"""`dumbbell plot`: draw a figure of results into a file; list the figures."""

from collections.abc import Sequence
from pathlib import Path

from dumbbell.cli.console import Console
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.plots import DEFAULT, PANELS, available, catalogue, draw, figure, save
from dumbbell.results.result import Run, load

__all__ = ["list_figures", "plot_runs"]

HEADINGS = {
    "panel": "panels of one run over time: --panels NAME,NAME, or one with --figure NAME",
    "one": "of one run: --figure NAME",
    "several": "of several runs: --figure NAME",
}


def plot_runs(
    folders: Sequence[Path], output: Path | None, *, panels: str | None, name: str | None, metric: str | None,
    width: int, scale: float,
) -> Path:  # fmt: skip
    """Draw and write. Raises `DumbbellError`."""
    if not folders:
        raise ExperimentError("no result given", key="RUN", right="dumbbell plot RUN -o FILE.svg, or --list")
    if output is None:
        raise ExperimentError("no file given", key="--output", right="such as -o figure.svg")
    if panels is not None and name is not None:
        raise ExperimentError("--panels and --figure exclude each other", key="--figure", right="give one of them")
    runs = [load(folder) for folder in folders]
    if name is not None:
        chart = draw(runs, name, width, metric=metric)
    elif len(runs) > 1:
        raise ExperimentError(
            f"panels show one result, not {len(runs)}", key="--figure", right="a figure of several runs; see --list"
        )
    else:
        names = [part.strip() for part in panels.split(",")] if panels is not None else _default_panels(runs[0])
        chart = figure(runs[0], names, width)
    save(chart, output, scale)
    return output


def _default_panels(run: Run) -> list[str]:
    """The default panels that the run has data for; if none, any others (a ping log has only ping)."""
    found = available(run, DEFAULT) or available(run, tuple(PANELS))
    if not found:
        raise ResultError(f"{run.folder}: can't be drawn: it has no time series")
    return found


def list_figures(out: Console) -> None:
    """List every figure with its description."""
    entries = catalogue()
    wide = max(len(entry.name) for entry in entries)
    for kind, heading in HEADINGS.items():
        out.print(heading, style="bold")
        for entry in entries:
            if entry.runs == kind:
                out.print(f"  {entry.name:{wide}}  {entry.about}", soft_wrap=True)
