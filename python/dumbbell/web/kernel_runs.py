"""What is on the screen on the real kernel: checked, carried out, and put beside what the simulator says of it.

The runs go through `dumbbell.engines` as the command's do; what agrees is `dumbbell.analysis`'s to say, and how that
reads `dumbbell.reports`'s. When it runs and who cancels it is `jobs`'.
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
from dumbbell.reports import HEAD, absent_metric_cells, cells, verdict
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web.live_figures import NOWHERE, POINTS_MAX, case_of, drawn
from dumbbell.web.page_limits import LIVE_BYTES, Limits
from dumbbell.web.work_folder import WorkFolder

__all__ = ["Contest", "KernelRequest", "Outcome", "Overlaid", "contest", "kernel_here", "overlaid"]

SEEDS_MAX = 5
SIDES = ("sim", "kernel")
"""The first is the reference, as in `dumbbell compare`."""


class KernelRequest(BaseModel):
    """What a page wants to see on a kernel: a text, and that many seeds from one on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1 - SEEDS_MAX)
    seeds: int = Field(default=1, ge=1, le=SEEDS_MAX)


class Overlaid(BaseModel):
    """Which figures of a run on a kernel a page draws."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    panels: tuple[str, ...] = Field(max_length=20)
    points: int = Field(default=900, ge=10, le=POINTS_MAX)


@dataclass(frozen=True)
class Outcome:
    """What came out."""

    wanted: KernelRequest
    kernel: str
    folders: tuple[Path, ...]
    """A result folder a seed."""
    agreement: dict[str, Any]

    @property
    def run(self) -> Run:
        """The first seed's, which is the one on the screen. Raises `ResultError` when it is gone."""
        return result.load(self.folders[0])


@dataclass(frozen=True)
class Contest:
    """An experiment that both engines can carry out."""

    wanted: KernelRequest
    engine: KernelEngine
    case: Case
    folders: tuple[Path, ...]

    @property
    def length_s(self) -> float:
        """Of all seeds together."""
        return self.case.experiment.duration / 1e9 * len(self.folders)

    def carried_out(self, progress: Callable[[float], None]) -> Outcome:
        """Run every seed on both. Raises as engines do, and whatever `progress` raises."""
        pairs = [self._one(place, progress) for place in range(len(self.folders))]
        sim, kernel = (Arm(name, tuple(runs)) for name, runs in zip(SIDES, zip(*pairs, strict=True), strict=True))
        return Outcome(self.wanted, self.engine.kernel.name, self.folders, _report_json(compare_runs("", sim, kernel)))

    def _one(self, place: int, progress: Callable[[float], None]) -> tuple[Measured, Measured]:
        """One seed on both: the simulator's, which takes no time worth telling, and the kernel's."""
        each_s, seed = self.case.experiment.duration / 1e9, self.wanted.seed + place
        request = Request("workbench", self.case, seed, self.folders[place])
        simulated = Simulator(LIVE_BYTES).simulate(request, lambda _seconds: progress(place * each_s))
        run = result.load(self.engine.run(request, lambda seconds: progress(place * each_s + min(seconds, each_s))))
        return _measured(SIDES[0], seed, simulated), _measured(SIDES[1], seed, run)


def kernel_here() -> dict[str, Any]:
    """The kernel that would run: its `name`, or what to do to get one."""
    try:
        return {"name": find(None).name, "problem": ""}
    except DumbbellError as error:
        return {"name": None, "problem": str(error)}


def contest(wanted: KernelRequest, work_folder: WorkFolder, limits: Limits) -> Contest:
    """Everything that can be known before it runs.

    Raises `KernelError` where there is no kernel, `ExperimentError` for what a kernel can't do or a page may not ask.
    """
    case = case_of(wanted.toml)
    for place, program in enumerate(case.experiment.programs):
        # A link may hold any text, and programs see this machine's files.
        raise ExperimentError(
            "a page starts no programs of this machine", key=f"programs.{place}", value=program.name,
            right="save the experiment and use dumbbell run --engine kernel",
        )  # fmt: skip
    engine = KernelEngine(wall_limit_s=limits.kernel_s)
    request = Request("workbench", case, wanted.seed, NOWHERE)
    Simulator(LIVE_BYTES).check(request)
    engine.check(request)
    folders = tuple(work_folder.new(f"kernel-seed{wanted.seed + place}") for place in range(wanted.seeds))
    return Contest(wanted, engine, case, folders)


def overlaid(outcome: Outcome, asked: Overlaid) -> bytes:
    """The kernel's run as data, as `live` has the simulator's, with the agreement. Raises `ResultError`."""
    began = time.perf_counter()
    said, numbers = drawn(outcome.run, asked.panels, asked.points)
    took_ms = {"simulate": 0.0, "all": (time.perf_counter() - began) * 1e3}
    about = {"kernel": outcome.kernel, "seed": outcome.wanted.seed, "seeds": outcome.wanted.seeds}
    header = {"toml": outcome.wanted.toml, "controls": None, "problem": None}
    return packed(header | said | about | {"took_ms": took_ms, "agreement": outcome.agreement}, numbers)


def _measured(name: str, seed: int, run: Run) -> Measured:
    return Measured(Path(f"{name}, seed {seed}"), run.manifest, measures(run))


def _report_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a table: judged rows, worst first; then what only one side has; then what nobody judges."""
    judged = [row for row in comparison.judged if row in comparison.shown]
    shown = [row for row in comparison.shown if row.verdict is Verdict.SHOWN]
    alone = [
        {"metric": name, "cells": absent_metric_cells(comparison, name), "verdict": Verdict.DIFFERS}
        for name in comparison.one_sided
    ]
    return {
        "head": [*SIDES, *HEAD],
        "judged": [*_rows(judged), *alone],
        "shown": _rows(shown),
        "verdict": verdict(comparison),
        "agrees": comparison.agrees,
        "valid": comparison.valid,
        "warnings": comparison.warnings,
    }


def _rows(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"metric": row.metric, "cells": cells(row), "verdict": row.verdict.value} for row in rows]
