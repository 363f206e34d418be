"""`dumbbell cache`: what the user's cache holds, and `dumbbell cache prune`."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import click

from dumbbell.cli.console import err, out, print_json
from dumbbell.cli.options import json_option

__all__ = ["cache"]

MEGABYTE = 1e6


@click.group("cache", invoke_without_command=True)
@json_option
@click.pass_context
def cache(ctx: click.Context, as_json: bool = False) -> None:
    """Show what Dumbbell keeps in the cache, or prune it.

    The cache is $DUMBBELL_CACHE, else $XDG_CACHE_HOME/dumbbell, else ~/.cache/dumbbell.
    """
    if ctx.invoked_subcommand:
        return
    from dumbbell.publish import cache_dir
    from dumbbell.publish.cache import FOLDERS

    sizes = {folder.name: folder.size() for folder in FOLDERS.values()}
    if as_json:
        entries = [
            {"name": each.name, "bytes": sizes[each.name], "holds": each.holds, "regained": each.regained}
            for each in FOLDERS.values()
        ]
        print_json({"folder": str(cache_dir()), "folders": entries})
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("folder")
    table.add_column("MB", justify="right")
    table.add_column("holds", overflow="fold")
    for each in FOLDERS.values():
        table.add_row(each.name, f"{sizes[each.name] / MEGABYTE:.1f}", each.holds)
    out.print(f"{cache_dir()}: {sum(sizes.values()) / MEGABYTE:.1f} MB", highlight=False)
    out.print(table)


@cache.command("prune")
@click.argument("names", nargs=-1, metavar="[FOLDER]...", help="Folders to prune, as `dumbbell cache` names them.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed and exit.")
@json_option
def prune(names: tuple[str, ...], dry_run: bool = False, as_json: bool = False) -> None:
    """Remove folders of the cache; without names all but the built kernels.

    What another process is using stays.
    """
    from dumbbell.publish.cache import folders_to_prune
    from dumbbell.publish.cache import prune as prune_folder

    removed = []
    for folder in folders_to_prune(names):
        if folder.path.is_symlink():
            err.print(f"{folder.path}: a link; what it leads to stays", highlight=False)
        if not folder.parts():
            continue
        if dry_run:
            removed.append({"folder": str(folder.path), "bytes": folder.size(), "busy": []})
            err.print(f"{folder.path}: {folder.size() / MEGABYTE:.1f} MB; {folder.regained}", highlight=False)
            continue
        done = prune_folder(folder)
        removed.append(
            {"folder": str(folder.path), "bytes": done.freed_bytes, "busy": [str(part) for part in done.busy]}
        )
        err.print(f"{folder.path}: {done.freed_bytes / MEGABYTE:.1f} MB removed; {folder.regained}", highlight=False)
        for part in done.busy:
            err.print(f"{folder.path / part}: another process is using it; it stays", highlight=False)
    if as_json:
        print_json({"dry_run": dry_run, "removed": removed})
