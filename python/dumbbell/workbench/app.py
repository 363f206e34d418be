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
from dumbbell.workbench.desk import BINARY, Desk, Json, refusal
from dumbbell.workbench.downloadroutes import DownloadDesk
from dumbbell.workbench.guard import Guard, Mine
from dumbbell.workbench.jobs import Jobs
from dumbbell.workbench.journeys import Stretch, journeys
from dumbbell.workbench.kernelroutes import KernelDesk
from dumbbell.workbench.knobs import vocabulary
from dumbbell.workbench.limits import Limits
from dumbbell.workbench.live import Asked, picture, state
from dumbbell.workbench.opened import Opened
from dumbbell.workbench.openroutes import OpenDesk
from dumbbell.workbench.room import Room
from dumbbell.workbench.shelf import shelf

__all__ = ["PAGE", "make_app"]

PAGE = Path(__file__).with_name("page")


def make_app(
    hosts: tuple[str, ...] = (), token: str | None = None, limits: Limits | None = None, opened: Opened | None = None,
    *, mine: Mine | None = None, public: bool = False,
) -> Starlette:  # fmt: skip
    """The application. `hosts`, `token`, `mine` and `public` are `Guard`'s; without them it is for tests."""
    desk, room = _Desk(limits or Limits()), Room()
    jobs = Jobs(desk.limits)

    @contextlib.asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        """What was begun ends with the server, and what was written goes."""
        yield
        jobs.close()
        room.close()

    return Starlette(
        routes=[
            Route("/api/start", desk.start),
            Route("/api/state", desk.state, methods=["POST"]),
            Route("/api/picture", desk.picture, methods=["POST"]),
            *KernelDesk(desk, jobs, room).routes(),
            *DownloadDesk(desk, jobs, room).routes(),
            *OpenDesk(desk, opened or Opened(Path.cwd()), room).routes(),
            Route("/api/journeys", desk.journeys, methods=["POST"]),
            Mount("/", StaticFiles(directory=PAGE, html=True, check_dir=False)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, token=token, mine=mine, public=public)],
        exception_handlers={HTTPException: refusal},
        lifespan=life,
    )


class _Desk(Desk):
    """Answers what the live picture needs."""

    async def start(self, _request: Request) -> Response:
        """What a page needs to begin."""
        shelved = await anyio.to_thread.run_sync(shelf)
        return Json({"version": dumbbell.__version__, "scenarios": shelved, **vocabulary()})

    async def state(self, request: Request) -> Response:
        """A text after its edits, with its knobs."""
        asked = await self.asked(request, Asked)
        return Json(await self.done(functools.partial(state, asked)))

    async def picture(self, request: Request) -> Response:
        """The same, and what comes out."""
        asked = await self.asked(request, Asked)
        return Response(await self.watched(request, functools.partial(picture, asked)), media_type=BINARY)

    async def journeys(self, request: Request) -> Response:
        """Where every packet was, for a window of time."""
        asked = await self.asked(request, Stretch)
        return Response(
            await self.watched(request, functools.partial(journeys, asked, self.limits.journeys_rows)),
            media_type=BINARY,
        )
