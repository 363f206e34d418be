"""The application and its server, which runs until a signal; downloads of what a page shows.

A download is the shown figure, data, experiment or report: `dumbbell.plots` makes the figures, `dumbbell.exporters` and
`dumbbell.results.result` the data, `dumbbell.reports` the reports, as for the command line.
"""

import contextlib
import functools
import io
import secrets
import socket
import webbrowser
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio.to_thread
import uvicorn
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dumbbell.engines.base import plain
from dumbbell.errors import DumbbellError, LocalHostError, ResultError
from dumbbell.exporters import export_run
from dumbbell.plots import available, figure, save
from dumbbell.reports.page import page
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web import access
from dumbbell.web.access import HEAD_BYTES, Guard, OwnerCheck, limited_protocol
from dumbbell.web.experiment_text import page_start
from dumbbell.web.handlers import BINARY, Handlers, Jobs, Json, Limits, WorkFolder, error_response
from dumbbell.web.kernel_runs import KernelHandlers, Outcome
from dumbbell.web.live_figures import (
    PANELS,
    FigureRequest,
    WindowRequest,
    case_of,
    figure_data,
    packet_traces,
    simulate,
    state,
)
from dumbbell.web.results import Opened, ResultHandlers

__all__ = [
    "PAGE",
    "Download",
    "File",
    "Serving",
    "make_app",
    "serve",
]


What = Literal["figure.svg", "figure.png", "figure.pdf", "data.csv", "data.parquet", "experiment.toml", "report.html"]
TYPES = {
    "svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf", "toml": "application/toml; charset=utf-8",
    "html": "text/html; charset=utf-8", "zip": "application/zip",
}  # fmt: skip
NAME_MAX = 60
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip entry can have. A fixed time gives the same bytes for the same run."""


class Download(BaseModel):
    """A page's request for a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: What
    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    panels: tuple[str, ...] = Field(default=PANELS, max_length=20)
    job: str | None = Field(default=None, max_length=64)
    """A job whose run on the kernel replaces the simulator's."""


@dataclass(frozen=True)
class File:
    """A file to save."""

    name: str
    kind: str
    content: bytes


def create_file(download: Download, kernel_run: Run | None, work_folder: WorkFolder, limits: Limits) -> File:
    """Create the file. Raises `DumbbellError` for a text that is no experiment, and the errors of its run."""
    what, _, form = download.what.partition(".")
    case = case_of(download.toml)
    stem = _stem(case, download.seed, kernel_run)
    if what == "experiment":
        return _file(stem, form, download.toml.encode())
    run = kernel_run or simulate(case, download.seed, limits.deadline())
    if what == "report":
        return _file(stem, form, page([run]).encode())
    if what == "data":
        return _file(f"{stem}-{form}", "zip", _zip_archive(run, form, f"{stem}-{form}", work_folder))
    panels = available(run, download.panels)
    if not panels:
        raise ResultError("none of these figures can be drawn of this run")
    path = work_folder.new(f"{stem}.{form}")
    try:
        save(figure(run, panels), path)
        return _file(stem, form, path.read_bytes())
    finally:
        path.unlink(missing_ok=True)


def _file(stem: str, form: str, content: bytes) -> File:
    return File(f"{stem}.{form}", TYPES[form], content)


def _stem(case: Case, seed: int, kernel_run: Run | None) -> str:
    """Return a file name without suffix that identifies the run: `bbr-and-cubic-seed1-kernel`."""
    title = plain(case.experiment.title.lower())[:NAME_MAX].strip("-.") or "experiment"
    return f"{title}-seed{seed}" + ("-kernel" if kernel_run else "")


def _zip_archive(run: Run, form: str, name: str, work_folder: WorkFolder) -> bytes:
    """Return a zip archive of a folder: CSV as from `dumbbell export`, or the result folder."""
    folder = work_folder.new(name)
    if form == "csv":
        export_run(run, folder, "csv")
    else:
        folder.mkdir()
        result.write(folder, run.manifest, run.frames)
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{name}/{file.name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
            file.unlink()
    folder.rmdir()
    return archive_bytes.getvalue()


class DownloadHandlers:
    """Handles downloads."""

    def __init__(self, handlers: Handlers, jobs: Jobs, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._jobs = jobs
        self._work_folder = work_folder

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/api/download", self.download, methods=["POST"])]

    async def download(self, request: Request) -> Response:
        """Return the file."""
        download = await self._handlers.parse_body(request, Download)
        try:
            file = await self._handlers.run_on_thread(functools.partial(self._create, download))
        except DumbbellError as error:
            raise HTTPException(422, str(error)) from None
        # The name is plain ASCII without quotes: see `requests.plain`.
        return Response(
            file.content, media_type=file.kind, headers={"Content-Disposition": f'attachment; filename="{file.name}"'}
        )

    def _create(self, download: Download) -> File:
        return create_file(download, self._kernel_run(download), self._work_folder, self._handlers.limits)

    def _kernel_run(self, download: Download) -> Run | None:
        if download.job is None:
            return None
        job = self._jobs.get(download.job)
        outcome = None if job is None else job.result
        if not isinstance(outcome, Outcome) or outcome.request.toml != download.toml:
            raise HTTPException(404, "this run on the kernel is no longer available: run it again")
        return outcome.run


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
        """Return what a page starts with."""
        return Json(await anyio.to_thread.run_sync(functools.partial(page_start, server=True)))

    async def state(self, request: Request) -> Response:
        """Return the text with what its controls read."""
        body = await self.parse_body(request, FigureRequest)
        return Json(await self.run_on_thread(functools.partial(state, body)))

    async def figure_data(self, request: Request) -> Response:
        """Return the text with what its controls read, figures and numbers."""
        body = await self.parse_body(request, FigureRequest)
        return Response(await self.run_cancellable(request, functools.partial(figure_data, body)), media_type=BINARY)

    async def packet_traces(self, request: Request) -> Response:
        """Return the packet traces of a time window."""
        body = await self.parse_body(request, WindowRequest)
        return Response(
            await self.run_cancellable(request, functools.partial(packet_traces, body, self.limits.packet_rows)),
            media_type=BINARY,
        )


LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 — only on request


@dataclass(frozen=True)
class Serving:
    """The settings of a server."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free port."""
    browser: bool = True
    token: bool = False
    """Whether other users of this host have access with the token. Clients on other hosts always need it."""
    paths: tuple[Path, ...] = ()
    """Results, sweeps and experiments to open at the start."""
    limits: Limits = field(default_factory=Limits)

    @property
    def private(self) -> bool:
        """Whether the address is on the loopback."""
        return self.host in LOOPBACK


def serve(serving: Serving, report_url: Callable[[str], None]) -> None:
    """Serve until a signal; call `report_url` with the URL.

    Raises `LocalHostError` if the address can't be used or the page was not built; `DumbbellError` for a path of
    `paths` that can't be opened.
    """
    if not (PAGE / "index.html").is_file():
        raise LocalHostError("the workbench's page was not built: run .venv/bin/python build_native.py in the checkout")
    opened = Opened(Path.cwd(), serving.paths)
    listener = _listener(serving)
    port = listener.getsockname()[1]
    owners_known = access.can_find_owners()
    token = secrets.token_urlsafe(24) if serving.token or not (serving.private and owners_known) else None
    hosts = tuple(f"{name}:{port}" for name in _host_names(serving))
    is_owner = access.is_own_user if owners_known else None
    app = make_app(hosts, token, serving.limits, opened, is_owner=is_owner, public=not serving.private)
    config = uvicorn.Config(
        app, http=limited_protocol(serving.limits), h11_max_incomplete_event_size=HEAD_BYTES, ws="none",
        proxy_headers=False, log_level="error", access_log=False, use_colors=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    url = f"http://{_url_host(serving)}:{port}/"
    report_url(url + (f"?token={token}" if token else ""))
    # Every user can read a browser's command line: the token is not in it.
    if serving.browser and owners_known:
        webbrowser.open(f"http://{hosts[0]}/")
    uvicorn.Server(config).run(sockets=[listener])


def _host_names(serving: Serving) -> list[str]:
    """Return the host names that requests of the owner may have. The server has the first as an address."""
    local = ["127.0.0.1", "localhost", "[::1]"]
    if serving.private or serving.host in WILDCARDS:
        return local
    return [_url_host(serving), *local]


def _url_host(serving: Serving) -> str:
    return f"[{serving.host}]" if ":" in serving.host else serving.host


def _listener(serving: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        return socket.create_server((serving.host, serving.port), family=family)
    except OSError as error:
        raise LocalHostError(
            f"can't listen at {serving.host}, port {serving.port}: {error.strerror or error}"
        ) from None
