"""`dumbbell ui`: start the workbench and print its URL to standard error."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from pathlib import Path

import click

from dumbbell.cli.console import err
from dumbbell.cli.options import PATH

__all__ = ["ui"]


@click.command("ui")
@click.argument("paths", type=PATH, nargs=-1, metavar="PATH...", help="Results, sweeps and experiment files to open.")
@click.option(
    "--port", type=click.IntRange(min=0, max=65_535), default=8080, metavar="N", help="TCP port; 0 picks a free one."
)
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on. Other hosts need the printed token."
)
@click.option("--token", is_flag=True, help="Require the printed token; other users of this host can then connect.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
def ui(
    paths: tuple[Path, ...] = (),
    port: int = 8080,
    host: str = "127.0.0.1",
    token: bool = False,
    browser: bool = True,
) -> None:
    """Open the workbench in a browser.

    Change an experiment's settings and watch the flows.
    """
    from dumbbell.errors import ResultError

    for path in paths or ():
        if not path.exists():
            raise ResultError(f"{path}: no such file or folder; name a result folder, a sweep folder or a .toml file")

    from dumbbell.web.server import Serving, serve

    def opened(url: str) -> None:
        err.print(f"dumbbell: workbench (^C ends it): {url}", soft_wrap=True)

    serve(Serving(host, port, browser, token, tuple(paths or ())), opened)
