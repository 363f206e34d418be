"""`dumbbell kernel add`: compile a congestion control from a C file into a new kernel."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dumbbell.cli.console import print_json, unwrapped_err
from dumbbell.cli.options import PATH, json_option

if TYPE_CHECKING:
    from dumbbell.kernels import Addition, Kernel

__all__ = ["add", "entries"]


@click.command("add")
@click.argument("file", type=PATH, metavar="FILE.c", help="C file that registers a tcp_congestion_ops; see examples/.")
@click.option("--to", metavar="KERNEL", help="Kernel to extend; default: the default kernel.")
@click.option("--name", metavar="NAME", help="Name of the new kernel; default: KERNEL+CONTROLLER.")
@json_option
def add(
    file: Path,
    to: str | None = None,
    name: str | None = None,
    as_json: bool = False,
) -> None:
    """Compile a congestion control into a new kernel.

    The kernel that it extends stays unchanged.
    """
    from rich.text import Text

    from dumbbell.kernels import add as add_file
    from dumbbell.kernels.features import holders

    with unwrapped_err.status("") as status:

        def progress(phase: str, done: int, total: int) -> None:
            status.update(Text(f"{phase} {done}/{total}" if total else f"{phase} {done}"))

        done = add_file(file, to=to, name=name, progress=progress)
    if done.warnings:
        unwrapped_err.print(Text(done.warnings))
    if as_json:
        print_json(_entry(done))
        return
    settings = ", ".join(f"{key} = {value}" for key, value in done.added.parameters.items())
    what = " and ".join(f"'{each}'" for each in done.added.names) + (f" ({settings})" if settings else "")
    how = "now has" if done.fresh else "already has"
    unwrapped_err.print(f"kernel '{done.kernel.name}' {how} {what} from {file}")
    only = [each.name for each in holders({done.added.name})] == [done.kernel.name]
    name_it = "" if only else f" and --kernel {shlex.quote(done.kernel.name)}"
    unwrapped_err.print(f'use: cc = "{done.added.name}"{name_it}')


def entries(kernel: "Kernel") -> list[dict[str, Any]]:
    """Files added to a kernel, for `kernel list --json`."""
    return [
        {"names": list(each.names), "file": each.file, "sha256": each.sha256, "parameters": dict(each.parameters)}
        for each in kernel.added
    ]


def _entry(done: "Addition") -> dict[str, Any]:
    return {
        "kernel": done.kernel.name,
        "base": done.kernel.base,
        "controllers": list(done.added.names),
        "parameters": dict(done.added.parameters),
        "file_sha256": done.added.sha256,
        "binary_sha256": done.kernel.binary_sha256,
        "folder": str(done.kernel.folder),
        "compiled": done.fresh,
        "warnings": done.warnings.splitlines(),
    }
