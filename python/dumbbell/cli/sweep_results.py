"""Commands on a finished sweep: `map`, `sql`, and the sweep parts of `stats`, `report` and `export`."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dumbbell.cli.options import (
    PATH,
    Command,
    comma_separated,
    figure_option,
    json_option,
    scale_option,
    sweep_argument,
    width_option,
)

__all__ = ["OF_A_MAP", "draw_swept", "export_swept", "map_", "of_a_map", "report_swept", "show_swept", "sql"]


OF_A_MAP = (
    click.option("--lines", metavar="KEY", help="One line per value of this key; only without --y."),
    click.option("--where", metavar="SQL", help="Select runs by an SQL condition, such as 'seed <= 3'."),
    click.option("--difference", metavar="KEY[=A,B]", help="Plot the difference B - A, such as engine=sim,kernel."),
    click.option(
        "--contour",
        default="",
        show_default=False,
        metavar="NUMBER,…",
        help="Contour levels; cells whose interval includes a level are marked.",
    ),
    click.option("--middle", type=float, metavar="NUMBER", help="Center of a diverging colour scale."),
    click.option("--within", type=float, metavar="NUMBER", help="Mark cells whose interval is wider than ± this."),
    click.option("--log", is_flag=True, help="Logarithmic scale for the value."),
    click.option("--title", metavar="TEXT", help="Title; default: the sweep's."),
)
"""Options of a map, beside its metric and its axes."""


def of_a_map(command: Any) -> Any:
    """Give a command these options."""
    for option in reversed(OF_A_MAP):
        command = option(command)
    return command


@click.command("map", cls=Command, older={"--value": "--metric"})
@sweep_argument
@click.option(
    "--metric", "value", required=True, metavar="METRIC",
    help="Metric to plot, or an arithmetic expression (+ - * /) of metrics.",
)  # fmt: skip
@click.option("--x", required=True, metavar="KEY", help="Key for the x axis.")
@click.option("--y", metavar="KEY", help="Key for the y axis; without it the values are drawn as lines.")
@click.option(
    "--panels", default="", show_default=False, metavar="KEY[,KEY]", help="One panel per value of these keys."
)
@of_a_map
@figure_option
@width_option
@scale_option
@json_option
def map_(  # noqa: PLR0913, PLR0917 — a command has many options
    folder: Path,
    value: str,
    x: str,
    y: str | None = None,
    panels: str = "",
    lines: str | None = None,
    where: str | None = None,
    difference: str | None = None,
    contour: str = "",
    middle: float | None = None,
    within: float | None = None,
    log: bool = False,
    title: str | None = None,
    output: Path | None = None,
    width: int = 760,
    scale: float = 2,
    as_json: bool = False,
) -> None:
    """Draw a sweep's metric over one or two parameters.

    Two axes give a map, one axis gives lines; both show the uncertainty.
    """
    from dumbbell.cli.console import print_written

    more = {"lines": lines, "where": where, "difference": difference, "contour": contour, "middle": middle}
    path = draw_swept(folder, output, value, x, y, panels, width, scale, **more, within=within, log=log, title=title)
    print_written(path, as_json=as_json)


def draw_swept(
    folder: Path, output: Path | None, value: str, x: str, y: str | None, panels: str, width: int, scale: float,
    **more: Any,
) -> Path:  # fmt: skip
    """Draw a sweep's map, with the options of `OF_A_MAP`, and return its file. Raises `DumbbellError`."""
    from dumbbell.engines.base import plain
    from dumbbell.plots import save
    from dumbbell.plots.sweep_map import draw_map
    from dumbbell.spec.sweep import read_map
    from dumbbell.sweeps.folder import load

    contour, within = _numbers(more.pop("contour")), more.pop("within")
    figure = read_map(
        value=value, x=x, y=y, panels=comma_separated(panels), contour=contour,
        within=within if within is None else _positive(within), **more,
    )  # fmt: skip
    path = output or Path(f"{plain(folder.resolve().name)}-{plain(value)}.svg")
    save(draw_map(load(folder), figure, width), path, scale)
    return path


@click.command("sql")
@sweep_argument
@click.argument("text", metavar="QUERY", help="SQL query, such as: select status, count(*) from runs group by status")
@click.option(
    "-o", "--output", type=PATH, metavar="FILE", help="Write .csv, .jsonl or .parquet instead of printing a table."
)
@json_option
def sql(
    folder: Path,
    text: str,
    output: Path | None = None,
    as_json: bool = False,
) -> None:
    """Query a sweep's `runs` table with SQL."""
    show_query(folder, text, output, as_json=as_json)


def show_query(folder: Path, text: str, output: Path | None, *, as_json: bool, format_: str | None = None) -> None:
    """Query a sweep's table, and write or print the result. Raises `DumbbellError`."""
    from dumbbell.cli.console import digits, err, grid, out, print_json
    from dumbbell.exporters import write_table
    from dumbbell.sweeps.folder import load, query

    found = query(load(folder).runs, text)
    if output is not None:
        write_table(found, output, format_)
        err.print(f"wrote {output}: {found.height} rows")
    if as_json:
        print_json({"columns": found.columns, "rows": [[_plain(each) for each in row] for row in found.iter_rows()]})
    elif output is None:
        numeric = [kind.is_numeric() for kind in found.dtypes]
        table = grid([], [])
        for name, right in zip(found.columns, numeric, strict=True):
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for row in found.iter_rows():
            table.add_row(
                *(digits(each) if isinstance(each, float) else "" if each is None else str(each) for each in row)
            )
        out.print(table)


def show_swept(folder: Path, *, as_json: bool) -> None:
    """Print counts, axes, failures and the range of every metric."""
    from dumbbell.cli.console import digits, grid, out, print_json
    from dumbbell.sweeps.folder import load, summary

    numbers = summary(load(folder))
    if as_json:
        print_json(numbers)
        return
    counts = numbers["counts"]
    out.print(numbers["title"], style="bold")
    counted = ", ".join(f"{counts[name]} {name}" for name in ("ok", "invalid", "failed"))
    out.print(
        f"{numbers['points']} points, {counts['wanted']} runs planned on {' and '.join(numbers['engines'])}: {counted}",
    )
    for entry in numbers["reasons"]:
        out.print(f"  {entry['runs']} {entry['status']}: {entry['reason']}", style="red")
    axes = grid(["axis", "values", "scale"], [])
    for axis in numbers["axes"]:
        axes.add_row(axis["key"], _listed(axis["values"]), axis["scale"])
    out.print(axes)
    table = grid(["metric"], ["runs", "min", "mean", "max"])
    for name, span in numbers["metrics"].items():
        table.add_row(name, str(span["n"]), *(digits(span[key]) for key in ("min", "mean", "max")))
    out.print(table)


def report_swept(folder: Path, output: Path, values: Sequence[str], *, runs: bool) -> Path | None:
    """Write a sweep's page; with `runs` also a page per kept run, in the folder that is returned."""
    from dumbbell.errors import ExperimentError
    from dumbbell.reports.sweep_page import write_sweep
    from dumbbell.sweeps.folder import load

    swept = load(folder)
    if runs and swept.manifest.keep != "runs":
        right = 'a sweep with keep = "runs"'
        raise ExperimentError("this sweep kept no runs", key="--runs", value=str(folder), right=right)
    return write_sweep(swept, output, values, runs=runs)


def export_swept(folder: Path, output: Path | None, format_: str | None) -> Path:
    """Export a sweep's table."""
    from dumbbell.exporters import export_sweep
    from dumbbell.sweeps.folder import load

    return export_sweep(load(folder), output, format_)


SHOWN_MAX = 12


def _listed(values: Sequence[Any]) -> str:
    text = ", ".join(str(value) for value in values[:SHOWN_MAX])
    return f"{text}, … ({len(values)})" if len(values) > SHOWN_MAX else text


def _plain(value: Any) -> Any:
    """A value for JSON: NaN and infinity become null, other types text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, int | str) else str(value)


def _numbers(text: str) -> tuple[float, ...]:
    from dumbbell.errors import ExperimentError

    try:
        return tuple(float(word) for word in comma_separated(text))
    except ValueError:
        raise ExperimentError(
            "not a number", key="--contour", value=text, right="such as 0.5, or 0.25,0.5,0.75"
        ) from None


def _positive(number: float) -> float:
    from dumbbell.errors import ExperimentError

    if not 0 < number < float("inf"):
        raise ExperimentError("must be positive", key="--within", value=number, right="such as 0.05")
    return number
