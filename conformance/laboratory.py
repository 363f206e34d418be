"""Many runs of many experiments on both engines, on all cores, none of them twice.

A run's measures are kept in a file of JSON lines under a key of what the run depends on: the plan, the seed and the
engine's binaries. Who changes what is measured starts afresh. What the measures say is for whoever asked.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from dumbbell import _sim, result
from dumbbell.analysis import measures
from dumbbell.engine import Engine, KernelEngine, Request, Simulator
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.spec import Case

__all__ = ["KEPT", "Job", "Outcome", "run_all"]

KEPT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dumbbell" / "conformance.jsonl"


@dataclass(frozen=True)
class Job:
    """One run that is wanted."""

    title: str
    case: Case
    engine: str
    seed: int


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
    keys = {(job.title, job.engine, job.seed): _key(job) for job in jobs}
    known = _read(kept)
    missing = [job for job in jobs if keys[job.title, job.engine, job.seed] not in known]
    tell(len(jobs) - len(missing), len(jobs))
    with ProcessPoolExecutor(cores) as pool:
        running = {pool.submit(_run, job): job for job in missing}
        try:
            for number, done in enumerate(as_completed(running), start=1):
                job = running[done]
                key = keys[job.title, job.engine, job.seed]
                known[key] = done.result()
                _append(kept, key, known[key])
                tell(len(jobs) - len(missing) + number, len(jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {which: known[key] for which, key in keys.items()}


def _run(job: Job) -> Outcome:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        request = Request(job.title, job.case, job.seed, Path(folder) / "run")
        try:
            run = result.load(_engine(job.engine).run(request, lambda _: None))
        except DumbbellError as error:
            error.add_note(f"{job.title}, {job.engine}, seed {job.seed}")
            raise
        numbers = measures(run)
    return Outcome(numbers, list(run.birth["invalid"]), time.perf_counter() - began)


@cache
def _engine(name: str) -> Engine:
    return Simulator() if name == "sim" else KernelEngine()


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
