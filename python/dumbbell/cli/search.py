"""`dumbbell search`: look for the network in which a metric is worst, confirm it, make it small and save it."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.console import print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import (
    PATH,
    Command,
    case_option,
    cluster_option,
    from_option,
    jobs_option,
    json_option,
    set_option,
    to_option,
)
from dumbbell.cli.streams import Interrupted

if TYPE_CHECKING:
    from dumbbell.search.outcome import Found
    from dumbbell.spec.sweep import Sweep
    from dumbbell.sweeps.runner import Done, SweepRequest

__all__ = ["search"]


@click.command("search", cls=Command, older={"--seed": "--search-seed", "--trials": "--max-runs"})
@click.argument("target", metavar="SCENARIO|FILE", help="A scenario, an experiment file, or a sweep file with bounds.")
@click.option(
    "--minimize", metavar="METRIC", help="The metric, or arithmetic with several, whose least value is searched."
)
@click.option("--maximize", metavar="METRIC", help="The one whose largest value is searched.")
@click.option(
    "--vary", multiple=True, metavar="KEY=LOW..HIGH",
    help="Bounds of a key, or a list of its values; default: common bounds. Repeatable.",
)  # fmt: skip
@click.option(
    "--packets", type=click.IntRange(1, 16), metavar="N",
    help="Search over packets instead: which ones, at most N, the path drops or delays. With --vary, over both.",
)  # fmt: skip
@click.option("--max-runs", "trials", type=click.IntRange(min=1), metavar="N", help="Points to try; default: 200.")
@click.option("--search-seed", "seed", type=click.IntRange(min=0), metavar="N", help="Seed of the search; default: 1.")
@click.option("--seeds", metavar="1..5", help="Seeds of the best points' runs; default: 1..5.")
@from_option
@to_option
@click.option("--window", hidden=True)
@click.option("--threshold", type=float, metavar="X", help="The value from which an experiment counts as failing.")
@click.option(
    "--confirm", type=click.Choice(["kernel", "none"]),
    help="Repeat the worst points on the kernel engine; default: kernel, if one is built.",
)  # fmt: skip
@click.option("--shrink/--no-shrink", default=True, help="Make the worst experiment as small as possible.")
@case_option
@set_option
@jobs_option
@cluster_option
@click.option("--resume", is_flag=True, help="Resume an interrupted search.")
@click.option("--out", type=PATH, metavar="DIR", help="Folder of the search; default: runs/search-NAME.")
@click.option("--cache/--no-cache", "use_cache", default=True, help="Reuse runs of earlier searches and sweeps.")
@json_option
def search(  # noqa: PLR0913, PLR0917 — a command has many options
    target: str,
    minimize: str | None = None,
    maximize: str | None = None,
    vary: tuple[str, ...] = (),
    packets: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    seeds: str | None = None,
    start: str | None = None,
    end: str | None = None,
    window: str | None = None,
    threshold: float | None = None,
    confirm: str | None = None,
    shrink: bool = True,
    case: str | None = None,
    settings: tuple[str, ...] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    out: Path | None = None,
    use_cache: bool = True,
    as_json: bool = False,
) -> None:
    """Search for the network in which a metric is worst.

    Tries paths, queues, losses, changes and cross traffic on the simulator, repeats the worst ones with more seeds and
    on the kernel, and saves the smallest experiment that still fails.
    """
    from dumbbell.cli.sweep import executor_of
    from dumbbell.engines.base import runs_folder
    from dumbbell.search.bounds import SearchOptions, definition
    from dumbbell.search.outcome import kernel_is_built
    from dumbbell.search.saving import as_json as found_as_json
    from dumbbell.sweeps.runner import SweepRequest

    began = time.monotonic()
    if window is not None:
        click.echo("dumbbell: --window is now --from and --to", err=True)
    elif start is not None or end is not None:
        window = " ".join(f"{word} {time}" for word, time in (("from", start), ("to", end)) if time is not None)
    options = SearchOptions(target, minimize, maximize, vary, settings, case, trials, seed, seeds, window, packets)
    sweep = definition(options)
    folder = out or runs_folder() / f"search-{sweep.name}"
    request = SweepRequest(sweep, folder, resume, jobs, use_cache, settings, executor_of(cluster, sweep))
    confirmed = kernel_is_built() if confirm is None else confirm == "kernel"
    done, found, saved = _searched(request, _command(), confirm=confirmed, threshold=threshold, shrink=shrink)
    if as_json:
        walls = {"trials_s": done.wall_s, "wall_s": time.monotonic() - began}
        print_json({"search": str(folder), "saved": saved and str(saved), **found_as_json(found), **walls})
        return
    _print(sweep, found, saved)


def _searched(
    request: "SweepRequest", command: str, *, confirm: bool, threshold: float | None, shrink: bool
) -> tuple["Done", "Found", Path | None]:
    """Run the trials, then conclude from them."""
    from dumbbell.cli.sweep_progress import SweepProgress, result_line
    from dumbbell.publish import scratch
    from dumbbell.search.outcome import Runs, concluded
    from dumbbell.search.saving import save
    from dumbbell.sweeps.pool import Local
    from dumbbell.sweeps.runner import carry_out
    from dumbbell.sweeps.workdir import JOURNAL, Journal

    try:
        with SweepProgress(request.sweep.name) as progress:
            done = carry_out(request, progress)
        unwrapped_err.print(result_line(done))
        with (
            SweepProgress("confirm and shrink") as progress,
            Journal(done.folder / JOURNAL) as journal,
            scratch(done.folder / ".work") as tmp_dir,
            Local(request.jobs, tmp_dir) as executor,
        ):
            runs = Runs(request.sweep, executor, progress.row, request.allowed)
            found = concluded(request.sweep, journal.rows(), runs, confirm=confirm, threshold=threshold, shrink=shrink)
        return done, found, save(request.sweep, found, done.folder, command)
    except KeyboardInterrupt:
        if not request.out.exists():
            raise Interrupted from None
        raise Interrupted(
            f"finished trials are kept; resume with: {command} --out {shlex.quote(str(request.out))} --resume"
        ) from None


NOT_REPEATED = ("resume", "as_json", "jobs", "cluster", "use_cache", "out")
"""Options that change nothing of what is found."""


def _command() -> str:
    """The command as it was typed, as far as the result depends on it."""
    context = click.get_current_context()
    words = ["dumbbell", "search"]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if isinstance(option, click.Argument):
            words.append(str(value))
        elif option.name not in NOT_REPEATED and context.get_parameter_source(option.name or "") != _DEFAULT:
            words += _option_words(option, value)
    return shlex.join(words)


_DEFAULT = click.core.ParameterSource.DEFAULT


def _option_words(option: click.Parameter, value: object) -> list[str]:
    if isinstance(value, bool):
        return [option.opts[0] if value else option.secondary_opts[0]]
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (option.opts[0], str(each))]


def _print(sweep: "Sweep", found: "Found", saved: Path | None) -> None:
    from dumbbell.search.outcome import settings_of
    from dumbbell.spec.axes import written

    unwrapped_out.print(f"worst values of {found.formula}:")
    for trial in found.best:
        settings = ", ".join(f"{key} = {written(value)}" for key, value in settings_of(sweep, trial).items())
        unwrapped_out.print(f"  {_number(trial.mean)} in {trial.runs} runs of point {trial.point}: {settings}")
    unwrapped_out.print(f"unchanged: {_number(found.baseline.mean)}; threshold: {found.threshold:.4g}")
    if not found.document:
        unwrapped_out.print("no point is worse than the threshold")
        return
    for what, checked in (("simulator", found.simulated), ("kernel", found.on_kernel)):
        if checked is not None:
            fails = "fails" if found.fails(checked) else "does not fail"
            reason = f"; {checked.reason}" if checked.reason else ""
            unwrapped_out.print(f"smallest experiment on the {what}: {_number(checked.mean)}, {fails}{reason}")
    unwrapped_out.print(f"{saved}: {len(found.steps)} steps smaller; repeat with: dumbbell run {saved}")


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
