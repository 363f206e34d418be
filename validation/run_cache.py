"""Run many experiments on both engines, and cache the results.

The cache is a file of JSON lines. The key of a run is a hash of its experiment, plan, seed, engine and the engine's
binaries. It does not cover the code that computes the measures: after a change of that code run with `--fresh`.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from figures import build
from runs import Job, in_parallel

from dumbbell import _sim
from dumbbell.analysis.summary import measures
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case

__all__ = ["CACHE_FILE", "Outcome", "run_all", "show_progress"]

CACHE_FILE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dumbbell" / "validation.jsonl"


@dataclass(frozen=True)
class Outcome:
    """The measures of one run."""

    measures: dict[str, float]
    invalid: list[str]
    wall_s: float


def run_all(
    jobs: Sequence[Job],
    cores: int | None,
    cache_file: Path | None,
    progress: Callable[[int, int], None],
    errors: dict[str, str] | None = None,
) -> dict[tuple[str, str, int], Outcome]:
    """Every job's outcome, by title, engine and seed; calls `progress(done, total)`.

    An error is raised, or collected by title in `errors`; then the job has no outcome.
    """
    keys = {job.which: _key(job) for job in jobs}
    known = _read(cache_file)
    missing = [job for job in jobs if keys[job.which] not in known]
    progress(len(jobs) - len(missing), len(jobs))
    runs = in_parallel(missing, cores, lambda _, run: (measures(run), list(run.manifest["invalid"])))
    for number, (job, made, wall_s) in enumerate(runs, start=len(jobs) - len(missing) + 1):
        if not isinstance(made, DumbbellError):
            key = keys[job.which]
            known[key] = Outcome(*made, wall_s)
            _append(cache_file, key, known[key])
        elif errors is None:
            raise made
        else:
            errors.setdefault(job.title, f"{job.engine}: {made}")
        progress(number, len(jobs))
    return {which: known[key] for which, key in keys.items() if key in known}


def show_progress(done: int, of: int) -> None:
    """Print how many runs are done, over the line before."""
    print(f"\r{done}/{of} runs", end="" if done < of else "\n", file=sys.stderr, flush=True)


def _key(job: Job) -> str:
    experiment = _sim.write_toml(job.case.experiment.document())
    plan = json.dumps(plan_case(job.case, job.seed).for_agent())
    parts = [experiment, plan, job.engine, str(job.seed), build(job.engine, job.kernel)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read(cache_file: Path | None) -> dict[str, Outcome]:
    return dict(_lines(cache_file)) if cache_file is not None and cache_file.exists() else {}


def _lines(cache_file: Path) -> Iterator[tuple[str, Outcome]]:
    for line in cache_file.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
            yield entry.pop("key"), Outcome(**entry)
        except (ValueError, KeyError, TypeError):
            continue  # A line cut by an interruption: that run is repeated.


def _append(cache_file: Path | None, key: str, outcome: Outcome) -> None:
    if cache_file is not None:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        with cache_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **asdict(outcome)}) + "\n")
