"""The routes: what a page can ask, and where it is answered."""

import contextlib
import functools
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import dumbbell
from dumbbell.web.control_values import vocabulary
from dumbbell.web.download_routes import DownloadHandlers
from dumbbell.web.guard import Guard, Mine
from dumbbell.web.handlers import BINARY, Handlers, Json, refusal
from dumbbell.web.jobs import Jobs
from dumbbell.web.kernel_routes import KernelHandlers
from dumbbell.web.live_figures import FigureRequest, figure_data, state
from dumbbell.web.opened import Opened
from dumbbell.web.packet_windows import Stretch, packet_traces
from dumbbell.web.page_limits import Limits
from dumbbell.web.result_routes import ResultHandlers
from dumbbell.web.scenario_catalogue import catalogue
from dumbbell.web.work_folder import WorkFolder

__all__ = ["PAGE", "make_app"]

PAGE = Path(__file__).with_name("page")


def make_app(
    hosts: tuple[str, ...] = (), token: str | None = None, limits: Limits | None = None, opened: Opened | None = None,
    *, mine: Mine | None = None, public: bool = False,
) -> Starlette:  # fmt: skip
    """The application. `hosts`, `token`, `mine` and `public` are `Guard`'s; without them it is for tests."""
    handlers, work_folder = _LiveHandlers(limits or Limits()), WorkFolder()
    jobs = Jobs(handlers.limits)

    @contextlib.asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        """What was begun ends with the server, and what was written goes."""
        yield
        jobs.close()
        work_folder.close()

    return Starlette(
        routes=[
            Route("/api/start", handlers.start),
            Route("/api/state", handlers.state, methods=["POST"]),
            Route("/api/figures", handlers.figure_data, methods=["POST"]),
            *KernelHandlers(handlers, jobs, work_folder).routes(),
            *DownloadHandlers(handlers, jobs, work_folder).routes(),
            *ResultHandlers(handlers, opened or Opened(Path.cwd()), work_folder).routes(),
            Route("/api/packets", handlers.packet_traces, methods=["POST"]),
            Mount("/", StaticFiles(directory=PAGE, html=True, check_dir=False)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, token=token, mine=mine, public=public)],
        exception_handlers={HTTPException: refusal},
        lifespan=life,
    )


class _LiveHandlers(Handlers):
    """Answers what the live figure needs."""

    async def start(self, _request: Request) -> Response:
        """What a page needs to begin."""
        entries = await anyio.to_thread.run_sync(catalogue)
        return Json({"version": dumbbell.__version__, "scenarios": entries, **vocabulary()})

    async def state(self, request: Request) -> Response:
        """A text after its edits, with its controls."""
        asked = await self.parse_body(request, FigureRequest)
        return Json(await self.done(functools.partial(state, asked)))

    async def figure_data(self, request: Request) -> Response:
        """The same, and what comes out."""
        asked = await self.parse_body(request, FigureRequest)
        return Response(await self.watched(request, functools.partial(figure_data, asked)), media_type=BINARY)

    async def packet_traces(self, request: Request) -> Response:
        """Where every packet was, for a window of time."""
        asked = await self.parse_body(request, Stretch)
        return Response(
            await self.watched(request, functools.partial(packet_traces, asked, self.limits.packet_rows)),
            media_type=BINARY,
        )
