"""The shown experiment on the real kernel: checked, run, compared with the simulator; its routes.

`dumbbell.engines` runs it as for the command line; `dumbbell.analysis` compares, `dumbbell.reports` formats the
comparison. `handlers` schedules and cancels the runs.
"""

import functools
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dumbbell import engines
from dumbbell.analysis.comparison import Arm, Comparison, Measured, compare_runs
from dumbbell.analysis.difference import Verdict
from dumbbell.analysis.summary import measures
from dumbbell.control_characters import json_text
from dumbbell.engines import KernelEngine, Simulator
from dumbbell.errors import DumbbellError, ExperimentError, ResultError
from dumbbell.kernels import find
from dumbbell.plots.panels import packed
from dumbbell.reports.comparison_text import HEAD, absent_metric_cells, cells, verdict
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web.experiment_text import error_fields
from dumbbell.web.handlers import BINARY, LIVE_BYTES, Handlers, Job, Jobs, Json, Limits, TooManyJobs, WorkFolder
from dumbbell.web.live_figures import NO_FOLDER, POINTS_MAX, case_of, run_data

__all__ = [
    "KernelComparison",
    "KernelHandlers",
    "KernelRequest",
    "Outcome",
    "OverlayRequest",
    "kernel_status",
    "overlay_data",
    "prepare",
]


SEEDS_MAX = 5
ARMS = ("sim", "kernel")
"""The first is the reference, as in `dumbbell compare`."""


class KernelRequest(BaseModel):
    """A page's request to run a text on the kernel with `seeds` consecutive seeds from `seed` on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1 - SEEDS_MAX)
    seeds: int = Field(default=1, ge=1, le=SEEDS_MAX)


class OverlayRequest(BaseModel):
    """The figures of a run on a kernel that a page draws."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    panels: tuple[str, ...] = Field(max_length=20)
    points: int = Field(default=900, ge=10, le=POINTS_MAX)


@dataclass(frozen=True)
class Outcome:
    """The result folders and the comparison."""

    request: KernelRequest
    kernel: str
    folders: tuple[Path, ...]
    """A result folder per seed."""
    agreement: dict[str, Any]

    @property
    def run(self) -> Run:
        """Load the first seed's run, which the page shows. Raises `ResultError` if it was deleted."""
        return result.load(self.folders[0])


@dataclass(frozen=True)
class KernelComparison:
    """An experiment that both engines can run."""

    request: KernelRequest
    engine: KernelEngine
    case: Case
    folders: tuple[Path, ...]

    @property
    def duration_s(self) -> float:
        """Simulated seconds of all seeds together."""
        return self.case.experiment.duration / 1e9 * len(self.folders)

    def run(self, progress: Callable[[float], None]) -> Outcome:
        """Run every seed on both engines. Raises what the engines and `progress` raise."""
        pairs = [self._run_seed(index, progress) for index in range(len(self.folders))]
        sim, kernel = (Arm(name, tuple(runs)) for name, runs in zip(ARMS, zip(*pairs, strict=True), strict=True))
        used = str(kernel.runs[0].manifest["kernel"]["name"])
        return Outcome(self.request, used, self.folders, _report_json(compare_runs("", sim, kernel)))

    def _run_seed(self, index: int, progress: Callable[[float], None]) -> tuple[Measured, Measured]:
        """Run one seed on the simulator and on the kernel. Only the kernel's run counts as progress."""
        duration_s, seed = self.case.experiment.duration / 1e9, self.request.seed + index
        request = engines.Request("workbench", self.case, seed, self.folders[index])
        simulated = Simulator(LIVE_BYTES).simulate(request, lambda _seconds: progress(index * duration_s))
        run = result.load(
            self.engine.run(request, lambda seconds: progress(index * duration_s + min(seconds, duration_s)))
        )
        return _measured(ARMS[0], seed, simulated), _measured(ARMS[1], seed, run)


def kernel_status() -> dict[str, Any]:
    """Return the `name` of the kernel to run, or as `problem` how to get one."""
    try:
        return {"name": find(None).name, "problem": ""}
    except DumbbellError as error:
        return {"name": None, "problem": str(error)}


def prepare(kernel_request: KernelRequest, work_folder: WorkFolder, limits: Limits) -> KernelComparison:
    """Check the experiment on both engines and make its folders.

    Raises `KernelError` without a kernel, `ExperimentError` for what a kernel can't do or a page may not request.
    """
    case = case_of(kernel_request.toml)
    for index, program in enumerate(case.experiment.programs):
        # A link can contain any text, and programs can read this host's files.
        raise ExperimentError(
            "a page cannot start programs of this host", key=f"programs.{index}", value=program.name,
            right="save the experiment and use dumbbell run --engine kernel",
        )  # fmt: skip
    engine = KernelEngine(wall_limit_s=limits.kernel_s)
    request = engines.Request("workbench", case, kernel_request.seed, NO_FOLDER)
    Simulator(LIVE_BYTES).check(request)
    engine.check(request)
    seeds = range(kernel_request.seed, kernel_request.seed + kernel_request.seeds)
    folders = tuple(work_folder.new(f"kernel-seed{seed}") for seed in seeds)
    return KernelComparison(kernel_request, engine, case, folders)


def overlay_data(outcome: Outcome, overlay: OverlayRequest) -> bytes:
    """Return the kernel's run in the format of `live_figures`, with the comparison. Raises `ResultError`."""
    started = time.perf_counter()
    facts, numbers = run_data(outcome.run, overlay.panels, overlay.points)
    took_ms = {"simulate": 0.0, "all": (time.perf_counter() - started) * 1e3}
    about = {"kernel": outcome.kernel, "seed": outcome.request.seed, "seeds": outcome.request.seeds}
    header = {"toml": outcome.request.toml, "case": None, "problem": None}
    return packed(header | facts | about | {"took_ms": took_ms, "agreement": outcome.agreement}, numbers)


def _measured(name: str, seed: int, run: Run) -> Measured:
    return Measured(Path(f"{name}, seed {seed}"), run.manifest, measures(run))


def _report_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a table: judged rows, worst first, then metrics of one arm, then metrics not judged."""
    judged = [row for row in comparison.judged if row in comparison.shown]
    shown = [row for row in comparison.shown if row not in judged]
    one_sided = [
        {"metric": name, "cells": absent_metric_cells(comparison, name), "verdict": Verdict.DIFFERS}
        for name in comparison.one_sided
    ]
    return {
        "head": [*ARMS, *HEAD],
        "judged": [*_rows(comparison, judged), *one_sided],
        "shown": _rows(comparison, shown),
        "verdict": verdict(comparison),
        "agrees": comparison.agrees,
        "valid": comparison.valid,
        "warnings": comparison.warnings,
    }


def _rows(comparison: Comparison, rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"metric": row.metric, "cells": cells(row, comparison), "verdict": row.verdict.value} for row in rows]


POLL_S = 0.1
"""Interval between two reads of a job's state."""
KEEPALIVE_S = 10.0
"""After this time without a change a comment is sent: the write fails if the page has disconnected."""


class KernelHandlers:
    """Handles the requests of runs on the kernel engine."""

    def __init__(self, handlers: Handlers, jobs: Jobs, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._jobs = jobs
        self._work_folder = work_folder

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/kernel", self.kernel),
            Route("/api/kernel", self.start, methods=["POST"]),
            Route("/api/jobs/{job}", self.cancel, methods=["DELETE"]),
            Route("/api/jobs/{job}/events", self.events),
            Route("/api/jobs/{job}/figure", self.figure_data, methods=["POST"]),
        ]

    async def kernel(self, _request: Request) -> Response:
        """Return the kernel to run, or how to get one."""
        return Json(await self._handlers.run_on_thread(kernel_status))

    async def start(self, request: Request) -> Response:
        """Start a run. Return its job, or the error of the request."""
        kernel_request = await self._handlers.parse_body(request, KernelRequest)
        if kernel_request.seeds > self._handlers.limits.seeds:
            raise HTTPException(422, f"more than {self._handlers.limits.seeds} seeds")
        try:
            comparison = await self._handlers.run_on_thread(
                functools.partial(prepare, kernel_request, self._work_folder, self._handlers.limits)
            )
        except DumbbellError as error:
            return Json({"job": None, "problem": error_fields(error, kernel_request.toml)})
        job = Job(
            comparison.run, comparison.duration_s, kernel_request.toml, functools.partial(_delete_folders, comparison)
        )
        try:
            self._jobs.submit(job)
        except TooManyJobs:
            job.discard()
            raise HTTPException(503, "too many runs are waiting: try again later") from None
        return Json({"job": job.name, "problem": None})

    async def events(self, request: Request) -> Response:
        """Send the job's state as server-sent events until it has finished."""
        job = self._job(request)
        text = {"Cache-Control": "no-store"}
        return StreamingResponse(self._report_json(job), media_type="text/event-stream", headers=text)

    async def cancel(self, request: Request) -> Response:
        """Cancel the job."""
        self._jobs.cancel(self._job(request))
        return Json({})

    async def figure_data(self, request: Request) -> Response:
        """Return the result as data."""
        overlay, job = await self._handlers.parse_body(request, OverlayRequest), self._job(request)
        if not isinstance(job.result, Outcome):
            raise HTTPException(409, "the run has no result yet")
        try:
            data = await self._handlers.run_on_thread(functools.partial(overlay_data, job.result, overlay))
        except ResultError:
            raise HTTPException(410, "its result was deleted: run it again") from None
        return Response(data, media_type=BINARY)

    def _job(self, request: Request) -> Job:
        if (job := self._jobs.get(request.path_params["job"])) is None:
            raise HTTPException(404, "no such run: its result was discarded, or the server was restarted")
        return job

    async def _report_json(self, job: Job) -> AsyncIterator[bytes]:
        last, sent_at = "", 0.0
        while True:
            job.last_read = time.monotonic()
            finished = job.finished
            message = json_text(self._state(job), allow_nan=True)
            if message != last:
                last, sent_at = message, job.last_read
                yield f"data: {message}\n\n".encode()
            elif job.last_read - sent_at > KEEPALIVE_S:
                sent_at = job.last_read
                yield b": keepalive\n\n"
            if finished:
                return
            await anyio.sleep(POLL_S)

    def _state(self, job: Job) -> dict[str, Any]:
        return {
            "state": job.state,
            "seconds": round(job.seconds, 2),
            "of_s": job.duration_s,
            "share": round(job.fraction_done, 4),
            "before": self._jobs.queue_position(job),
            "problem": None if job.error is None else error_fields(job.error, job.text),
        }


def _delete_folders(comparison: KernelComparison) -> None:
    for folder in comparison.folders:
        shutil.rmtree(folder.parent, ignore_errors=True)
