"""Routes of open results: list them, add one, read a report, show an experiment, import a log."""

import functools
from collections.abc import Callable
from typing import TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dumbbell.errors import DumbbellError
from dumbbell.web.handlers import BINARY, Handlers, Json, read_body, require_content_type
from dumbbell.web.imported_logs import import_log
from dumbbell.web.opened import Opened, Thing
from dumbbell.web.work_folder import WorkFolder

__all__ = ["REPORT_POLICY", "ResultHandlers"]

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-downloads allow-popups"
)
"""A report contains its scripts and evaluates code to draw. In the sandbox it has no origin, so it can't send requests
as the workbench, and the policy forbids requests to any server."""
NAME_MAX = 255
Result = TypeVar("Result")


class PathRequest(BaseModel):
    """A path that the user typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(max_length=4096)


class ResultHandlers:
    """Handles the requests for open results."""

    def __init__(self, handlers: Handlers, opened: Opened, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._opened = opened
        self._work_folder = work_folder
        # Created on first use: it belongs to the event loop of the server.
        self._import_limiter = functools.cache(lambda: anyio.CapacityLimiter(handlers.limits.imports))

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/results", self.list_things),
            Route("/api/results", self.add, methods=["POST"]),
            Route("/api/results/{thing}/experiment", self.experiment),
            Route("/api/import", self.import_log, methods=["POST"]),
            Route("/results/{thing}/report", self.report),
        ]

    async def list_things(self, _request: Request) -> Response:
        """List all open things."""
        return self._things_json(self._opened.things)

    async def add(self, request: Request) -> Response:
        """Open a path below the server's folder."""
        body = await self._handlers.parse_body(request, PathRequest)
        return self._things_json(await self._run(functools.partial(self._opened.add_below, body.path)))

    async def import_log(self, request: Request) -> Response:
        """Import the log in the request's body."""
        require_content_type(request, BINARY, f"a log must be sent as {BINARY}")
        name = request.query_params.get("name", "")[:NAME_MAX]
        # Each import may use `import_bytes` of memory.
        async with self._import_limiter():
            content = await read_body(request, self._handlers.limits.import_bytes)

            def work() -> list[Thing]:
                return self._opened.add(import_log(name, content, self._work_folder, self._handlers.limits))

            return self._things_json(await self._run(work))

    async def experiment(self, request: Request) -> Response:
        """Return the experiment of a thing, or of one run of a sweep."""
        toml, seed = await self._run(functools.partial(self._thing(request).experiment, *_run_of(request)))
        return Json({"toml": toml, "seed": seed})

    async def report(self, request: Request) -> Response:
        """Return the report as a separate document."""
        text = await self._run(functools.partial(self._thing(request).report, *_run_of(request)))
        return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY, "Cache-Control": "no-store"})

    async def _run(self, work: Callable[[], Result]) -> Result:
        try:
            return await self._handlers.run_on_thread(work)
        except DumbbellError as error:
            raise HTTPException(422, str(error)) from None

    def _thing(self, request: Request) -> Thing:
        if (thing := self._opened.get(request.path_params["thing"])) is None:
            raise HTTPException(404, "no open result has this name: the server was restarted")
        return thing

    def _things_json(self, things: list[Thing]) -> Response:
        below = self._opened.below
        return Json({"below": str(below), "things": [thing.listing(below) for thing in things]})


def _run_of(request: Request) -> tuple[int | None, int | None]:
    """Return the point and the seed of a sweep's run, if the request has them."""
    return _number(request, "point"), _number(request, "seed")


def _number(request: Request, key: str) -> int | None:
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
