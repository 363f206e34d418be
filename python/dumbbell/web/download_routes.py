"""The route of downloads: what is on the screen as an attachment."""

import functools

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dumbbell.errors import DumbbellError
from dumbbell.results.result import Run
from dumbbell.web.file_downloads import Download, File, made
from dumbbell.web.handlers import Handlers
from dumbbell.web.jobs import Jobs
from dumbbell.web.kernel_runs import Outcome
from dumbbell.web.work_folder import WorkFolder

__all__ = ["DownloadHandlers"]


class DownloadHandlers:
    """Answers what a page wants to keep."""

    def __init__(self, handlers: Handlers, jobs: Jobs, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._jobs = jobs
        self._work_folder = work_folder

    def routes(self) -> list[Route]:
        """What is answered."""
        return [Route("/api/download", self.download, methods=["POST"])]

    async def download(self, request: Request) -> Response:
        """The file."""
        wanted = await self._handlers.parse_body(request, Download)
        try:
            file = await self._handlers.done(functools.partial(self._made, wanted))
        except DumbbellError as error:
            raise HTTPException(422, str(error)) from None
        # The name is plain ASCII without quotes: see `requests.plain`.
        return Response(
            file.content, media_type=file.kind, headers={"Content-Disposition": f'attachment; filename="{file.name}"'}
        )

    def _made(self, wanted: Download) -> File:
        return made(wanted, self._on_kernel(wanted), self._work_folder, self._handlers.limits)

    def _on_kernel(self, wanted: Download) -> Run | None:
        if wanted.job is None:
            return None
        job = self._jobs.called(wanted.job)
        outcome = None if job is None else job.result
        if not isinstance(outcome, Outcome) or outcome.wanted.toml != wanted.toml:
            raise HTTPException(404, "this run on the kernel is not known any more: run it again")
        return outcome.run
