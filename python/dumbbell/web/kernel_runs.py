"""The shown experiment on the real kernel: checked, run, and compared with the simulator.

`dumbbell.engines` runs it as for the command line; `dumbbell.analysis` compares, `dumbbell.reports` formats the
comparison. `jobs` schedules and cancels the runs.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dumbbell.analysis import Arm, Comparison, Measured, Verdict, compare_runs, measures
from dumbbell.engines import KernelEngine, Request, Simulator
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.kernels import find
from dumbbell.plots.panel_data import packed
from dumbbell.reports.verdict_text import HEAD, absent_metric_cells, cells, verdict
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web.live_figures import NO_FOLDER, POINTS_MAX, case_of, run_data
from dumbbell.web.page_limits import LIVE_BYTES, Limits
from dumbbell.web.work_folder import WorkFolder

__all__ = ["KernelComparison", "KernelRequest", "Outcome", "OverlayRequest", "kernel_status", "overlay_data", "prepare"]

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
        request = Request("workbench", self.case, seed, self.folders[index])
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
    request = Request("workbench", case, kernel_request.seed, NO_FOLDER)
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
    header = {"toml": outcome.request.toml, "controls": None, "problem": None}
    return packed(header | facts | about | {"took_ms": took_ms, "agreement": outcome.agreement}, numbers)


def _measured(name: str, seed: int, run: Run) -> Measured:
    return Measured(Path(f"{name}, seed {seed}"), run.manifest, measures(run))


def _report_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a table: judged rows, worst first, then metrics of one arm, then metrics not judged."""
    judged = [row for row in comparison.judged if row in comparison.shown]
    shown = [row for row in comparison.shown if row.verdict is Verdict.SHOWN]
    one_sided = [
        {"metric": name, "cells": absent_metric_cells(comparison, name), "verdict": Verdict.DIFFERS}
        for name in comparison.one_sided
    ]
    return {
        "head": [*ARMS, *HEAD],
        "judged": [*_rows(judged), *one_sided],
        "shown": _rows(shown),
        "verdict": verdict(comparison),
        "agrees": comparison.agrees,
        "valid": comparison.valid,
        "warnings": comparison.warnings,
    }


def _rows(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"metric": row.metric, "cells": cells(row), "verdict": row.verdict.value} for row in rows]
