"""What all routes share: a body read within its limit, work done on threads, refusals as JSON."""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from dumbbell.control_characters import json_text
from dumbbell.engines.base import Progress
from dumbbell.web.page_limits import Cancelled, Limits

__all__ = ["BINARY", "Handlers", "Json", "body_of", "expect", "refusal"]

BINARY = "application/octet-stream"
Body = TypeVar("Body", bound=BaseModel)
Found = TypeVar("Found")


class Json(JSONResponse):
    """An answer in JSON; a lone surrogate of a file is an escape in it, and no end of the answer."""

    def render(self, content: object) -> bytes:
        """As its class does."""
        return json_text(content, separators=(",", ":")).encode()


class Handlers:
    """Takes questions; work is done on threads, as many at once as there are processors."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads: anyio.CapacityLimiter | None = None

    async def parse_body(self, request: Request, kind: type[Body]) -> Body:
        """The request's body. Raises `HTTPException` for one that is too large, no JSON, or not of this kind."""
        expect(request, "application/json", "JSON is expected")
        text = await body_of(request, self.limits.body_bytes)
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            slip = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(part) for part in slip["loc"])
            raise HTTPException(422, f"{where}: {slip['msg']}") from None

    async def done(self, work: Callable[[], Found]) -> Found:
        """What the work gives. Raises `HTTPException` when too many wait already."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(os.cpu_count() or 1)
        if self._threads.statistics().tasks_waiting >= self.limits.waiting:
            raise HTTPException(503, "too much at once: come again")
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def watched(self, request: Request, work: Callable[[Progress], Found]) -> Found:
        """The same of a simulation, which ends when it takes too long or nobody waits for its answer any more."""
        gone = threading.Event()
        listening = asyncio.create_task(_left(request, gone))
        try:
            return await self.done(lambda: work(self.limits.patience(gone.is_set)))
        except Cancelled:
            raise HTTPException(499, "nobody waits for the answer") from None
        finally:
            listening.cancel()


async def _left(request: Request, gone: threading.Event) -> None:
    """Tell when the client has disconnected; the whole body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def expect(request: Request, kind: str, said: str) -> None:
    """Is the body of this type? One that a foreign page can send unasked never is. Raises `HTTPException`."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != kind:
        raise HTTPException(415, said)


async def body_of(request: Request, most: int) -> bytes:
    """The whole body. Raises `HTTPException` for one of more than `most` bytes, or that breaks off."""
    parts, length = [], 0
    try:
        async for part in request.stream():
            length += len(part)
            if length > most:
                raise HTTPException(413, f"more than {most} bytes")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(499, "the request broke off") from None
    return b"".join(parts)


def refusal(_request: Request, error: Exception) -> Response:
    """Any refusal as a page reads it."""
    status, said = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return Json({"error": said}, status)
