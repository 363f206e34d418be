"""Routes of what is open: list it, add to it, read a report, put an experiment on the screen, import a log."""

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
from dumbbell.web.handlers import BINARY, Handlers, Json, body_of, expect
from dumbbell.web.imported_logs import imported
from dumbbell.web.opened import Opened, Thing
from dumbbell.web.work_folder import WorkFolder

__all__ = ["REPORT_POLICY", "ResultHandlers"]

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-downloads allow-popups"
)
"""A report has its scripts in it and draws by evaluating; it may do so as nobody: its origin isn't the workbench's,
and it can ask nothing of any server."""
NAME_MAX = 255
Found = TypeVar("Found")


class Typed(BaseModel):
    """A path that the user typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(max_length=4096)


class ResultHandlers:
    """Answers what a page asks of results."""

    def __init__(self, handlers: Handlers, opened: Opened, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._opened = opened
        self._work_folder = work_folder
        # Of the loop that first answers.
        self._importing = functools.cache(lambda: anyio.CapacityLimiter(handlers.limits.imports))

    def routes(self) -> list[Route]:
        """What is answered."""
        return [
            Route("/api/results", self.listed),
            Route("/api/results", self.add, methods=["POST"]),
            Route("/api/results/{thing}/experiment", self.experiment),
            Route("/api/import", self.take, methods=["POST"]),
            Route("/results/{thing}/report", self.report),
        ]

    async def listed(self, _request: Request) -> Response:
        """All that is open."""
        return self._things_json(self._opened.things)

    async def add(self, request: Request) -> Response:
        """Open what lies below the server's folder."""
        asked = await self._handlers.parse_body(request, Typed)
        return self._things_json(await self._found(functools.partial(self._opened.typed, asked.path)))

    async def take(self, request: Request) -> Response:
        """Import a log: the request's body."""
        expect(request, BINARY, f"a log is sent as {BINARY}")
        name = request.query_params.get("name", "")[:NAME_MAX]
        # Each may take `import_bytes` of memory.
        async with self._importing():
            content = await body_of(request, self._handlers.limits.import_bytes)

            def work() -> list[Thing]:
                return self._opened.add(imported(name, content, self._work_folder, self._handlers.limits))

            return self._things_json(await self._found(work))

    async def experiment(self, request: Request) -> Response:
        """The experiment of one, or of one run of a sweep."""
        toml, of_seed = await self._found(functools.partial(self._thing(request).experiment, *_run_of(request)))
        return Json({"toml": toml, "seed": of_seed})

    async def report(self, request: Request) -> Response:
        """The report, as a document of its own."""
        text = await self._found(functools.partial(self._thing(request).report, *_run_of(request)))
        return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY, "Cache-Control": "no-store"})

    async def _found(self, work: Callable[[], Found]) -> Found:
        try:
            return await self._handlers.done(work)
        except DumbbellError as error:
            raise HTTPException(422, str(error)) from None

    def _thing(self, request: Request) -> Thing:
        if (thing := self._opened.called(request.path_params["thing"])) is None:
            raise HTTPException(404, "nothing of this name is open: the server was restarted")
        return thing

    def _things_json(self, things: list[Thing]) -> Response:
        below = self._opened.below
        return Json({"below": str(below), "things": [thing.listing(below) for thing in things]})


def _run_of(request: Request) -> tuple[int | None, int | None]:
    """The point and the seed of a sweep's run, where one is named."""
    return _number(request, "point"), _number(request, "seed")


def _number(request: Request, key: str) -> int | None:
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
