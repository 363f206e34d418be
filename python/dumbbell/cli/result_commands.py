"""The commands `stats`, `plot` and `report`."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from pathlib import Path

import click

from dumbbell.cli.options import (
    PATH,
    figure_option,
    from_option,
    json_option,
    results_argument,
    scale_option,
    to_option,
    width_option,
)

__all__ = ["plot", "report", "stats"]


@click.command("stats")
@results_argument
@from_option
@to_option
@click.option("--counters", is_flag=True, help="Show kernel counters by host.")
@click.option("--sockets", is_flag=True, help="Show every socket at the end of the window.")
@click.option("--every", "step", metavar="TIME", help="Show each flow at intervals of this length, as iperf3 does.")
@click.option(
    "--flow", "names", multiple=True, metavar="NAME", help="With --every: show only this flow or group. Repeatable."
)
@json_option
def stats(
    folders: tuple[Path, ...],
    start: str | None = None,
    end: str | None = None,
    counters: bool = False,
    sockets: bool = False,
    step: str | None = None,
    names: tuple[str, ...] = (),
    as_json: bool = False,
) -> None:
    """Print the statistics of results or of a sweep.

    Several results are printed side by side.
    """
    from dumbbell.analysis.summary import measures, summary
    from dumbbell.cli.console import out, print_json
    from dumbbell.cli.options import window_of
    from dumbbell.cli.run_summary import show_run
    from dumbbell.cli.stats_tables import show_side_by_side
    from dumbbell.cli.sweep_results import show_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        show_swept(folders[0], as_json=as_json)
        return
    runs = [load(folder) for folder in folders]
    windows = [window_of(run.manifest["duration_s"], start, end) for run in runs]
    pairs = list(zip(runs, windows, strict=True))
    if names and step is None:
        raise ExperimentError("--flow needs --every", key="--flow", right="add --every TIME, such as 1s")
    if step is not None:
        from dumbbell.cli.stats_tables import every

        if counters or sockets:
            raise ExperimentError("--every excludes --counters and --sockets", key="--every", right="give one of them")
        table = every(pairs, step, names)
        if as_json:
            print_json(table.as_json(runs[0]))
        else:
            table.show(out)
        return
    if counters or sockets:
        from dumbbell.cli import stats_tables

        shown = stats_tables.shown(pairs, counters=counters, sockets=sockets)
        if as_json:
            print_json(shown.as_json())
        else:
            shown.show(out)
        return
    if len(runs) > 1 and not as_json:
        show_side_by_side(out, runs, [measures(*pair) for pair in pairs])
        return
    numbers = [summary(*pair) for pair in pairs]
    if as_json:
        print_json(numbers[0] if len(runs) == 1 else {"runs": numbers})
    else:
        show_run(out, runs[0], numbers[0])


@click.command("plot")
@click.argument("folders", type=PATH, nargs=-1, metavar="RUN...", help="Result folders.")
@figure_option
@click.option("--panels", metavar="NAME,NAME", help="Panels, from top to bottom.")
@click.option("--figure", "name", metavar="NAME", help="Draw this figure instead of panels; see --list.")
@click.option("--metric", metavar="NAME", help="Metric of --figure box, such as jain.")
@width_option
@scale_option
@click.option("--list", "show", is_flag=True, help="List all figures and exit.")
def plot(
    folders: tuple[Path, ...] = (),
    output: Path | None = None,
    panels: str | None = None,
    name: str | None = None,
    metric: str | None = None,
    width: int = 760,
    scale: float = 2,
    show: bool = False,
) -> None:
    """Draw a figure of one or more results.

    Without --figure: panels of one result over time.
    """
    from dumbbell.cli.console import err, out
    from dumbbell.cli.figure_commands import list_figures, plot_runs

    if show:
        list_figures(out)
        return
    written = plot_runs(folders or [], output, panels=panels, name=name, metric=metric, width=width, scale=scale)
    err.print(f"wrote {written}")


@click.command("report")
@results_argument
@click.option("-o", "--output", type=PATH, default="report.html", metavar="FILE", help="HTML file to write.")
@click.option("--value", "values", multiple=True, metavar="METRIC", help="Metric to map; sweeps only. Repeatable.")
@click.option("--runs", is_flag=True, help="Also write a page per kept run; sweeps only.")
def report(
    folders: tuple[Path, ...],
    output: Path = Path("report.html"),
    values: tuple[str, ...] = (),
    runs: bool = False,
) -> None:
    """Write an HTML report about results or a sweep.

    The page is one file and needs no network.
    """
    from dumbbell.cli.console import err
    from dumbbell.cli.sweep_results import report_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.reports.page import write
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        report_swept(folders[0], output, values or (), runs=runs)
        return
    if runs:
        raise ExperimentError("--runs needs a sweep", key="--runs", right="name one sweep folder")
    write([load(folder) for folder in folders], output)
    err.print(f"wrote {output}")
