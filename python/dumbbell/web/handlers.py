"""Functions that all routes use: reading a body within its limit, work on threads, errors as JSON."""

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

__all__ = ["BINARY", "Handlers", "Json", "error_response", "read_body", "require_content_type"]

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
