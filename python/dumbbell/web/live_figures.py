"""From an experiment's text to its figures as data: parse, simulate, measure. Nothing is written to disk.

The same text and seed give the same response. `dumbbell.plots` defines the format of a figure.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from dumbbell.analysis.measures import measures
from dumbbell.engines import Request
from dumbbell.engines.base import Progress
from dumbbell.engines.sim.sim_engine import Simulator
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.plots import available, columns, packed
from dumbbell.results.result import Run
from dumbbell.spec import Case, scenarios
from dumbbell.spec.document import parse
from dumbbell.web.control_values import controls
from dumbbell.web.error_view import error_fields
from dumbbell.web.page_limits import LIVE_BYTES
from dumbbell.web.text import Edit, apply_edits

__all__ = ["NO_FOLDER", "POINTS_MAX", "FigureRequest", "case_of", "figure_data", "run_data", "simulate", "state"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "states")
EDITS_MAX = 64
POINTS_MAX = 4000
NUMBERS_MAX = 100
NO_FOLDER = Path("workbench")
"""The path of a result folder that is never created."""


class FigureRequest(BaseModel):
    """A page's request for an edited text, its figures and numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toml: str
    edits: tuple[Edit, ...] = Field(default=(), max_length=EDITS_MAX)
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    panels: tuple[str, ...] = Field(default=PANELS, max_length=20)
    points: int = Field(default=900, ge=10, le=POINTS_MAX)
    numbers: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=("*",), max_length=NUMBERS_MAX)
    """Patterns of metric names; some metrics take longer to compute than all others together."""


def state(request: FigureRequest) -> dict[str, Any]:
    """Return the edited text with its controls, or with its error."""
    return _state_and_case(request)[0]


def figure_data(request: FigureRequest, watch: Progress) -> bytes:
    """Return the state and, for a valid text, the run: numbers, panels, durations.

    The simulation reports its progress to `watch`, which can raise to stop it.
    """
    started = time.perf_counter()
    header, case = _state_and_case(request)
    if case is None:
        return packed(header, [])
    try:
        run = simulate(case, request.seed, watch)
        return _packed_run(run, header, request, started)
    except DumbbellError as error:
        return packed(header | {"problem": error_fields(error, header["toml"])}, [])


def _state_and_case(request: FigureRequest) -> tuple[dict[str, Any], Case | None]:
    """Return the state and its experiment, or None for an invalid text."""
    text = request.toml
    try:
        text = apply_edits(request.toml, request.edits)
        case = case_of(text)
        return {"toml": text, "controls": controls(case.experiment), "problem": None}, case
    except DumbbellError as error:
        return {"toml": text, "controls": None, "problem": error_fields(error, text)}, None


def case_of(text: str) -> Case:
    """Return the experiment of a text. The files that it refers to are in the folder of the built-in scenarios.

    Raises `ExperimentError`, also for a text with several cases.
    """
    cases = parse(text, _scenario_folder() / "experiment.toml")
    if len(cases) > 1:
        raise ExperimentError(
            "several experiments in one text", key="cases",
            right="the workbench runs one at a time: remove [[cases]], or use dumbbell run",
        )  # fmt: skip
    return cases[0]


def simulate(case: Case, seed: int, watch: Progress) -> Run:
    """Simulate the experiment. Raises what the simulator and `watch` raise."""
    return Simulator(LIVE_BYTES).simulate(Request("workbench", case, seed, NO_FOLDER), watch)


def run_data(
    run: Run, panels: Sequence[str], points: int, patterns: Sequence[str] = ("*",)
) -> tuple[dict[str, Any], list[Any]]:
    """Return a run as data: the facts for a header, and the columns of the panels."""
    panel_headers, numbers = columns(run, available(run, tuple(panels)), points)
    facts = {
        "duration_s": run.manifest["duration_s"],
        "flows": [{"name": flow["name"], "group": flow["group"]} for flow in run.manifest["flows"]],
        "valid": run.manifest["valid"],
        "invalid": run.manifest["invalid"],
        "numbers": measures(run, patterns=patterns),
        "panels": panel_headers,
    }
    return facts, numbers


def _packed_run(run: Run, header: dict[str, Any], request: FigureRequest, started: float) -> bytes:
    facts, numbers = run_data(run, request.panels, request.points, request.numbers)
    took_ms = {"simulate": run.manifest["phases_s"]["simulate"] * 1e3, "all": (time.perf_counter() - started) * 1e3}
    return packed(header | facts | {"took_ms": took_ms}, numbers)


def _scenario_folder() -> Path:
    return next(iter(scenarios().values())).resolve().parent
