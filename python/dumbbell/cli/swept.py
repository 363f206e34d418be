"""What is done with a finished sweep: `map`, `sql`, and what `stats`, `report` and `export` do with its folder."""
# Modules are imported inside the commands, as in `app`.
# ruff: noqa: PLC0415

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["export_swept", "map_", "report_swept", "show_swept", "sql"]

SweepFolder = Annotated[Path, typer.Argument(metavar="SWEEP", help="A finished sweep's folder.")]


def map_(  # noqa: PLR0913, PLR0917 — a command has many options
    folder: SweepFolder,
    value: Annotated[str, typer.Option(metavar="METRIC", help="A metric, or SQL's + - * / of several.")],
    x: Annotated[str, typer.Option(metavar="KEY", help="The axis from left to right.")],
    y: Annotated[str | None, typer.Option(metavar="KEY", help="The axis upwards; without it: lines.")] = None,
    panels: Annotated[str, typer.Option(metavar="KEY[,KEY]", help="A small map for each value.")] = "",
    lines: Annotated[str | None, typer.Option(metavar="KEY", help="Without --y: a line for each value.")] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Which runs, such as 'seed <= 3'.")] = None,
    difference: Annotated[
        str | None, typer.Option(metavar="KEY[=A,B]", help="B minus A, such as engine=sim,kernel.")
    ] = None,
    contour: Annotated[str, typer.Option(metavar="NUMBER,…", help="Lines at these levels; unsure cells marked.")] = "",
    middle: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Two colours, from here to both sides.")
    ] = None,
    within: Annotated[float | None, typer.Option(metavar="NUMBER", help="Mark cells known worse than ± this.")] = None,
    log: Annotated[bool, typer.Option("--log", help="The value on a logarithmic scale.")] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Instead of the sweep's.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help=".svg, .png, .pdf, .html or .json")
    ] = None,
    width: Annotated[int, typer.Option(min=200, max=4000, help="Pixels.")] = 760,
    scale: Annotated[float, typer.Option(min=0.5, max=8, help="Of a PNG: its pixels for each of the width's.")] = 2,
) -> None:
    """Draw a map of a sweep: a value over two axes, or lines over one, with what is sure and what is not."""
    from dumbbell.cli.console import err
    from dumbbell.engine.requests import plain
    from dumbbell.plot import save
    from dumbbell.plot.swept import draw_map
    from dumbbell.spec.sweep import Map
    from dumbbell.sweeps.folder import load

    look = Map(
        value=value, x=x, y=y, panels=_words(panels), lines=lines, difference=difference, contour=_numbers(contour),
        middle=middle, within=within if within is None else _positive(within), where=where, log=log,
        title=title,
    )  # fmt: skip
    path = output or Path(f"{plain(folder.resolve().name)}-{plain(value)}.svg")
    save(draw_map(load(folder), look, width), path, scale)
    err.print(f"wrote {path}")


def sql(
    folder: SweepFolder,
    text: Annotated[
        str, typer.Argument(metavar="QUERY", help="Such as: select status, count(*) from runs group by status")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help=".csv, .jsonl or .parquet instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Ask a sweep's table, which is called runs, by SQL."""
    from dumbbell.cli.cells import digits, grid
    from dumbbell.cli.console import err, out, print_json
    from dumbbell.export.swept import write_table
    from dumbbell.sweeps.folder import load
    from dumbbell.sweeps.query import query

    found = query(load(folder).runs, text)
    if output is not None:
        write_table(found, output)
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
    """`stats` of a sweep: counts, axes, reasons, the range of every metric."""
    from dumbbell.cli.cells import digits, grid
    from dumbbell.cli.console import out, print_json
    from dumbbell.sweeps.folder import load
    from dumbbell.sweeps.ranges import summary

    numbers = summary(load(folder))
    if as_json:
        print_json(numbers)
        return
    counts = numbers["counts"]
    out.print(numbers["title"], style="bold")
    told = ", ".join(f"{counts[name]} {name}" for name in ("ok", "invalid", "failed"))
    out.print(
        f"{numbers['points']} points, {counts['wanted']} runs wanted on {' and '.join(numbers['engines'])}: {told}",
    )
    for entry in numbers["reasons"]:
        out.print(f"  {entry['runs']} {entry['status']}: {entry['reason']}", style="red")
    axes = grid(["axis", "values", "scale"], [])
    for axis in numbers["axes"]:
        axes.add_row(axis["key"], _listed(axis["values"]), axis["scale"])
    out.print(axes)
    table = grid(["metric"], ["runs", "least", "mean", "most"])
    for name, span in numbers["metrics"].items():
        table.add_row(name, str(span["n"]), *(digits(span[key]) for key in ("min", "mean", "max")))
    out.print(table)


def report_swept(folder: Path, output: Path, values: Sequence[str], *, runs: bool) -> None:
    """`report` of a sweep: one page; with `runs` one more for each kept run."""
    from dumbbell.cli.console import err
    from dumbbell.errors import ExperimentError
    from dumbbell.report.swept import write_sweep
    from dumbbell.sweeps.folder import load

    told = load(folder)
    if runs and told.birth.get("keep") != "runs":
        right = 'a sweep with keep = "runs", whose runs lie in its folder'
        raise ExperimentError("no run of this sweep was kept", key="--runs", value=str(folder), right=right)
    pages = write_sweep(told, output, values, runs=runs)
    err.print(f"wrote {output}{f' and {pages}/' if pages else ''}")


def export_swept(folder: Path, output: Path | None, format_: str | None) -> Path:
    """`export` of a sweep: its table."""
    from dumbbell.export.swept import export_sweep
    from dumbbell.sweeps.folder import load

    return export_sweep(load(folder), output, format_)


SHOWN_MAX = 12


def _listed(values: Sequence[Any]) -> str:
    text = ", ".join(str(value) for value in values[:SHOWN_MAX])
    return f"{text}, … ({len(values)})" if len(values) > SHOWN_MAX else text


def _plain(value: Any) -> Any:
    """As JSON has it: what is no number is none, what JSON doesn't know is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, int | str) else str(value)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str) -> tuple[float, ...]:
    from dumbbell.errors import ExperimentError

    try:
        return tuple(float(word) for word in _words(text))
    except ValueError:
        raise ExperimentError(
            "not a number", key="--contour", value=text, right="such as 0.5, or 0.25,0.5,0.75"
        ) from None


def _positive(number: float) -> float:
    from dumbbell.errors import ExperimentError

    if not 0 < number < float("inf"):
        raise ExperimentError("not more than 0", key="--within", value=number, right="such as 0.05")
    return number
