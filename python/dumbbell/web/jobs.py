"""Work that takes longer than an answer: as many at once as there are processors, the others wait and say so.

A job tells how far it is, can be cancelled at any time, and ends by itself when nobody listens to it any more. What is
done is the caller's: a function that is given a way to tell its progress, by which it is also stopped.
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

__all__ = ["Job", "Jobs", "TooMany", "Work"]

Told = Callable[[float], None]
"""Called now and then with the seconds of the experiment that are over; raises `Cancelled` when it is enough."""
Work = Callable[[Told], Any]
State = Literal["waiting", "running", "done", "failed", "cancelled"]
OVER: tuple[State, ...] = ("done", "failed", "cancelled")


class TooMany(Exception):
    """So many wait already that another one would be heard of too late."""


@dataclass
class Job:
    """One piece of work. A thread writes it, others read it."""

    work: Work
    length_s: float
    """How many seconds of experiments it is long."""
    text: str = ""
    """The experiment, for errors that name a line of it."""
    forget: Callable[[], None] = lambda: None
    """Called when its result is needed no longer."""
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = "waiting"
    seconds: float = 0.0
    result: Any = None
    error: DumbbellError | None = None
    cancelled: bool = False
    heard: float = field(default_factory=time.monotonic)
    """When a page last listened, by the monotonic clock."""

    @property
    def over(self) -> bool:
        """Will nothing change any more?"""
        return self.state in OVER

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return min(self.seconds / self.length_s, 1.0) if self.length_s > 0 else 0.0


class Jobs:
    """All jobs of a server."""

    def __init__(self, limits: Limits, at_once: int | None = None) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(at_once or os.cpu_count() or 1, thread_name_prefix="job")
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, job: Job) -> None:
        """Let it wait for a processor. Raises `TooMany`."""
        with self._lock:
            if (
                self._closed
                or sum(each.state == "waiting" for each in self._jobs.values()) >= self._limits.jobs_waiting
            ):
                raise TooMany
            self._jobs[job.name] = job
            over = [each for each in self._jobs.values() if each.over]
            left = over[: max(len(over) - self._limits.jobs_kept, 0)]
            for each in left:
                del self._jobs[each.name]
            self._pool.submit(self._carry_out, job)
        for each in left:
            each.forget()

    def called(self, name: str) -> Job | None:
        """The job of this name, if it isn't forgotten."""
        return self._jobs.get(name)

    def before(self, job: Job) -> int:
        """How many wait for a processor longer than this one."""
        with self._lock:
            waiting = [each.name for each in self._jobs.values() if each.state == "waiting"]
        return waiting.index(job.name) if job.name in waiting else 0

    def cancel(self, job: Job) -> None:
        """End it, wherever it is; what it began ends within moments."""
        job.cancelled = True
        with self._lock:
            if job.state == "waiting":
                job.state = "cancelled"

    def close(self) -> None:
        """End all, and wait until they have ended."""
        with self._lock:
            self._closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            self.cancel(job)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _carry_out(self, job: Job) -> None:
        with self._lock:
            if job.state != "waiting":
                return
            job.state = "running"
        try:
            self._notify(job, 0.0)
            job.result = job.work(lambda seconds: self._notify(job, seconds))
            job.state = "done"
        except Cancelled:
            job.state = "cancelled"
        except DumbbellError as error:
            job.error = error
            job.state = "failed"
        except Exception as error:
            job.error = DumbbellError(f"a fault of Dumbbell's own: {error!r}")
            job.state = "failed"
            raise

    def _notify(self, job: Job, seconds: float) -> None:
        if job.cancelled or time.monotonic() - job.heard > self._limits.unheard_s:
            raise Cancelled
        job.seconds = max(job.seconds, seconds)
