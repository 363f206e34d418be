"""From an experiment's text to its figures and packet traces as data. Nothing is written to disk.

The same text and seed give the same response. `dumbbell.plots` defines the format of a figure.

The page requests one window after another while it plays a run. `dumbbell.engines.sim` records the
packets; the page draws them.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dumbbell import _sim
from dumbbell.analysis.native import native
from dumbbell.analysis.summary import measures
from dumbbell.engines import Request
from dumbbell.engines.base import Progress
from dumbbell.engines.sim import PacketTraces, Simulator, Window
from dumbbell.engines.sim import packet_traces as record_packets
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.plan import Plan
from dumbbell.plots import packed
from dumbbell.results.result import Run
from dumbbell.spec import Case, scenarios
from dumbbell.spec.document import parse
from dumbbell.web.experiment_text import error_fields, shown
from dumbbell.web.handlers import LIVE_BYTES

__all__ = [
    "NO_FOLDER",
    "POINTS_MAX",
    "WINDOW_MAX_S",
    "FigureRequest",
    "WindowRequest",
    "case_of",
    "figure_data",
    "packet_traces",
    "run_data",
    "simulate",
    "state",
]


PANELS = ("throughput", "cwnd", "rtt", "queue", "states")
POINTS_MAX = 4000
NUMBERS_MAX = 100
NO_FOLDER = Path("workbench")
"""The path of a result folder that is never created."""


class FigureRequest(BaseModel):
    """A page's request for the figures and numbers of a text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    panels: tuple[str, ...] = Field(default=PANELS, max_length=20)
    points: int = Field(default=900, ge=10, le=POINTS_MAX)
    numbers: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=("*",), max_length=NUMBERS_MAX)
    """Patterns of metric names; some metrics take longer to compute than all others together."""
    samples: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=(), max_length=NUMBERS_MAX)
    """Numeric columns of the first flow's samples."""


def state(request: FigureRequest) -> dict[str, Any]:
    """Return the text with what its controls read, or with its error."""
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
        case = case_of(text)
        return {"toml": text, "case": shown(case), "problem": None}, case
    except DumbbellError as error:
        return {"toml": text, "case": None, "problem": error_fields(error, text)}, None


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
    run: Run, panels: Sequence[str], points: int, patterns: Sequence[str] = ("*",), samples: Sequence[str] = ()
) -> tuple[dict[str, Any], list[Any]]:
    """Return a run as data: the facts for a header, and the numbers that its panels and samples name."""
    figure, numbers = _sim.figure_page(native(run), list(panels), points, list(samples))
    facts = {
        "duration_s": run.manifest.duration_s,
        "flows": [{"name": flow.name, "group": flow.group} for flow in run.manifest.flows],
        "valid": run.manifest.valid,
        "invalid": run.manifest.invalid,
        "warnings": run.manifest.warnings,
        "numbers": measures(run, patterns=patterns),
        **figure,
    }
    return facts, [np.asarray(numbers)]


def _packed_run(run: Run, header: dict[str, Any], request: FigureRequest, started: float) -> bytes:
    facts, numbers = run_data(run, request.panels, request.points, request.numbers, request.samples)
    took_ms = {"simulate": run.manifest["phases_s"]["simulate"] * 1e3, "all": (time.perf_counter() - started) * 1e3}
    return packed(header | facts | {"took_ms": took_ms}, numbers)


def _scenario_folder() -> Path:
    return next(iter(scenarios().values())).resolve().parent


WINDOW_MAX_S = 5.0
NS = 10**9
TIMES = ("sent", "queued", "dequeued", "departed", "received", "dropped")
COUNTS = {"sequence_bytes": "sequence", "size_bytes": "size", "retransmit": "retransmit", "marked": "marked"}


class WindowRequest(BaseModel):
    """A page's request: an experiment and a time window."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    from_s: float = Field(ge=0, le=1e9)
    to_s: float = Field(ge=0, le=1e9)

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if not 0 < self.to_s - self.from_s <= WINDOW_MAX_S:
            raise ValueError(f"to_s must exceed from_s by at most {WINDOW_MAX_S:g} s")
        return self


def packet_traces(window_request: WindowRequest, max_rows: int, watch: Progress) -> bytes:
    """Return the packets in transit from `from_s` to `to_s` as columns, or the error of the text.

    Names are indices into lists of the header, times are in seconds, unknown values are NaN.
    `complete_s` is the time up to which no packet is missing.
    """
    try:
        case = case_of(window_request.toml)
        request = Request("workbench", case, window_request.seed, NO_FOLDER)
        duration_ns = case.experiment.duration
        window = Window(
            min(round(window_request.from_s * NS), duration_ns),
            min(round(window_request.to_s * NS), duration_ns),
            max_rows,
        )
        found = record_packets(request, window, watch, LIVE_BYTES)
        return _packed_traces(found, window)
    except DumbbellError as error:
        return packed({"problem": error_fields(error, window_request.toml)}, [])


def _packed_traces(found: PacketTraces, window: Window) -> bytes:
    packets, plan = found.packets, found.plan
    names = {
        "flow": _names([flow.name for flow in plan.flows], packets["flow"]),
        "kind": _names([], packets["kind"]),
        "direction": ["forward", "backward"],
        "queue": _names([queue.name for queue in plan.queues if queue.under_test], packets["queue"]),
        "dropped_at": _names([], packets["dropped_at"]),
    }
    columns, spans = _columns(packets, names)
    header = {
        "problem": None,
        "from_s": window.start_ns / NS,
        "to_s": window.stop_ns / NS,
        "complete_s": _complete_ns(found, window) / NS,
        "left_out": found.left_out,
        "rows": packets.height,
        "names": names,
        "queues": [_queue(name, packets, plan) for name in names["queue"]],
        "bottleneck": _bottleneck(packets, plan),
        "delays_s": _delays_s(packets),
        "columns": spans,
    }
    return packed(header, columns)


def _bottleneck(packets: pl.DataFrame, plan: Plan) -> str | None:
    """Return the bottleneck, or None if every packet enters another queue first: traces have only the first queue."""
    seen = packets["queue"].drop_nulls()
    return plan.bottleneck if seen.is_empty() or plan.bottleneck in seen.unique() else None


def _names(first: Sequence[str], column: pl.Series) -> list[str]:
    """Return these names, then the other values of the column."""
    return list(dict.fromkeys([*first, *column.drop_nulls().unique(maintain_order=True)]))


def _columns(
    packets: pl.DataFrame, names: dict[str, list[str]]
) -> tuple[list[npt.NDArray[np.float64]], dict[str, tuple[int, int]]]:
    expressions = [
        *(pl.col(name).cast(pl.Enum(known)).to_physical().alias(name) for name, known in names.items()),
        *(pl.col(name).alias(output_name) for name, output_name in COUNTS.items()),
        *(pl.col(f"{name}_ns").alias(name) for name in TIMES),
    ]
    numbers = packets.select(expressions).cast(pl.Float64).fill_null(float("nan"))
    spans = {name: (index * numbers.height, numbers.height) for index, name in enumerate(numbers.columns)}
    # By numpy: its quotient is the double nearest to the time, as is the parsed decimal of the same time.
    return [column.to_numpy() / (NS if column.name in TIMES else 1) for column in numbers], spans


def _complete_ns(found: PacketTraces, window: Window) -> int:
    """Rows are in the order of sending: the packets left out were sent after the last row."""
    last = found.packets["sent_ns"].max()
    if not found.left_out:
        return window.stop_ns
    return max(window.start_ns, last if isinstance(last, int) else 0)


def _queue(name: str, packets: pl.DataFrame, plan: Plan) -> dict[str, Any]:
    """Return a queue's limit in packets, its limit as written, and its first rate."""
    planned = next((queue for queue in plan.queues if queue.name == name), None)
    if planned is None:
        return {"name": name, "limit": None, "written": "", "rate_bps": None}
    size = packets.filter(pl.col("queue") == name)["size_bytes"].mean()
    limit = _sim.written_limit(planned.text, size if isinstance(size, float) else 0.0)
    return {
        "name": name,
        "limit": limit[0] if limit else None,
        "written": limit[1] if limit else "",
        "rate_bps": planned.rates[0][1] if planned.rates else None,
    }


def _delays_s(packets: pl.DataFrame) -> dict[str, float | None]:
    """Return the least delays: sender to queue, queue to receiver, and reverse path; null without packets."""
    forward = packets.filter(pl.col("direction") == "forward")
    reverse = packets.filter(pl.col("direction") == "backward")
    return {
        "before": _least_s(forward, "sent_ns", "queued_ns"),
        "after": _least_s(forward, "departed_ns", "received_ns"),
        "back": _least_s(reverse, "sent_ns", "received_ns"),
    }


def _least_s(packets: pl.DataFrame, earlier: str, later: str) -> float | None:
    least = (packets[later] - packets[earlier]).min()
    return least / NS if isinstance(least, int) else None
