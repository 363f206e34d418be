"""The commands `import` and `export`; `dumbbell.importers` and `dumbbell.exporters` do the work."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import Any

import click

from dumbbell.cli.options import PATH, comma_separated, json_option

__all__ = ["export", "import_"]


@click.command("import")
@click.argument(
    "files",
    type=PATH,
    nargs=-1,
    required=True,
    metavar="FILE...",
    help="Logs, plain or gzipped, in any known format; - reads standard input.",
)
@click.option("-o", "--out", "folder", type=PATH, required=True, metavar="RUN", help="Result folder to write.")
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
    """Import logs of other programs as a result."""
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
    run = load(import_files(files, folder, options, shlex.join(["dumbbell", "import", *arguments, "-o", str(folder)])))
    numbers = summary(run)
    if as_json:
        print_json(numbers)
    else:
        show_run(out, run, numbers)


@click.command("export")
@click.argument("folder", type=PATH, metavar="RUN|SWEEP", help="A result folder or a sweep folder.")
@click.option("-o", "--out", "output", type=PATH, metavar="PATH", help="File or folder to write.")
@click.option(
    "--format", "format_", metavar="csv|jsonl|flent|parquet", help="Output format; default: by the extension of PATH."
)
def export(
    folder: Path,
    output: Path | None = None,
    format_: str | None = None,
) -> None:
    """Export a result or a sweep's table.

    A result becomes CSV, JSON lines or a Flent file, which `dumbbell import` can read; a sweep's table one file.
    """
    from dumbbell.cli.console import err
    from dumbbell.cli.sweep_results import export_swept
    from dumbbell.exporters import export_run
    from dumbbell.results.result import load
    from dumbbell.sweeps.folder import is_sweep

    written = export_swept(folder, output, format_) if is_sweep(folder) else export_run(load(folder), output, format_)
    err.print(f"wrote {written}")


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
