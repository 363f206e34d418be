"""The command `bisect`; `dumbbell.cli.bisect` does the work."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from pathlib import Path

import click

from dumbbell.cli.console import print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, config_option, json_option, scenario_argument, set_option

__all__ = ["bisect"]


@click.command("bisect")
@scenario_argument
@click.option(
    "--source", type=PATH, required=True, metavar="DIR", help="Git repository of Linux; Dumbbell only reads it."
)
@click.option("--good", required=True, metavar="REV", help="Commit before the change.")
@click.option("--bad", required=True, metavar="REV", help="Commit with the change.")
@click.option("--metric", required=True, metavar="NAME", help="Metric to test, such as groups.bbr.throughput_mbps.")
@click.option(
    "--threshold",
    type=float,
    metavar="V",
    help="Limit between good and bad; default: halfway between the two commits' values.",
)
@click.option("--seed", metavar="N", help="Random seeds, such as 1 or 1..5; the mean counts.")
@set_option
@click.option("--case", metavar="NAME", help="Case of the experiment; required if there are several.")
@config_option
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel compiler jobs and runs; default: number of CPUs."
)
@json_option
def bisect(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: str,
    source: Path,
    good: str,
    bad: str,
    metric: str,
    threshold: float | None = None,
    seed: str | None = None,
    settings: tuple[str, ...] = (),
    case: str | None = None,
    config: Path | None = None,
    jobs: int | None = None,
    as_json: bool = False,
) -> None:
    """Find the Linux commit that changed a metric.

    Builds a kernel and runs the experiment for each commit that git bisect chooses.
    """
    from dumbbell.cli.bisect import BisectOptions, bisect_all, show_bisection

    options = BisectOptions(scenario, source, good, bad, metric, threshold, seed, settings, case, config, jobs)
    done = bisect_all(options, unwrapped_err)
    if as_json:
        print_json(done.as_json())
    else:
        show_bisection(unwrapped_out, done)
    raise click.exceptions.Exit(0 if done.found.first_bad else 1)
