"""Commands on results: `stats`, `plot`, `report`, `import` and `export`.

`dumbbell.plots`, `reports`, `importers` and `exporters` do the work.
"""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.options import (
    PATH,
    Command,
    comma_separated,
    figure_option,
    from_option,
    json_option,
    results_argument,
    scale_option,
    to_option,
    width_option,
)
from dumbbell.cli.sweep_results import of_a_map

if TYPE_CHECKING:
    from dumbbell.cli.console import Console
    from dumbbell.cli.runs import RunResults
    from dumbbell.results.result import Run

__all__ = [
    "export",
    "import_",
    "list_figures",
    "plot",
    "report",
    "stats",
]


@click.command("stats")
@results_argument
@from_option
@to_option
@click.option("--counters", is_flag=True, help="Show kernel counters by host.")
@click.option("--sockets", is_flag=True, help="Show every socket at the end of the window.")
@click.option("--destinations", is_flag=True, help="Show advice by destination, from a recording of `watch`.")
@click.option("--every", "step", metavar="TIME", help="Show each flow at intervals of this length, as iperf3 does.")
@click.option(
    "--flow", "names", multiple=True, metavar="NAME", help="With --every: show only this flow or group. Repeatable."
)
@json_option
def stats(  # noqa: PLR0912, PLR0913, PLR0917 — a branch for each kind of table, an argument for each option
    folders: tuple[Path, ...],
    start: str | None = None,
    end: str | None = None,
    counters: bool = False,
    sockets: bool = False,
    destinations: bool = False,
    step: str | None = None,
    names: tuple[str, ...] = (),
    as_json: bool = False,
) -> None:
    """Print the statistics of results or of a sweep.

    A folder of cases or seeds is printed as `dumbbell run` prints it, several folders side by side.
    """
    from dumbbell.analysis.summary import measures, summary
    from dumbbell.cli.console import out, print_json
    from dumbbell.cli.options import window_of
    from dumbbell.cli.run_summary import show_cases, show_run
    from dumbbell.cli.stats_tables import show_side_by_side
    from dumbbell.cli.sweep_results import show_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.results.members import all_members
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        show_swept(folders[0], as_json=as_json)
        return
    runs = [load(folder) for folder in all_members(folders)]
    windows = [window_of(run.manifest.duration_s, start, end) for run in runs]
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
    if destinations:
        from dumbbell.cli.destination_table import show_destinations

        if counters or sockets or len(runs) > 1 or start or end:
            raise ExperimentError(
                "--destinations takes one whole result", key="--destinations", right="name one, without other options"
            )
        show_destinations(runs[0], as_json=as_json)
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
        if len(folders) == 1 and start is end is None:
            show_cases(out, _results_of(folders[0], runs))
        else:
            show_side_by_side(out, runs, [measures(*pair) for pair in pairs])
        return
    numbers = [summary(*pair) for pair in pairs]
    if as_json:
        print_json(numbers[0] if len(runs) == 1 else {"runs": numbers})
    else:
        show_run(out, runs[0], numbers[0])


def _results_of(folder: Path, runs: "list[Run]") -> "RunResults":
    """A folder of cases or seeds, as `run` printed it."""
    from dumbbell.cli.runs import RunResults

    engines = dict.fromkeys(str(run.manifest.engine) for run in runs)
    wall_s = sum(run.manifest.wall_s or 0 for run in runs)
    return RunResults(folder, runs, True, " and ".join(engines), wall_s)


@click.command("plot")
@click.argument(
    "folders",
    type=PATH,
    nargs=-1,
    metavar="RUN...|SWEEP",
    help="Result folders, also of cases or seeds; or one sweep folder.",
)
@figure_option
@click.option("--panels", metavar="NAME,NAME", help="Panels, from top to bottom; of a sweep: keys, one for each value.")
@click.option("--figure", "name", metavar="NAME", help="Draw this figure instead of panels; see --list.")
@click.option(
    "--flow", "--group", "wanted", multiple=True, metavar="NAME", help="Draw only this flow or group. Repeatable."
)
@click.option("--from", "start", metavar="TIME", help="Begin the time axis here.")
@click.option("--to", "end", metavar="TIME", help="End the time axis here.")
@click.option("--y-max", "top", type=click.FloatRange(min=0, min_open=True), metavar="V", help="Top of the value axis.")
@click.option("--by", type=click.Choice(["group"]), help="A panel with an axis of its own for each group.")
@click.option("--metric", metavar="NAME", help="Metric of --figure box, such as jain, or of a sweep's map.")
@click.option("--x", metavar="KEY", help="Sweeps only: key for the x axis; default: the first.")
@click.option("--y", metavar="KEY", help="Sweeps only: key for the y axis; without it lines.")
@of_a_map
@width_option
@scale_option
@click.option("--list", "show", is_flag=True, help="List all figures and exit.")
@json_option
def plot(  # noqa: PLR0913, PLR0917 — a command has many options
    folders: tuple[Path, ...] = (),
    output: Path | None = None,
    panels: str | None = None,
    name: str | None = None,
    metric: str | None = None,
    wanted: tuple[str, ...] = (),
    start: str | None = None,
    end: str | None = None,
    top: float | None = None,
    by: str | None = None,
    width: int = 760,
    scale: float = 2,
    show: bool = False,
    as_json: bool = False,
    x: str | None = None,
    y: str | None = None,
    **of_map: Any,
) -> None:
    """Draw a figure of one or more results, or a map of a sweep.

    Without --figure: panels of one result over time. Lines that are denser than pixels over 60 s are drawn as their
    median in a band from the smallest to the largest value. Of a sweep: --metric over one or two keys, as a map or as
    lines.
    """
    from dumbbell.cli.console import out, print_written
    from dumbbell.sweeps.folder import is_sweep

    if show:
        list_figures(out)
        return
    if len(folders) == 1 and is_sweep(folders[0]):
        print_written(
            _plot_swept(folders[0], output, name, metric, x, y, panels, width, scale, of_map), as_json=as_json
        )
        return
    given = [f"--{key}" for key, value in {"x": x, "y": y, **of_map}.items() if value]
    if given:
        from dumbbell.errors import ExperimentError

        raise ExperimentError("an option of sweeps", key=given[0], right="name one sweep folder")
    written = plot_runs(
        folders or [], output, panels=panels, name=name, metric=metric, width=width, scale=scale, wanted=wanted,
        start=start, end=end, top=top, by_group=by is not None,
    )  # fmt: skip
    print_written(written, as_json=as_json)


def _plot_swept(  # noqa: PLR0913, PLR0917 — the options of the command
    folder: Path, output: Path | None, name: str | None, metric: str | None, x: str | None, y: str | None,
    panels: str | None, width: int, scale: float, of_map: dict[str, Any],
) -> Path:  # fmt: skip
    from dumbbell.cli.sweep_results import draw_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.sweeps.folder import load

    if name is not None:
        raise ExperimentError(
            "figures are of runs", key="--figure", value=name, right="--metric NAME for a sweep's map"
        )
    if metric is None:
        raise ExperimentError("no metric given", key="--metric", right="such as --metric groups.bbr.share")
    first = x or next(iter(load(folder).axes))
    return draw_swept(folder, output, metric, first, y, panels or "", width, scale, **of_map)


@click.command("report", cls=Command, older={"--value": "--metric"})
@results_argument
@click.option("-o", "--output", type=PATH, default="report.html", metavar="FILE", help="HTML file to write.")
@click.option("--metric", "values", multiple=True, metavar="METRIC", help="Metric to map; sweeps only. Repeatable.")
@click.option("--runs", is_flag=True, help="Also write a page per kept run; sweeps only.")
@click.option("--addresses", is_flag=True, help="Show the addresses in imported logs.")
@json_option
def report(
    folders: tuple[Path, ...],
    output: Path = Path("report.html"),
    values: tuple[str, ...] = (),
    runs: bool = False,
    addresses: bool = False,
    as_json: bool = False,
) -> None:
    """Write an HTML report about results or a sweep.

    The page is one file and needs no network.
    """
    from dumbbell.cli.console import print_written
    from dumbbell.cli.sweep_results import report_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.reports.page import write
    from dumbbell.results.members import all_members
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        print_written(output, report_swept(folders[0], output, values or (), runs=runs), as_json=as_json)
        return
    if runs:
        raise ExperimentError("--runs needs a sweep", key="--runs", right="name one sweep folder")
    write([load(folder) for folder in all_members(folders)], output, addresses=addresses)
    print_written(output, as_json=as_json)


@click.command("import", cls=Command, older={"-o": "--out"})
@click.argument(
    "files",
    type=PATH,
    nargs=-1,
    required=True,
    metavar="FILE...",
    help="Logs, plain or gzipped, in any known format; - reads standard input.",
)
@click.option(
    "--out",
    "folder",
    type=PATH,
    required=True,
    metavar="RUN|FILE.toml",
    help="Result folder to write; of a script of tc commands the experiment file.",
)
@click.option("--host", type=click.Choice(["sender", "router"]), help="Where a script of tc commands runs.")
@click.option(
    "--name", default="", show_default=False, metavar="NAME,…", help="Names for the flows or the files' sources."
)
@click.option(
    "--cc", default="", show_default=False, metavar="NAME,…", help="Congestion controls, if the logs don't name them."
)
@click.option(
    "--interval",
    default="",
    show_default=False,
    metavar="TIME",
    help="Sampling interval, if the log has no timestamps.",
)
@click.option(
    "--mss", default="", show_default=False, metavar="BYTES", help="MSS used to convert windows from bytes to packets."
)
@click.option(
    "--size",
    default="",
    show_default=False,
    metavar="BYTES",
    help="Transfer size for logs of curl and time, such as 61MB.",
)
@click.option("--align", metavar="clock|start", help="Align several logs by wall clock or by their start.")
@click.option("--queue", metavar="NAME", help="Queue to treat as the bottleneck.")
@click.option("--format", "format_", metavar="NAME", help="Log format; default: detected.")
@click.option("--title", default="", show_default=False, metavar="TEXT", help="Title for figures and reports.")
@json_option
def import_(  # noqa: PLR0913, PLR0917 — a command has many options
    files: tuple[Path, ...],
    folder: Path,
    host: str | None = None,
    name: str = "",
    cc: str = "",
    interval: str = "",
    mss: str = "",
    size: str = "",
    align: str | None = None,
    queue: str | None = None,
    format_: str | None = None,
    title: str = "",
    as_json: bool = False,
) -> None:
    """Import logs of other programs as a result, or a script of tc commands as an experiment."""
    if folder.suffix == ".toml":
        _import_script(files, folder, host)
        return
    from dumbbell.analysis.summary import summary
    from dumbbell.cli.console import out, print_json
    from dumbbell.cli.run_summary import show_run
    from dumbbell.importers import Options, import_files
    from dumbbell.results.result import load

    options_given = {"name": name, "cc": cc, "interval": interval, "mss": mss, "size": size, "align": align}
    options_given |= {"queue": queue, "format": format_, "title": title}
    arguments = [
        *map(str, files),
        *(argument for key, value in options_given.items() if value for argument in (f"--{key}", value)),
    ]
    options = Options(
        names=comma_separated(name), ccs=comma_separated(cc), interval_ns=_quantity("interval", interval),
        mss_bytes=_quantity("mss", mss), size_bytes=_quantity("size", size), format=format_, align=_align(align),
        queue=queue, title=title,
    )  # fmt: skip
    run = load(
        import_files(files, folder, options, shlex.join(["dumbbell", "import", *arguments, "--out", str(folder)]))
    )
    numbers = summary(run)
    if as_json:
        print_json(numbers)
    else:
        show_run(out, run, numbers)


@click.command("export", cls=Command, older={"--out": "--output"})
@click.argument("folder", type=PATH, metavar="RUN|SWEEP", help="A result folder or a sweep folder.")
@click.option("-o", "--output", type=PATH, metavar="PATH", help="File or folder to write.")
@click.option(
    "--format",
    "format_",
    metavar="csv|jsonl|flent|qlog|parquet",
    help="Output format; default: by the extension of PATH.",
)
@click.option("--qlog", "as_qlog", is_flag=True, help="A qlog for each flow, for qvis: --format qlog.")
@click.option("--flow", "flows", multiple=True, metavar="NAME", help="With --qlog: only this flow; may be repeated.")
@click.option("--addresses", is_flag=True, help="Keep the addresses in imported logs.")
@click.option("--sql", "text", metavar="QUERY", help="Sweeps only: the result of this query on the table `runs`.")
@json_option
def export(
    folder: Path,
    output: Path | None = None,
    format_: str | None = None,
    as_qlog: bool = False,
    flows: tuple[str, ...] = (),
    addresses: bool = False,
    text: str | None = None,
    as_json: bool = False,
) -> None:
    """Export a result or a sweep's table.

    With --sql what a query selects; without --output it is printed.

    A result becomes CSV, JSON lines, a Flent file or qlogs, which `dumbbell import` can read; a sweep's table one file.
    """
    from dumbbell.cli.console import print_written
    from dumbbell.cli.sweep_results import export_swept
    from dumbbell.errors import ExperimentError
    from dumbbell.exporters import export_run
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    if as_qlog:
        if format_ not in (None, "qlog"):
            raise ExperimentError("--qlog is a format", key="--format", value=format_, right="give one of them")
        format_ = "qlog"
    if (as_qlog or flows) and (is_sweep(folder) or text is not None):
        raise ExperimentError("a sweep's table is no qlog", key="--qlog", right="name one of its results")
    if text is not None:
        from dumbbell.cli.sweep_results import show_query

        if not is_sweep(folder):
            raise ExperimentError("--sql needs a sweep", key="--sql", right="name one sweep folder")
        show_query(folder, text, output, as_json=as_json, format_=format_)
        return
    if is_sweep(folder):
        written = export_swept(folder, output, format_)
    else:
        written = export_run(load(folder), output, format_, addresses=addresses, flows=flows)
    print_written(written, as_json=as_json)


def _import_script(files: Sequence[Path], out_file: Path, host: str | None) -> None:
    from dumbbell.cli.console import err
    from dumbbell.errors import ExperimentError
    from dumbbell.plan import plan_case
    from dumbbell.publish import write
    from dumbbell.spec.document import parse
    from dumbbell.spec.tc_script import experiment_of_script

    if len(files) != 1:
        raise ExperimentError("an experiment is made of one script", value=" ".join(map(str, files)))
    text, notes = experiment_of_script(files[0], host)
    plan = plan_case(parse(text, out_file)[0], 1)
    write(out_file, text.encode())
    for note in (*notes, *plan.warnings):
        err.print(f"note: {note}", soft_wrap=True)
    err.print(f"wrote {out_file}; change what is marked with ?, then: dumbbell run {out_file}", soft_wrap=True)


def _quantity(option: str, text: str) -> int | None:
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns, size_bytes

    if not text:
        return None
    reads, least = (duration_ns, "1ns") if option == "interval" else (size_bytes, "1b")
    return quantity(f"--{option}", text, reads, least)


def _align(text: Any) -> str | None:
    from dumbbell.errors import ImportProblem

    if text not in (None, "clock", "start"):
        raise ImportProblem("unknown alignment", place="--align", value=text, right="clock or start")
    return None if text is None else str(text)


HEADINGS = {
    "panel": "panels of one run over time: --panels NAME,NAME, or one with --figure NAME",
    "one": "of one run: --figure NAME",
    "several": "of several runs: --figure NAME",
}


def plot_runs(  # noqa: PLR0913 — a command has many options
    folders: Sequence[Path], output: Path | None, *, panels: str | None, name: str | None, metric: str | None,
    width: int, scale: float, wanted: Sequence[str] = (), start: str | None = None, end: str | None = None,
    top: float | None = None, by_group: bool = False,
) -> Path:  # fmt: skip
    """Draw and write. Raises `DumbbellError`."""
    from dumbbell.cli.options import window_of
    from dumbbell.errors import ExperimentError
    from dumbbell.plots import View, draw, figure, of_flows, save
    from dumbbell.results.members import all_members
    from dumbbell.results.result import load

    if not folders:
        raise ExperimentError("no result given", key="RUN", right="dumbbell plot RUN -o FILE.svg, or --list")
    if output is None:
        raise ExperimentError("no file given", key="--output", right="such as -o figure.svg")
    if panels is not None and name is not None:
        raise ExperimentError("--panels and --figure exclude each other", key="--figure", right="give one of them")
    runs = [of_flows(load(folder), wanted) for folder in all_members(folders)]
    window = window_of(max(run.manifest.duration_s for run in runs), start, end)
    first, last = (None, None) if window is None else (window[0] / 1e9, window[1] / 1e9)
    view = View(first, last, top, by_group, bands=True)
    if name is not None:
        chart = draw(runs, name, width, metric=metric, view=view)
    elif len(runs) > 1:
        raise ExperimentError(
            f"panels show one result, not {len(runs)}",
            key="--figure",
            right=f"name one, such as {runs[0].folder}, or a figure of several runs; see --list",
        )
    else:
        names = [part.strip() for part in panels.split(",")] if panels is not None else _default_panels(runs[0])
        chart = figure(runs[0], names, width, view=view)
    save(chart, output, scale)
    return output


def _default_panels(run: "Run") -> list[str]:
    """The default panels that the run has data for; if none, any others (a ping log has only ping)."""
    from dumbbell.errors import ResultError
    from dumbbell.plots import DEFAULT, PANELS, available

    found = available(run, DEFAULT) or available(run, tuple(PANELS))
    if not found:
        raise ResultError(f"{run.folder}: can't be drawn: it has no time series")
    return found


def list_figures(out: "Console") -> None:
    """List every figure with its description."""
    from dumbbell.plots import catalogue

    entries = catalogue()
    wide = max(len(entry.name) for entry in entries)
    for kind, heading in HEADINGS.items():
        out.print(heading, style="bold")
        for entry in entries:
            if entry.runs == kind:
                out.print(f"  {entry.name:{wide}}  {entry.about}", soft_wrap=True)
