"""`dumbbell kernel`: build, list, and say which one runs get."""
# ruff: noqa: PLC0415

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from dumbbell.cli import adding
from dumbbell.cli.console import Console, err, out, print_json

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dumbbell.kernel import Progress as Heard

__all__ = ["bars_on", "kernel_app"]

kernel_app = typer.Typer(help="Build and list kernels in virtual time.", no_args_is_help=True)
kernel_app.command()(adding.add)


@kernel_app.command()
def build(
    name: Annotated[str | None, typer.Option(help="Default: the version's.")] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="DIR|TARBALL", help="Default: the distribution's source package.")
    ] = None,
    package: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another of its packages: linux-source-6.1, or 6.1.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FRAGMENT", help="Lines of a .config, laid over Dumbbell's own.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Compilers side by side; default: one a core.")] = None,
) -> None:
    """Get the source, configure, build, and keep the kernel in the cache. Does nothing when it is there."""
    from dumbbell.kernel import build as build_kernel

    with bars_on(err) as progress:
        kernel = build_kernel(name, source=source, package=package, config=config, jobs=jobs, progress=progress)
    for told in kernel.unedited:
        err.print(f"note: {told}")
    err.print(f"kernel '{kernel.name}' ({kernel.release}) is ready in {kernel.folder}")


@kernel_app.command()
def default(name: Annotated[str, typer.Argument(metavar="NAME", help="See kernel list.")]) -> None:
    """Let runs that name no kernel get this one."""
    from dumbbell.kernel import mark_default

    err.print(f"runs that name no kernel get '{mark_default(name).name}' from now on")


@kernel_app.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """List the kernels that are built."""
    from dumbbell.kernel import find, kernels

    found = kernels()
    default = find(None).name if found else None
    if as_json:
        keys = ("name", "release", "source", "config_sha256", "binary_sha256", "built_at")
        entries = [
            {key: getattr(kernel, key) for key in keys}
            | {"folder": str(kernel.folder), "default": kernel.name == default, "added": adding.entries(kernel)}
            for kernel in found
        ]
        print_json({"kernels": entries})
        return
    if not found:
        err.print("no kernel is built yet; build one with: dumbbell kernel build")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "name", "release", "source", "config", "built"):
        table.add_column(column, overflow="fold")
    for kernel in found:
        mark = "*" if kernel.name == default else ""
        source = "; ".join([kernel.source, *(f"with {each.file}" for each in kernel.added)])
        table.add_row(mark, kernel.name, kernel.release, source, kernel.config_sha256[:12], kernel.built_at)
    out.print(table)


@contextmanager
def bars_on(console: Console) -> Iterator["Heard"]:
    """A bar for each phase of a build; where there is no terminal, a line when it begins."""
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
