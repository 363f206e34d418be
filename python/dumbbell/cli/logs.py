"""`import` and `export`: options to values, and what came out as tables; the work is `importers`' and `export`'s."""
# Modules are imported inside the commands, as in `app`.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["export", "import_"]

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Logs of any known formats, gzipped or not; - reads standard input."),
]


def import_(  # noqa: PLR0913, PLR0917 — a command has many options
    files: Files,
    folder: Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="Where the result goes.")],
    name: Annotated[str, typer.Option(metavar="NAME,…", help="Names of the flows, or of the files'.")] = "",
    cc: Annotated[str, typer.Option(metavar="NAME,…", help="Controllers, where logs don't say.")] = "",
    interval: Annotated[str, typer.Option(metavar="TIME", help="Between samples that have no times.")] = "",
    mss: Annotated[str, typer.Option(metavar="BYTES", help="Makes packets of windows in bytes.")] = "",
    size: Annotated[str, typer.Option(metavar="BYTES", help="What curl or time transferred, such as 61MB.")] = "",
    align: Annotated[str | None, typer.Option(metavar="clock|start", help="By time of day, or by each start.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Which queue is the bottleneck.")] = None,
    format_: Annotated[str | None, typer.Option("--format", metavar="NAME", help="Instead of recognising.")] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="A title for figures and reports.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Read logs of other programs into a result folder."""
    from dumbbell.analysis import summary
    from dumbbell.cli.console import out, print_json
    from dumbbell.cli.summary import show_run
    from dumbbell.importers import Options, import_files
    from dumbbell.result import load

    said = {"name": name, "cc": cc, "interval": interval, "mss": mss, "size": size, "align": align}
    said |= {"queue": queue, "format": format_, "title": title}
    words = [*map(str, files), *(word for key, value in said.items() if value for word in (f"--{key}", value))]
    options = Options(
        names=_words(name), ccs=_words(cc), interval_ns=_quantity("interval", interval),
        mss_bytes=_quantity("mss", mss), size_bytes=_quantity("size", size), format=format_, align=_align(align),
        queue=queue, title=title,
    )  # fmt: skip
    run = load(import_files(files, folder, options, shlex.join(["dumbbell", "import", *words, "-o", str(folder)])))
    numbers = summary(run)
    if as_json:
        print_json(numbers)
    else:
        show_run(out, run, numbers)


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="A result folder, or a sweep's.")],
    output: Annotated[Path | None, typer.Option("-o", "--out", metavar="PATH", help="Where it goes.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="csv|jsonl|flent|parquet", help="Default: by the path's end.")
    ] = None,
) -> None:
    """Write a result as CSV, JSON lines or a Flent file, which `import` reads back; a sweep's table as one file."""
    from dumbbell.cli.console import err
    from dumbbell.cli.swept import export_swept
    from dumbbell.export import export_run
    from dumbbell.result import load
    from dumbbell.sweeps.folder import is_sweep

    written = export_swept(folder, output, format_) if is_sweep(folder) else export_run(load(folder), output, format_)
    err.print(f"wrote {written}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


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
        raise ImportProblem("no such alignment", place="--align", value=text, right="clock or start")
    return None if text is None else str(text)
