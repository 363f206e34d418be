"""The route of downloads: the shown figure, data or report as an attachment."""

import functools

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dumbbell.errors import DumbbellError
from dumbbell.results.result import Run
from dumbbell.web.file_downloads import Download, File, create_file
from dumbbell.web.handlers import Handlers
from dumbbell.web.jobs import Jobs
from dumbbell.web.kernel_runs import Outcome
from dumbbell.web.work_folder import WorkFolder

__all__ = ["DownloadHandlers"]


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
