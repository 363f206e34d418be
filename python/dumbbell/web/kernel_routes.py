"""Routes of runs on the real kernel: start a run, read its progress and its result, cancel it."""

import functools
import shutil
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dumbbell.control_characters import json_text
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.web.error_view import error_fields
from dumbbell.web.handlers import BINARY, Handlers, Json
from dumbbell.web.jobs import Job, Jobs, TooManyJobs
from dumbbell.web.kernel_runs import (
    KernelComparison,
    KernelRequest,
    Outcome,
    OverlayRequest,
    kernel_status,
    overlay_data,
    prepare,
)
from dumbbell.web.work_folder import WorkFolder

__all__ = ["KernelHandlers"]

POLL_S = 0.1
"""Interval between two reads of a job's state."""
KEEPALIVE_S = 10.0
"""After this time without a change a comment is sent: the write fails if the page has disconnected."""


class KernelHandlers:
    """Handles the requests of runs on the kernel engine."""

    def __init__(self, handlers: Handlers, jobs: Jobs, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._jobs = jobs
        self._work_folder = work_folder

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/kernel", self.kernel),
            Route("/api/kernel", self.start, methods=["POST"]),
            Route("/api/jobs/{job}", self.cancel, methods=["DELETE"]),
            Route("/api/jobs/{job}/events", self.events),
            Route("/api/jobs/{job}/figure", self.figure_data, methods=["POST"]),
        ]

    async def kernel(self, _request: Request) -> Response:
        """Return the kernel to run, or how to get one."""
        return Json(await self._handlers.run_on_thread(kernel_status))

    async def start(self, request: Request) -> Response:
        """Start a run. Return its job, or the error of the request."""
        kernel_request = await self._handlers.parse_body(request, KernelRequest)
        if kernel_request.seeds > self._handlers.limits.seeds:
            raise HTTPException(422, f"more than {self._handlers.limits.seeds} seeds")
        try:
            comparison = await self._handlers.run_on_thread(
                functools.partial(prepare, kernel_request, self._work_folder, self._handlers.limits)
            )
        except DumbbellError as error:
            return Json({"job": None, "problem": error_fields(error, kernel_request.toml)})
        job = Job(
            comparison.run, comparison.duration_s, kernel_request.toml, functools.partial(_delete_folders, comparison)
        )
        try:
            self._jobs.submit(job)
        except TooManyJobs:
            job.discard()
            raise HTTPException(503, "too many runs are waiting: try again later") from None
        return Json({"job": job.name, "problem": None})

    async def events(self, request: Request) -> Response:
        """Send the job's state as server-sent events until it has finished."""
        job = self._job(request)
        text = {"Cache-Control": "no-store"}
        return StreamingResponse(self._report_json(job), media_type="text/event-stream", headers=text)

    async def cancel(self, request: Request) -> Response:
        """Cancel the job."""
        self._jobs.cancel(self._job(request))
        return Json({})

    async def figure_data(self, request: Request) -> Response:
        """Return the result as data."""
        overlay, job = await self._handlers.parse_body(request, OverlayRequest), self._job(request)
        if not isinstance(job.result, Outcome):
            raise HTTPException(409, "the run has no result yet")
        try:
            data = await self._handlers.run_on_thread(functools.partial(overlay_data, job.result, overlay))
        except ResultError:
            raise HTTPException(410, "its result was deleted: run it again") from None
        return Response(data, media_type=BINARY)

    def _job(self, request: Request) -> Job:
        if (job := self._jobs.get(request.path_params["job"])) is None:
            raise HTTPException(404, "no such run: its result was discarded, or the server was restarted")
        return job

    async def _report_json(self, job: Job) -> AsyncIterator[bytes]:
        last, sent_at = "", 0.0
        while True:
            job.last_read = time.monotonic()
            finished = job.finished
            message = json_text(self._state(job), allow_nan=True)
            if message != last:
                last, sent_at = message, job.last_read
                yield f"data: {message}\n\n".encode()
            elif job.last_read - sent_at > KEEPALIVE_S:
                sent_at = job.last_read
                yield b": keepalive\n\n"
            if finished:
                return
            await anyio.sleep(POLL_S)

    def _state(self, job: Job) -> dict[str, Any]:
        return {
            "state": job.state,
            "seconds": round(job.seconds, 2),
            "of_s": job.duration_s,
            "share": round(job.fraction_done, 4),
            "before": self._jobs.queue_position(job),
            "problem": None if job.error is None else error_fields(job.error, job.text),
        }


def _delete_folders(comparison: KernelComparison) -> None:
    for folder in comparison.folders:
        shutil.rmtree(folder.parent, ignore_errors=True)
