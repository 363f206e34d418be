"""A text to a figure: read, simulated, measured, drawn as data; in memory, and nothing is kept.

One text and one seed give one answer. What a figure looks like in bytes is `plot.columns`'s.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from dumbbell.analysis import measures
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
from dumbbell.web.text import Edit, edited

__all__ = ["NOWHERE", "POINTS_MAX", "FigureRequest", "case_of", "drawn", "figure_data", "simulated", "state"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "states")
EDITS_MAX = 64
POINTS_MAX = 4000
NUMBERS_MAX = 100
NOWHERE = Path("workbench")
"""Where the result folder would be, which is not made."""


class FigureRequest(BaseModel):
    """What a page asks for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toml: str
    edits: tuple[Edit, ...] = Field(default=(), max_length=EDITS_MAX)
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    panels: tuple[str, ...] = Field(default=PANELS, max_length=20)
    points: int = Field(default=900, ge=10, le=POINTS_MAX)
    numbers: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=("*",), max_length=NUMBERS_MAX)
    """Patterns of the measures' names; some of them take longer than all others together."""


def state(asked: FigureRequest) -> dict[str, Any]:
    """The text after the edits, with its controls, or with what is wrong with it."""
    return _read(asked)[0]


def figure_data(asked: FigureRequest, watch: Progress) -> bytes:
    """The state, and where nothing is wrong what came out: numbers, panels, how long it took.

    `watch` hears how far the simulation is; what it raises ends it.
    """
    began = time.perf_counter()
    header, case = _read(asked)
    if case is None:
        return packed(header, [])
    try:
        run = simulated(case, asked.seed, watch)
        return _packed_run(run, header, asked, began)
    except DumbbellError as error:
        return packed(header | {"problem": error_fields(error, header["toml"])}, [])


def _read(asked: FigureRequest) -> tuple[dict[str, Any], Case | None]:
    """The state, and the experiment that it is of; none where something is wrong."""
    text = asked.toml
    try:
        text = edited(asked.toml, asked.edits)
        case = case_of(text)
        return {"toml": text, "controls": controls(case.experiment), "problem": None}, case
    except DumbbellError as error:
        return {"toml": text, "controls": None, "problem": error_fields(error, text)}, None


def case_of(text: str) -> Case:
    """The experiment that a text describes; files that it names lie beside the built-in ones.

    Raises `ExperimentError`, and that for a text of several experiments too.
    """
    cases = parse(text, _home() / "experiment.toml")
    if len(cases) > 1:
        raise ExperimentError(
            "several experiments in one text", key="cases",
            right="the workbench plays one at a time: remove [[cases]], or use dumbbell run",
        )  # fmt: skip
    return cases[0]


def simulated(case: Case, seed: int, watch: Progress) -> Run:
    """The run. Raises whatever the simulator says, and what `watch` raises."""
    return Simulator(LIVE_BYTES).simulate(Request("workbench", case, seed, NOWHERE), watch)


def drawn(
    run: Run, panels: Sequence[str], points: int, wanted: Sequence[str] = ("*",)
) -> tuple[dict[str, Any], list[Any]]:
    """A run as data: what a header says of it, and the columns behind that."""
    heads, numbers = columns(run, available(run, tuple(panels)), points)
    said = {
        "duration_s": run.manifest["duration_s"],
        "flows": [{"name": flow["name"], "group": flow["group"]} for flow in run.manifest["flows"]],
        "valid": run.manifest["valid"],
        "invalid": run.manifest["invalid"],
        "numbers": measures(run, patterns=wanted),
        "panels": heads,
    }
    return said, numbers


def _packed_run(run: Run, header: dict[str, Any], asked: FigureRequest, began: float) -> bytes:
    said, numbers = drawn(run, asked.panels, asked.points, asked.numbers)
    took_ms = {"simulate": run.manifest["phases_s"]["simulate"] * 1e3, "all": (time.perf_counter() - began) * 1e3}
    return packed(header | said | {"took_ms": took_ms}, numbers)


def _home() -> Path:
    return next(iter(scenarios().values())).resolve().parent
