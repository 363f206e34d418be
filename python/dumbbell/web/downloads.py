"""The shown figure, data, experiment or report as an attachment.

`dumbbell.plots` makes the figures, `dumbbell.exporters` and `dumbbell.results.result` the data, `dumbbell.reports` the
reports, as for the command line.
"""

import functools
import io
import zipfile
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dumbbell.engines.base import plain
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.exporters import export_run
from dumbbell.plots import available, figure, save
from dumbbell.reports.page import page
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web.handlers import Handlers, Jobs, Limits, WorkFolder
from dumbbell.web.kernel_runs import Outcome
from dumbbell.web.live_figures import PANELS, case_of, simulate

__all__ = ["Download", "DownloadHandlers", "File", "create_file"]


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
