"""Many runs of many experiments on both engines, none of them twice.

A run's measures are kept in a file of JSON lines under a key of what the run depends on: the plan, the seed and the
engine's binaries. Who changes what is measured starts afresh. What the measures say is for whoever asked.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from runs import Job, side_by_side

from dumbbell import _sim
from dumbbell.analysis import measures
from dumbbell.engine import KernelEngine
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case

__all__ = ["KEPT", "Outcome", "run_all"]

KEPT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dumbbell" / "conformance.jsonl"


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    measures: dict[str, float]
    invalid: list[str]
    wall_s: float


def run_all(
    jobs: Sequence[Job], cores: int | None, kept: Path | None, tell: Callable[[int, int], None]
) -> dict[tuple[str, str, int], Outcome]:
    """Every job's outcome, by title, engine and seed; `tell` hears how many of how many are done."""
    keys = {job.which: _key(job) for job in jobs}
    known = _read(kept)
    missing = [job for job in jobs if keys[job.which] not in known]
    tell(len(jobs) - len(missing), len(jobs))
    runs = side_by_side(missing, cores, lambda _, run: (measures(run), list(run.birth["invalid"])))
    for number, (job, made, wall_s) in enumerate(runs, start=len(jobs) - len(missing) + 1):
        if isinstance(made, DumbbellError):
            raise made
        key = keys[job.which]
        known[key] = Outcome(*made, wall_s)
        _append(kept, key, known[key])
        tell(number, len(jobs))
    return {which: known[key] for which, key in keys.items()}


def _key(job: Job) -> str:
    plan = repr(plan_case(job.case, job.seed))
    return hashlib.sha256("\0".join([plan, job.engine, str(job.seed), _build(job.engine)]).encode()).hexdigest()


@cache
def _build(engine: str) -> str:
    """The binaries that make a result."""
    hashed = hashlib.sha256()
    if engine == "sim":
        hashed.update(Path(_sim.__file__).read_bytes())
    else:
        kernel = KernelEngine()
        hashed.update(kernel.agent.read_bytes() + kernel.kernel.binary.read_bytes())
    return hashed.hexdigest()


def _read(kept: Path | None) -> dict[str, Outcome]:
    return dict(_lines(kept)) if kept is not None and kept.exists() else {}


def _lines(kept: Path) -> Iterator[tuple[str, Outcome]]:
    for line in kept.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
            yield entry.pop("key"), Outcome(**entry)
        except (ValueError, KeyError, TypeError):
            continue  # A line that an interruption cut: that run is done again.


def _append(kept: Path | None, key: str, outcome: Outcome) -> None:
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **asdict(outcome)}) + "\n")
