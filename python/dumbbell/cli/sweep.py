"""The command `sweep`: an experiment at many points. What a person sees meanwhile is `sweeping`'s."""
# ruff: noqa: PLC0415 — as in `app`

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.console import Console, print_json
from dumbbell.cli.interrupt import Interrupted
from dumbbell.errors import ExperimentError

if TYPE_CHECKING:
    from dumbbell.spec.sweep import Sweep
    from dumbbell.sweeps.whole import Asked, CrewFor, Done

__all__ = ["sweep"]

err = Console(stderr=True, soft_wrap=True)


def sweep(  # noqa: PLR0913, PLR0917 — its options are the command's.
    file: Annotated[
        Path | None, typer.Argument(metavar="SWEEP|FILE", help="A built-in sweep or a sweep file.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs side by side; default: one a core; on host one.", show_default=False)
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler (tcp://…), slurm:…, or a TOML file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with one that was cut off.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Its folder; default: runs/sweep-NAME.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="sim|kernel|host", help="The engine where the file names another; host runs only so."),
    ] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="The real hosts that ssh may call, as the file names them.")
    ] = None,
    use_cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Take runs that an earlier sweep did from there.")
    ] = True,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Forget what earlier sweeps did.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say how many runs it is and how long it takes.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the built-in sweeps.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Run an experiment at every point of a grid; a table with a row a run."""
    from dumbbell.cli.forecast import dry_run, list_sweeps
    from dumbbell.engine.permissions import kernels_set, permitted
    from dumbbell.spec.sweep import load_sweep
    from dumbbell.sweeps.whole import Asked, default_folder

    if listed:
        list_sweeps()
        return
    if clear_cache:
        _clear()
    if file is None:
        if clear_cache:
            return
        raise ExperimentError("no sweep file", key="FILE", right="such as dumbbell sweep loss-rtt.toml")
    changes = settings or []
    allowed = permitted([engine or ""], hosts, kernels_set(changes))
    asked_for = load_sweep(file, changes, engine)
    if dry:
        dry_run(asked_for, jobs or len(os.sched_getaffinity(0)), allowed, as_json=as_json)
        return
    asked = Asked(
        asked_for, out or default_folder(asked_for), resume, jobs, use_cache, changes, _crew(cluster, asked_for),
        allowed, engine,
    )  # fmt: skip
    how = ["--cluster", cluster] if cluster else []
    how += ["--jobs", str(jobs)] if jobs else []
    done = _carried_out(asked, file, [*how, *([] if use_cache else ["--no-cache"])])
    if as_json:
        print_json(_as_json(done))
    raise typer.Exit(0 if done.is_good else 1)


def _carried_out(asked: "Asked", file: Path, how: list[str]) -> "Done":
    """`how`: the options by which it runs, for the line that says how to go on."""
    from dumbbell.cli.sweeping import Sweeping, told, unmet
    from dumbbell.sweeps.whole import carry_out

    try:
        with Sweeping(asked.sweep.name) as teller:
            done = carry_out(asked, teller)
    except KeyboardInterrupt:
        if not asked.out.exists():
            raise Interrupted from None
        words = ["dumbbell", "sweep", str(file), *asked.options, *how, "--out", str(asked.out), "--resume"]
        raise Interrupted(f"what was done is kept; go on with: {shlex.join(words)}") from None
    err.print(told(done))
    for line in unmet(done):
        err.print(line)
    if done.trouble is not None:
        err.print(f"the cache of earlier sweeps was turned off: {done.trouble}")
    return done


def _crew(cluster: str | None, asked_for: "Sweep") -> "CrewFor | None":
    """Others than this machine's processes, where somebody names them."""
    if cluster is None:
        return None
    from dumbbell.sweeps.cluster import crew_for

    if asked_for.keep == "runs":
        right = 'keep = "metrics", and dumbbell run for the runs that are wanted whole'
        raise ExperimentError("a cluster sends rows, not results", file=str(asked_for.file), key="keep", right=right)
    return lambda _place, cache: crew_for(cluster, err.print, cache)


def _clear() -> None:
    from dumbbell.sweeps.cache import cache_file, clear

    err.print(f"{cache_file()}: forgot {clear() / 1e6:.1f} MB")


def _as_json(done: "Done") -> dict[str, object]:
    counts = {status: done.counts.get(status, 0) for status in ("ok", "invalid", "failed")}
    more = {"cached": done.cached, "unmet": len(done.unmet), "wall_s": done.wall_s}
    return {"sweep": str(done.folder), "runs": done.runs, **counts, **more}
