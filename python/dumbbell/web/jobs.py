"""Work that takes longer than a response: as many jobs at once as there are processors; the others wait.

A job reports its progress, can be cancelled at any time, and ends when no page reads its progress any more. The work is
a function of the caller. It calls the function that it gets to report progress; that call also stops it.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from dumbbell.errors import DumbbellError
from dumbbell.web.page_limits import Cancelled, Limits

__all__ = ["Job", "Jobs", "TooManyJobs", "Work"]

ReportProgress = Callable[[float], None]
"""Called repeatedly with the simulated seconds of the experiment; raises `Cancelled` to stop the work."""
Work = Callable[[ReportProgress], Any]
State = Literal["waiting", "running", "done", "failed", "cancelled"]
FINISHED: tuple[State, ...] = ("done", "failed", "cancelled")


class TooManyJobs(Exception):
    """The limit of waiting jobs is reached."""


@dataclass
class Job:
    """One job. A single thread writes it, others read it."""

    work: Work
    duration_s: float
    """Simulated seconds of all its experiments together."""
    text: str = ""
    """The experiment, for errors that refer to a line of it."""
    discard: Callable[[], None] = lambda: None
    """Called when its result is no longer needed."""
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = "waiting"
    seconds: float = 0.0
    result: Any = None
    error: DumbbellError | None = None
    cancelled: bool = False
    last_read: float = field(default_factory=time.monotonic)
    """When a page last read its progress, by the monotonic clock."""

    @property
    def finished(self) -> bool:
        """Whether its state is final."""
        return self.state in FINISHED

    @property
    def fraction_done(self) -> float:
        """The completed fraction of the work, from 0 to 1."""
        return min(self.seconds / self.duration_s, 1.0) if self.duration_s > 0 else 0.0


class Jobs:
    """All jobs of a server."""

    def __init__(self, limits: Limits, at_once: int | None = None) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(at_once or os.cpu_count() or 1, thread_name_prefix="job")
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> None:
        """Queue the job. Raises `TooManyJobs`."""
        with self._lock:
            if (
                self._closed
                or sum(each.state == "waiting" for each in self._jobs.values()) >= self._limits.jobs_waiting
            ):
                raise TooManyJobs
            self._jobs[job.name] = job
            finished = [each for each in self._jobs.values() if each.finished]
            removed = finished[: max(len(finished) - self._limits.jobs_kept, 0)]
            for each in removed:
                del self._jobs[each.name]
            self._pool.submit(self._run, job)
        for each in removed:
            each.discard()

    def get(self, name: str) -> Job | None:
        """Return the job of this name, unless it was discarded."""
        return self._jobs.get(name)

    def queue_position(self, job: Job) -> int:
        """Return the number of jobs that are queued before this one."""
        with self._lock:
            waiting = [each.name for each in self._jobs.values() if each.state == "waiting"]
        return waiting.index(job.name) if job.name in waiting else 0

    def cancel(self, job: Job) -> None:
        """Cancel the job: a queued one at once, a running one when it next reports its progress."""
        job.cancelled = True
        with self._lock:
            if job.state == "waiting":
                job.state = "cancelled"

    def close(self) -> None:
        """Cancel all jobs and wait until they have ended."""
        with self._lock:
            self._closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            self.cancel(job)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job) -> None:
        with self._lock:
            if job.state != "waiting":
                return
            job.state = "running"
        try:
            self._report(job, 0.0)
            job.result = job.work(lambda seconds: self._report(job, seconds))
            job.state = "done"
        except Cancelled:
            job.state = "cancelled"
        except DumbbellError as error:
            job.error = error
            job.state = "failed"
        except Exception as error:
            job.error = DumbbellError(f"internal error: {error!r}")
            job.state = "failed"
            raise

    def _report(self, job: Job, seconds: float) -> None:
        if job.cancelled or time.monotonic() - job.last_read > self._limits.unread_s:
            raise Cancelled
        job.seconds = max(job.seconds, seconds)
