"""`dumbbell ui`: options to the workbench, and its address to standard error."""
# Modules are imported inside the command, as in `app`.
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.console import err

__all__ = ["ui"]


def ui(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="Results, sweeps and experiment files to open.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any that is free.")] = 8080,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Others than this machine need the token that is printed.")
    ] = "127.0.0.1",
    token: Annotated[
        bool, typer.Option("--token", help="Let other users of this machine in too, with the token that is printed.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open the workbench: turn a knob, see the flows answer."""
    from dumbbell.errors import ResultError

    for path in paths or ():
        if not path.exists():
            raise ResultError(f"{path}: no such file or folder; name a result folder, a sweep's or a .toml file")

    from dumbbell.workbench.serving import Serving, serve

    def told(url: str) -> None:
        err.print(f"dumbbell: the workbench is at {url}; ^C ends it", soft_wrap=True)

    serve(Serving(host, port, browser, token, tuple(paths or ())), told)
