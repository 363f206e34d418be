"""`dumbbell kernel`: build and list kernels, set the default."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from dumbbell.cli import kernel_add
from dumbbell.cli.console import Console, err, out, print_json
from dumbbell.cli.options import PATH, config_option, json_option

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dumbbell.kernels import Progress as BuildProgress

__all__ = ["bars_on", "kernel"]


@click.group("kernel")
def kernel() -> None:
    """Build and list Linux kernels for the kernel engine."""


@kernel.command("build")
@click.option("--name", metavar="NAME", help="Name of the kernel; default: its version.")
@click.option(
    "--source", type=PATH, metavar="DIR|TARBALL", help="Kernel source; default: the distribution's source package."
)
@click.option("--package", metavar="NAME", help="Source package of another version, such as linux-source-6.1 or 6.1.")
@config_option
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel compiler jobs; default: number of CPUs."
)
def build(
    name: str | None = None,
    source: Path | None = None,
    package: str | None = None,
    config: Path | None = None,
    jobs: int | None = None,
) -> None:
    """Download, configure and build a kernel for the kernel engine.

    The kernel is kept in the cache. If it is there already, nothing is built.
    """
    from dumbbell.kernels import build as build_kernel

    with bars_on(err) as progress:
        built = build_kernel(name, source=source, package=package, config=config, jobs=jobs, progress=progress)
    for note in built.unedited:
        err.print(f"note: {note}")
    err.print(f"kernel '{built.name}' ({built.release}) is in {built.folder}")


@kernel.command("default")
@click.argument("name", metavar="NAME", help="A kernel of `dumbbell kernel list`.")
def default(
    name: str,
) -> None:
    """Set the default kernel."""
    from dumbbell.kernels import mark_default

    err.print(f"default kernel: {mark_default(name).name}")


@kernel.command("list")
@json_option
def list_(as_json: bool = False) -> None:
    """List the kernels that are built."""
    from dumbbell.kernels import find, kernels

    found = kernels()
    default = find(None).name if found else None
    if as_json:
        keys = ("name", "release", "source", "config_sha256", "binary_sha256", "built_at")
        entries = [
            {key: getattr(each, key) for key in keys}
            | {"folder": str(each.folder), "default": each.name == default, "added": kernel_add.entries(each)}
            for each in found
        ]
        print_json({"kernels": entries})
        return
    if not found:
        err.print(
            "no kernel is installed; install one with: pip install dumbbell-kernel, "
            "or build one with: dumbbell kernel build"
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "name", "release", "source", "config", "built"):
        table.add_column(column, overflow="fold")
    for each in found:
        mark = "*" if each.name == default else ""
        source = "; ".join([each.source, *(f"with {added.file}" for added in each.added)])
        table.add_row(mark, each.name, each.release, source, each.config_sha256[:12], each.built_at)
    out.print(table)


@contextmanager
def bars_on(console: Console) -> Iterator["BuildProgress"]:
    """A progress bar per build phase; without a terminal, a line at its start."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None)
                if not console.is_terminal:
                    console.print(f"{phase} …")
            bars.update(tasks[phase], completed=done, total=total or None)

        yield progress


kernel.add_command(kernel_add.add)
