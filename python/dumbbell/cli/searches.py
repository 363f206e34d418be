"""The command `bisect` and its options; what it does is `dumbbell.cli.bisect`."""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.console import Console, print_json

__all__ = ["bisect"]

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)


def bisect(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO|FILE", help="A built-in scenario or a TOML file.")],
    source: Annotated[Path, typer.Option(metavar="DIR", help="A git repository of Linux; it is only read.")],
    good: Annotated[str, typer.Option(metavar="REV", help="A commit before the change.")],
    bad: Annotated[str, typer.Option(metavar="REV", help="A commit after it.")],
    metric: Annotated[str, typer.Option(metavar="NAME", help="Such as groups.bbr.throughput_mbps.")],
    threshold: Annotated[
        float | None, typer.Option(metavar="V", help="Where bad begins; default: halfway between the two figures.")
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="A seed, or several, whose mean counts: 1..5.")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = [],  # noqa: B006
    case: Annotated[str | None, typer.Option(metavar="NAME", help="Of an experiment with several.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FRAGMENT", help="Lines of a .config, laid over Dumbbell's own.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers and runs side by side; default: one a core.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Find the commit of Linux that changed a figure: build, run, next commit."""
    from dumbbell.cli.bisect import Asked, bisect_all, show_bisected

    asked = Asked(scenario, source, good, bad, metric, threshold, seed, settings, case, config, jobs)
    done = bisect_all(asked, err)
    if as_json:
        print_json(done.as_json())
    else:
        show_bisected(out, done)
    raise typer.Exit(0 if done.found.first_bad else 1)
