"""Where every packet was, for a window of time: who wants a run in slow motion asks here.

The simulator carries the experiment out again, as far as it must to know what became of each packet, and tells of
packets instead of samples. Which columns there are is said here and in `docs/journeys.md`; how packets are followed,
`crates/sim/src/journeys.rs` knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from dumbbell import _sim
from dumbbell.engine.base import Progress, Request
from dumbbell.engine.sim import Simulator, refusals
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan

__all__ = ["COLUMNS", "MOST_ROWS", "Journeys", "Window", "journeys"]

MOST_ROWS = 200_000
"""Of a table of 60 MB: five seconds at 200 Mbit/s."""

COLUMNS: Mapping[str, type[pl.DataType]] = {
    "flow": pl.String,
    "kind": pl.String,
    "direction": pl.String,
    "sequence_bytes": pl.Int64,
    "size_bytes": pl.Int64,
    "retransmit": pl.Boolean,
    "marked": pl.Boolean,
    "sent_ns": pl.Int64,
    "queue": pl.String,
    "queued_ns": pl.Int64,
    "dequeued_ns": pl.Int64,
    "departed_ns": pl.Int64,
    "received_ns": pl.Int64,
    "dropped_ns": pl.Int64,
    "dropped_at": pl.String,
}
"""Of a table of journeys, in order."""


@dataclass(frozen=True)
class Window:
    """What is asked for: packets that are under way at some time of the window, both ends included."""

    start_ns: int
    stop_ns: int
    most_rows: int = MOST_ROWS


@dataclass(frozen=True)
class Journeys:
    """Packets, and whether these are all."""

    packets: pl.DataFrame
    """One packet a row, in order of sending."""
    left_out: int
    """Packets that were sent later, for which there was no room."""
    plan: Plan
    """What was carried out."""


def journeys(
    request: Request, window: Window, progress: Progress = lambda _seconds: None, most_bytes: int | None = None
) -> Journeys:
    """Where the packets were that were under way in this window; `most_bytes` is as `Simulator` has it.

    Raises `ExperimentError` for a window that the experiment has not, and what `Simulator.simulate` raises.
    """
    ready = Simulator(most_bytes).prepare(replace(request, capture=None))
    _refuse(window, ready.plan.duration_ns)
    with refusals(ready.most_bytes):
        packets, left_out = _sim.journeys(
            ready.world, window.start_ns, window.stop_ns, window.most_rows, progress, ready.held_bytes
        )
    return Journeys(pl.DataFrame(packets), left_out, ready.plan)


def _refuse(window: Window, duration_ns: int) -> None:
    if not 0 <= window.start_ns <= window.stop_ns:
        raise ExperimentError(
            "a window that ends before it begins", key="start", value=f"{window.start_ns} ns",
            right=f"0 to {window.stop_ns} ns",
        )  # fmt: skip
    if window.stop_ns > duration_ns:
        raise ExperimentError(
            "a window that ends after the experiment", key="stop", value=f"{window.stop_ns} ns",
            right=f"at most {duration_ns} ns",
        )  # fmt: skip
    if window.most_rows < 0:
        raise ExperimentError(
            "less than no rows", key="most_rows", value=window.most_rows, right=f"such as {MOST_ROWS}"
        )
