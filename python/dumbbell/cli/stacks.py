"""`dumbbell stack`: build, list and remove QUIC stacks."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dumbbell.cli.console import bars_on, err, out, print_json, unwrapped_err
from dumbbell.cli.options import json_option
from dumbbell.cli.streams import Interrupted

if TYPE_CHECKING:
    from dumbbell.stacks import Built, Stack

__all__ = ["stack"]

MEGABYTE = 1e6


@click.group("stack")
def stack() -> None:
    """Build and list QUIC stacks for flows of kind quic."""


@stack.command("build")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", help="Stacks of `dumbbell stack list`.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel compiler jobs; default: number of CPUs."
)
@json_option
def build(names: tuple[str, ...], jobs: int | None = None, as_json: bool = False) -> None:
    """Download and build QUIC stacks of pinned versions, with a client and a server for each.

    The language's own tool downloads a stack and what it needs: cargo, go, pip or apt-get. Stacks are kept
    in the cache. What is there already is not built again.
    """
    from dumbbell.stacks import build as build_stack
    from dumbbell.stacks import named

    for name in names:
        named(name)
    done: list[Built] = []
    for name in dict.fromkeys(names):
        try:
            with bars_on(err) as progress:
                done.append(build_stack(name, jobs=jobs, progress=progress))
        except KeyboardInterrupt:
            raise Interrupted("the same command continues what was downloaded and compiled") from None
        built = done[-1]
        unwrapped_err.print(f"stack '{name}' ({built.stack.version}) is in {built.folder}")
    if as_json:
        print_json({"stacks": [_entry(each.stack) for each in done]})


@stack.command("list")
@json_option
def list_(as_json: bool = False) -> None:
    """List QUIC stacks with their versions and controllers, and those that are built.

    The first controller is the stack's default.
    """
    from dumbbell.stacks import find, stacks

    if as_json:
        print_json({"stacks": [_entry(each) for each in stacks()]})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("stack", no_wrap=True)
    table.add_column("version", no_wrap=True)
    table.add_column("written in", no_wrap=True)
    table.add_column("controllers", overflow="fold")
    table.add_column("MB", justify="right", no_wrap=True)
    table.add_column("built", no_wrap=True)
    missing = []
    for each in stacks():
        built = find(each.name)
        size = f"{built.size / MEGABYTE:.1f}" if built else ""
        row = each.name, each.version, each.language, ", ".join(each.controllers), size, "yes" if built else "no"
        table.add_row(*row)
        missing += [] if built else [each.name]
    out.print(table)
    if missing:
        err.print(f"build a stack with: dumbbell stack build {missing[0]}")


@stack.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", help="Stacks of `dumbbell stack list`.")
@json_option
def remove(names: tuple[str, ...], as_json: bool = False) -> None:
    """Remove built stacks from the cache."""
    from dumbbell.stacks import named
    from dumbbell.stacks import remove as remove_stack

    for name in names:
        named(name)
    removed = []
    for name in dict.fromkeys(names):
        folders = remove_stack(name)
        removed += [str(folder) for folder in folders]
        unwrapped_err.print(f"removed {folders[-1]}" if folders else f"stack '{name}' is not built")
    if as_json:
        print_json({"removed": removed})


def _entry(stack: "Stack") -> dict[str, Any]:
    """A stack for `--json`."""
    from dumbbell.stacks import find

    keys = ("name", "package", "registry", "language", "version", "repeats", "differs")
    built = find(stack.name)
    return {key: getattr(stack, key) for key in keys} | {
        "controllers": list(stack.controllers),
        "built": built is not None,
        "folder": str(built.folder) if built else None,
        "bytes": built.size if built else None,
    }
