"""What all routes use: bodies within limits, work on threads, long jobs, errors as JSON.

`Limits` is what a page may use of this host; one folder is all that the server writes. A job reports its progress, can
be cancelled at any time, and ends when no page reads its progress any more. The work is a function of the caller. It
calls the function that it gets to report progress; that call also stops it.
"""

import asyncio
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from dumbbell.control_characters import json_text
from dumbbell.engines.base import Progress
from dumbbell.errors import DumbbellError, EngineError

__all__ = [
    "BINARY",
    "LIVE_BYTES",
    "Handlers",
    "Job",
    "Jobs",
    "Json",
    "Limits",
    "TooManyJobs",
    "Work",
    "WorkFolder",
    "error_response",
    "read_body",
    "require_content_type",
]


LIVE_BYTES = 1_000_000_000
"""Memory of one live run: about as many samples as are measured and drawn in a few seconds."""


class Cancelled(BaseException):
    """Raised inside cancelled work. Not an `Exception`, so that handlers of errors don't catch it."""


@dataclass(frozen=True)
class Limits:
    """Limits of one server."""

    connections: int = 256
    """Simultaneous connections; beyond them an idle one is closed for a new one."""
    head_s: float = 10.0
    """From a connection's start, or the end of the last response, until the head of a request is complete."""
    body_s: float = 300.0
    """From there until its body is complete."""
    rest_s: float = 2.0
    """For the rest of a body that was refused before it was complete."""
    taking_s: float = 30.0
    """A client that reads less than `taken_bytes` of its response in this time is disconnected."""
    taken_bytes: int = 30_000
    imports: int = 2
    """Simultaneous uploads of logs; others wait, unread."""
    body_bytes: int = 1_000_000
    """Size of a request with an experiment."""
    import_bytes: int = 64_000_000
    """Size of a log that is dropped on the page."""
    unpacked_bytes: int = 512 << 20
    """Unpacked size of a log compressed by gzip."""
    live_s: float = 15.0
    """Wall time of one live simulation; longer experiments need the command line."""
    packet_rows: int = 200_000
    """Packets in one response."""
    waiting: int = 32
    """Requests that may wait for a processor; more are refused with status 503."""
    jobs_waiting: int = 8
    """Runs on a kernel that may wait for a processor; more are refused with status 503."""
    jobs_kept: int = 12
    """Finished runs whose result is kept, for pages that still show it."""
    unread_s: float = 30.0
    """A run whose progress no page has read for this time is cancelled."""
    kernel_s: float = 600.0
    """Wall time of one guest."""
    seeds: int = 5
    """Seeds of one request for the kernel engine."""

    def deadline(self, is_cancelled: Callable[[], bool] = lambda: False) -> Progress:
        """Return a progress function that stops a simulation at its time limit, or when it is cancelled.

        It raises `EngineError` or `Cancelled`.
        """
        until = time.monotonic() + self.live_s

        def watch(seconds: float) -> None:
            if is_cancelled():
                raise Cancelled
            if time.monotonic() > until:
                raise EngineError(
                    f"only {seconds:.3g} s of the experiment were simulated in {self.live_s:g} s: "
                    "make it shorter or slower, or use dumbbell run"
                )

        return watch


class WorkFolder:
    """Created on first use. Every path in it is returned once."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._cleanup: weakref.finalize[..., WorkFolder] | None = None
        self._count = 0
        self._lock = threading.Lock()

    def new(self, name: str) -> Path:
        """Return a new unique path with this name as its last component. The path doesn't exist."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="dumbbell-ui-"))
                # Deletes the folder at the interpreter's end if `close` was not called.
                self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir()
        return folder / name

    def close(self) -> None:
        """Delete the folder."""
        with self._lock:
            if self._cleanup is not None:
                self._cleanup()
            self._folder = self._cleanup = None


BINARY = "application/octet-stream"
Body = TypeVar("Body", bound=BaseModel)
Result = TypeVar("Result")


class Json(JSONResponse):
    """A response in JSON. A lone surrogate from a file becomes an escape instead of an encoding error."""

    def render(self, content: object) -> bytes:
        """Encode the content as JSON."""
        return json_text(content, separators=(",", ":")).encode()


class Handlers:
    """Parses requests and runs their work on as many threads as there are processors."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads: anyio.CapacityLimiter | None = None

    async def parse_body(self, request: Request, kind: type[Body]) -> Body:
        """Return the request's body. Raises `HTTPException` if it is too large, no JSON, or not of this kind."""
        require_content_type(request, "application/json", "JSON is expected")
        text = await read_body(request, self.limits.body_bytes)
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            first_error = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(part) for part in first_error["loc"])
            raise HTTPException(422, f"{where}: {first_error['msg']}") from None

    async def run_on_thread(self, work: Callable[[], Result]) -> Result:
        """Return the result of the work. Raises `HTTPException` if too many requests wait already."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(os.cpu_count() or 1)
        if self._threads.statistics().tasks_waiting >= self.limits.waiting:
            raise HTTPException(503, "too many requests at once: try again later")
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def run_cancellable(self, request: Request, work: Callable[[Progress], Result]) -> Result:
        """Like `run_on_thread`, for a simulation: it ends at its time limit, or when the client disconnects."""
        disconnected = threading.Event()
        listener = asyncio.create_task(_wait_for_disconnect(request, disconnected))
        try:
            return await self.run_on_thread(lambda: work(self.limits.deadline(disconnected.is_set)))
        except Cancelled:
            raise HTTPException(499, "the client disconnected") from None
        finally:
            listener.cancel()


async def _wait_for_disconnect(request: Request, disconnected: threading.Event) -> None:
    """Set the event when the client disconnects. The complete body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    disconnected.set()


def require_content_type(request: Request, content_type: str, message: str) -> None:
    """Raise `HTTPException` if the body has another type. Forms of other sites never have the types in use."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != content_type:
        raise HTTPException(415, message)


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return the complete body. Raises `HTTPException` if it exceeds `max_bytes` or is incomplete."""
    parts, length = [], 0
    try:
        async for part in request.stream():
            length += len(part)
            if length > max_bytes:
                raise HTTPException(413, f"more than {max_bytes} bytes")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(499, "the request is incomplete") from None
    return b"".join(parts)


def error_response(_request: Request, error: Exception) -> Response:
    """Return an error as a page reads it."""
    status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return Json({"error": message}, status)


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
