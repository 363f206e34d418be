"""Run jobs in parallel: one case with one seed on one engine each, in a temporary folder."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dumbbell.engines import Request
from dumbbell.engines.base import engine_called, permitted
from dumbbell.errors import DumbbellError
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case

__all__ = ["Job", "in_parallel"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """One run to make; titles of cases are unique."""

    title: str
    case: Case
    engine: str
    seed: int
    kernel: str | None = None
    """The kernel to boot; None is the default one."""

    @property
    def which(self) -> tuple[str, str, int]:
        """The key of the job."""
        return self.title, self.engine, self.seed


def in_parallel(
    jobs: Sequence[Job], cores: int | None, make: Callable[[Job, Run], Made]
) -> Iterator[tuple[Job, Made | DumbbellError, float]]:
    """Yield each job as it ends, with the result of `make(job, run)` or the error, and its wall seconds.

    Uses threads: the engines release the GIL, and a process forked while polars' threads run may deadlock.
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
                    engine_called(job.engine, job.kernel, allowed=permitted([job.engine])).run(request, lambda _: None)
                ),
            )
        except DumbbellError as error:
            error.add_note(", ".join(map(str, job.which)))
            return error, time.perf_counter() - began
    return made, time.perf_counter() - began
