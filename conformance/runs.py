"""Runs side by side: one case with one seed on one engine each, read back at once, of which no folder stays.

What is made of a run, and where that goes, is for whoever asks.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dumbbell import result
from dumbbell.engine import Request
from dumbbell.engine.permissions import permitted
from dumbbell.engine.requests import engine_called
from dumbbell.errors import DumbbellError
from dumbbell.result import Run
from dumbbell.spec import Case

__all__ = ["Job", "side_by_side"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """One run that is wanted; no two cases have one title."""

    title: str
    case: Case
    engine: str
    seed: int

    @property
    def which(self) -> tuple[str, str, int]:
        """What tells it from others."""
        return self.title, self.engine, self.seed


def side_by_side(
    jobs: Sequence[Job], cores: int | None, make: Callable[[Job, Run], Made]
) -> Iterator[tuple[Job, Made | DumbbellError, float]]:
    """Each job as it ends, what `make` made of it and its run or why there is none, and its wall seconds.

    In threads: the engines leave Python while they work, and a process forked beside polars' threads may never wake.
    """
    with ThreadPoolExecutor(cores or os.cpu_count()) as pool:
        running = {pool.submit(_run, job, make): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], *done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(job: Job, make: Callable[[Job, Run], Made]) -> tuple[Made | DumbbellError, float]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        request = Request(job.title, job.case, job.seed, Path(folder) / "run")
        try:
            made = make(
                job,
                result.load(
                    engine_called(job.engine, None, allowed=permitted([job.engine])).run(request, lambda _: None)
                ),
            )
        except DumbbellError as error:
            error.add_note(", ".join(map(str, job.which)))
            return error, time.perf_counter() - began
    return made, time.perf_counter() - began
