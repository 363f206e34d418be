"""The application: its routes and their handlers."""

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
from dumbbell.web.guard import Guard, OwnerCheck
from dumbbell.web.handlers import BINARY, Handlers, Json, error_response
from dumbbell.web.jobs import Jobs
from dumbbell.web.kernel_routes import KernelHandlers
from dumbbell.web.live_figures import FigureRequest, figure_data, state
from dumbbell.web.opened import Opened
from dumbbell.web.packet_windows import WindowRequest, packet_traces
from dumbbell.web.page_limits import Limits
from dumbbell.web.result_routes import ResultHandlers
from dumbbell.web.scenario_catalogue import catalogue
from dumbbell.web.work_folder import WorkFolder

__all__ = ["PAGE", "make_app"]

PAGE = Path(__file__).with_name("page")


def make_app(
    hosts: tuple[str, ...] = (), token: str | None = None, limits: Limits | None = None, opened: Opened | None = None,
    *, is_owner: OwnerCheck | None = None, public: bool = False,
) -> Starlette:  # fmt: skip
    """Make the application. `Guard` gets `hosts`, `token`, `is_owner` and `public`; only tests omit them."""
    handlers, work_folder = _LiveHandlers(limits or Limits()), WorkFolder()
    jobs = Jobs(handlers.limits)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        """Cancel the jobs and delete the work folder when the server stops."""
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
        middleware=[Middleware(Guard, hosts=hosts, token=token, is_owner=is_owner, public=public)],
        exception_handlers={HTTPException: error_response},
        lifespan=lifespan,
    )


class _LiveHandlers(Handlers):
    """Handles the requests of the live figure."""

    async def start(self, _request: Request) -> Response:
        """Return the version, the scenarios, the controllers and the disciplines."""
        entries = await anyio.to_thread.run_sync(catalogue)
        return Json({"version": dumbbell.__version__, "scenarios": entries, **vocabulary()})

    async def state(self, request: Request) -> Response:
        """Return the edited text with its controls."""
        body = await self.parse_body(request, FigureRequest)
        return Json(await self.run_on_thread(functools.partial(state, body)))

    async def figure_data(self, request: Request) -> Response:
        """Return the edited text with its controls, figures and numbers."""
        body = await self.parse_body(request, FigureRequest)
        return Response(await self.run_cancellable(request, functools.partial(figure_data, body)), media_type=BINARY)

    async def packet_traces(self, request: Request) -> Response:
        """Return the packet traces of a time window."""
        body = await self.parse_body(request, WindowRequest)
        return Response(
            await self.run_cancellable(request, functools.partial(packet_traces, body, self.limits.packet_rows)),
            media_type=BINARY,
        )
