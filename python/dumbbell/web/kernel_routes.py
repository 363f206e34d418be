"""Routes of runs on the real kernel: begin one, hear how far it is, take what came out, or end it."""

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
from dumbbell.web.jobs import Job, Jobs, TooMany
from dumbbell.web.kernel_runs import Contest, KernelRequest, Outcome, Overlaid, contest, kernel_here, overlaid
from dumbbell.web.work_folder import WorkFolder

__all__ = ["KernelHandlers"]

LOOK_S = 0.1
"""Between two looks at a job; people see no more."""
SILENCE_S = 10.0
"""After which something is said although nothing happened, so that a page that left is noticed."""


class KernelHandlers:
    """Answers what a page asks of kernels."""

    def __init__(self, handlers: Handlers, jobs: Jobs, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._jobs = jobs
        self._work_folder = work_folder

    def routes(self) -> list[Route]:
        """What is answered."""
        return [
            Route("/api/kernel", self.here),
            Route("/api/kernel", self.begin, methods=["POST"]),
            Route("/api/jobs/{job}", self.cancel, methods=["DELETE"]),
            Route("/api/jobs/{job}/events", self.events),
            Route("/api/jobs/{job}/figure", self.figure_data, methods=["POST"]),
        ]

    async def here(self, _request: Request) -> Response:
        """Which kernel there is."""
        return Json(await self._handlers.done(kernel_here))

    async def begin(self, request: Request) -> Response:
        """Begin a run: its job, or what is wrong with what was asked."""
        wanted = await self._handlers.parse_body(request, KernelRequest)
        if wanted.seeds > self._handlers.limits.seeds:
            raise HTTPException(422, f"more than {self._handlers.limits.seeds} seeds")
        try:
            found = await self._handlers.done(
                functools.partial(contest, wanted, self._work_folder, self._handlers.limits)
            )
        except DumbbellError as error:
            return Json({"job": None, "problem": error_fields(error, wanted.toml)})
        job = Job(found.carried_out, found.length_s, wanted.toml, functools.partial(_forget, found))
        try:
            self._jobs.begin(job)
        except TooMany:
            job.forget()
            raise HTTPException(503, "too many runs wait already: come again") from None
        return Json({"job": job.name, "problem": None})

    async def events(self, request: Request) -> Response:
        """How far it is, as server-sent events, until it is over."""
        job = self._job(request)
        text = {"Cache-Control": "no-store"}
        return StreamingResponse(self._report_json(job), media_type="text/event-stream", headers=text)

    async def cancel(self, request: Request) -> Response:
        """End it."""
        self._jobs.cancel(self._job(request))
        return Json({})

    async def figure_data(self, request: Request) -> Response:
        """What came out, as data."""
        asked, job = await self._handlers.parse_body(request, Overlaid), self._job(request)
        if not isinstance(job.result, Outcome):
            raise HTTPException(409, "nothing came out of it yet")
        try:
            answer = await self._handlers.done(functools.partial(overlaid, job.result, asked))
        except ResultError:
            raise HTTPException(410, "its result is gone: run it again") from None
        return Response(answer, media_type=BINARY)

    def _job(self, request: Request) -> Job:
        if (job := self._jobs.called(request.path_params["job"])) is None:
            raise HTTPException(404, "no such run: it ended long ago, or the server was restarted")
        return job

    async def _report_json(self, job: Job) -> AsyncIterator[bytes]:
        before, said_at = "", 0.0
        while True:
            job.heard = time.monotonic()
            over = job.over
            said = json_text(self._state(job), allow_nan=True)
            if said != before:
                before, said_at = said, job.heard
                yield f"data: {said}\n\n".encode()
            elif job.heard - said_at > SILENCE_S:
                said_at = job.heard
                yield b": still here\n\n"
            if over:
                return
            await anyio.sleep(LOOK_S)

    def _state(self, job: Job) -> dict[str, Any]:
        return {
            "state": job.state,
            "seconds": round(job.seconds, 2),
            "of_s": job.length_s,
            "share": round(job.share, 4),
            "before": self._jobs.before(job),
            "problem": None if job.error is None else error_fields(job.error, job.text),
        }


def _forget(found: Contest) -> None:
    for folder in found.folders:
        shutil.rmtree(folder.parent, ignore_errors=True)
