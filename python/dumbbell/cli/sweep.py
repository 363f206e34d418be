"""`dumbbell sweep`: run an experiment at many points, estimate that, or list the built-in sweeps."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dumbbell.cli.console import print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, cluster_option, hosts_option, jobs_option, json_option, set_option
from dumbbell.cli.streams import Interrupted
from dumbbell.errors import ExperimentError

if TYPE_CHECKING:
    from dumbbell.engines.base import Permissions
    from dumbbell.spec.sweep import Counted, Sweep
    from dumbbell.sweeps.pilot import Forecast, Span
    from dumbbell.sweeps.runner import Done, ExecutorFactory, SweepRequest

__all__ = ["dry_run", "executor_of", "forecast_lines", "list_sweeps", "sweep", "sweep_entries"]


@click.command("sweep")
@click.argument("file", type=PATH, required=False, metavar="SWEEP|FILE", help="A built-in sweep or a sweep file.")
@jobs_option
@cluster_option
@click.option("--resume", is_flag=True, help="Resume an interrupted sweep.")
@click.option("--out", type=PATH, metavar="DIR", help="Sweep folder; default: runs/sweep-NAME.")
@set_option
@click.option(
    "--engine",
    metavar="sim|kernel|host",
    help="Engine, if the file doesn't choose one. The host engine must be chosen here.",
)
@hosts_option
@click.option("--cache/--no-cache", "use_cache", default=True, help="Reuse runs of earlier sweeps.")
@click.option("--clear-cache", is_flag=True, help="Delete the cached runs of earlier sweeps.")
@click.option("--dry-run", "dry", is_flag=True, help="Estimate the number of runs and the duration, and exit.")
@click.option("--list", "listed", is_flag=True, help="List the built-in sweeps and exit.")
@json_option
def sweep(  # noqa: PLR0913, PLR0917 — a command has many options
    file: Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    out: Path | None = None,
    settings: tuple[str, ...] = (),
    engine: str | None = None,
    hosts: str | None = None,
    use_cache: bool = True,
    clear_cache: bool = False,
    dry: bool = False,
    listed: bool = False,
    as_json: bool = False,
) -> None:
    """Run an experiment at every point of a parameter grid.

    Writes a table with one row per run.
    """
    from dumbbell.cli.sweep import dry_run, list_sweeps
    from dumbbell.engines.base import kernels_set, permitted
    from dumbbell.spec.sweep import load_sweep
    from dumbbell.sweeps.runner import SweepRequest, default_folder

    if listed:
        list_sweeps()
        return
    if clear_cache:
        _clear()
    if file is None:
        if clear_cache:
            return
        raise ExperimentError("no sweep file given", key="FILE", right="such as dumbbell sweep loss-rtt.toml")
    changes = list(settings)
    allowed = permitted([engine or ""], hosts, kernels_set(changes))
    definition = load_sweep(file, changes, engine)
    if dry:
        dry_run(definition, jobs or len(os.sched_getaffinity(0)), allowed, as_json=as_json)
        return
    request = SweepRequest(
        definition, out or default_folder(definition), resume, jobs, use_cache, changes,
        executor_of(cluster, definition), allowed, engine,
    )  # fmt: skip
    how = ["--cluster", cluster] if cluster else []
    how += ["--jobs", str(jobs)] if jobs else []
    done = _run_sweep(request, file, [*how, *([] if use_cache else ["--no-cache"])])
    if as_json:
        print_json(_as_json(done))
    raise click.exceptions.Exit(done.status)


def _run_sweep(request: "SweepRequest", file: Path, how: list[str]) -> "Done":
    """Run the sweep; `how` has the options for the command that resumes it."""
    from dumbbell.cli.sweep_progress import SweepProgress, result_line, unmet
    from dumbbell.sweeps.runner import carry_out

    try:
        with SweepProgress(request.sweep.name) as progress:
            done = carry_out(request, progress)
    except KeyboardInterrupt:
        if not request.out.exists():
            raise Interrupted from None
        arguments = ["dumbbell", "sweep", str(file), *request.options, *how, "--out", str(request.out), "--resume"]
        raise Interrupted(f"finished runs are kept; resume with: {shlex.join(arguments)}") from None
    unwrapped_err.print(result_line(done))
    for line in unmet(done):
        unwrapped_err.print(line)
    if done.cache_error is not None:
        unwrapped_err.print(f"the cache was disabled: {done.cache_error}")
    return done


def executor_of(cluster: str | None, sweep: "Sweep") -> "ExecutorFactory | None":
    """The executor of `--cluster`; None for processes of this host."""
    if cluster is None:
        return None
    from dumbbell.sweeps.cluster import executor_for

    if sweep.keep == "runs":
        right = 'keep = "metrics"; repeat single runs with dumbbell run'
        raise ExperimentError("a cluster returns metrics, not results", file=str(sweep.file), key="keep", right=right)
    return lambda _folder, cache: executor_for(cluster, unwrapped_err.print, cache)


def _clear() -> None:
    from dumbbell.sweeps.task_runner import cache_file, clear

    unwrapped_err.print(f"{cache_file()}: deleted {clear() / 1e6:.1f} MB")


def _as_json(done: "Done") -> dict[str, object]:
    counts = {status: done.counts.get(status, 0) for status in ("ok", "invalid", "failed")}
    more = {"cached": done.cached, "unmet": len(done.unmet), "wall_s": done.wall_s}
    return {"sweep": str(done.folder), "runs": done.runs, **counts, **more}


def dry_run(sweep: "Sweep", jobs: int, allowed: "Permissions", *, as_json: bool) -> None:
    """Run a pilot and print the estimate for the full sweep."""
    from dumbbell.spec.sweep import engines_used
    from dumbbell.sweeps.checks import check_metrics
    from dumbbell.sweeps.pilot import forecast

    for engine, kernel in engines_used(sweep):
        allowed.check_engine(engine, "engine")
        allowed.check_kernel(kernel, "kernel")
    check_metrics(sweep)
    found = forecast(sweep, jobs, allowed=allowed)
    if as_json:
        print_json({"sweep": sweep.name} | found.json)
        return
    for line in forecast_lines(found):
        unwrapped_out.print(line)


def sweep_entries() -> list[dict[str, Any]]:
    """The built-in sweeps, for `--json`; `runs` is the least number of runs."""
    from dumbbell.spec.built_in import sweeps
    from dumbbell.spec.sweep import load_sweep

    found = {name: load_sweep(name) for name in sweeps()}
    return [{"name": name, "title": each.title, "runs": each.counted_runs.least} for name, each in found.items()]


def list_sweeps() -> None:
    """List the built-in sweeps with their titles."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for entry in sweep_entries():
        table.add_row(entry["name"], f"{entry['runs']} runs", entry["title"])
    unwrapped_out.print(table)


def forecast_lines(found: "Forecast") -> list[str]:
    """The estimate as lines of text."""
    lines = [f"{_counted(found.points)} points, {_counted(found.runs)} runs, {found.jobs} in parallel"]
    good = [each for each in found.pilots if each.reason is None]
    if found.wall_s is None:
        lines.append("duration unknown: every run of the pilot failed")
    else:
        cheapest, most_expensive = (pick(each.wall_s for each in good) for pick in (min, max))
        lines.append(
            f"about {_spanned(found.wall_s, _time)}, estimated from {len(good)} runs: "
            f"{_time(cheapest)} to {_time(most_expensive)} each"
        )
    if found.kept_bytes is not None:
        lines.append(f"about {_spanned(found.kept_bytes, _size)} of results kept")
    lines += [f"point {each.point} fails: {each.reason}" for each in found.pilots if each.reason is not None]
    return lines


def _counted(of: "Counted") -> str:
    return f"{of.least:,}" if of.least == of.most else f"{of.least:,} to {of.most:,}"


def _spanned(of: "Span", shown: Callable[[float], str]) -> str:
    low, high = shown(of.least), shown(of.most)
    return low if low == high else f"{low} to {high}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86_400:.3g} days"


def _size(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"
