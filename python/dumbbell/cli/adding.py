"""`dumbbell kernel add`: a person's own congestion control, from a C file to a kernel that has it."""
# Modules are imported inside the command, as in `app`.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.console import Console, print_json

if TYPE_CHECKING:
    from dumbbell.kernel import Addition, Kernel

__all__ = ["add", "entries"]

err = Console(stderr=True, soft_wrap=True)


def add(
    file: Annotated[Path, typer.Argument(metavar="FILE.c", help="Registers a tcp_congestion_ops; see examples/.")],
    to: Annotated[
        str | None, typer.Option(metavar="KERNEL", help="Default: the one that runs get; see kernel list.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the new kernel; default: KERNEL+CONTROLLER.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Compile a congestion control into a kernel of its own. The kernel that it is added to stays as it is."""
    from rich.text import Text

    from dumbbell.kernel import add as add_file

    with err.status("") as status:

        def progress(phase: str, done: int, total: int) -> None:
            status.update(Text(f"{phase} {done}/{total}" if total else f"{phase} {done}"))

        done = add_file(file, to=to, name=name, progress=progress)
    if done.warnings:
        err.print(Text(done.warnings))
    if as_json:
        print_json(_entry(done))
        return
    settings = ", ".join(f"{key} = {value}" for key, value in done.added.parameters.items())
    what = " and ".join(f"'{each}'" for each in done.added.names) + (f" ({settings})" if settings else "")
    how = "has" if done.fresh else "has already, unchanged,"
    err.print(f"kernel '{done.kernel.name}' {how} {what} from {file}")
    err.print(f'use it with: cc = "{done.added.name}" and --kernel {shlex.quote(done.kernel.name)}')


def entries(kernel: "Kernel") -> list[dict[str, Any]]:
    """What was added to a kernel, for `kernel list --json`."""
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
