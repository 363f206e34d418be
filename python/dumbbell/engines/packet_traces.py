"""Traces of every packet in a time window.

The simulator repeats the run until every packet in the window has been received or dropped, and returns packets
instead of samples. `docs/packet-traces.md` describes the columns; `crates/sim/src/packet_trace.rs` records the packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from dumbbell import _sim
from dumbbell.engines.base import Progress, Request
from dumbbell.engines.sim import Simulator, refusals
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan

__all__ = ["COLUMNS", "MOST_ROWS", "PacketTraces", "Window", "packet_traces"]

MOST_ROWS = 200_000
"""A table of 60 MB: five seconds at 200 Mbit/s."""

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
"""Columns of the table, in order."""


@dataclass(frozen=True)
class Window:
    """Selects packets that are in flight at some time of the window, including both ends."""

    start_ns: int
    stop_ns: int
    most_rows: int = MOST_ROWS


@dataclass(frozen=True)
class PacketTraces:
    """Packet traces, and how many are missing."""

    packets: pl.DataFrame
    """One packet per row, in order of sending."""
    left_out: int
    """Later packets beyond the limit of rows."""
    plan: Plan
    """The plan that was run."""


def packet_traces(
    request: Request, window: Window, progress: Progress = lambda _seconds: None, most_bytes: int | None = None
) -> PacketTraces:
    """Traces of the packets in flight in this window; `most_bytes` as in `Simulator`.

    Raises `ExperimentError` for an invalid window, and what `Simulator.simulate` raises.
    """
    ready = Simulator(most_bytes).prepare(replace(request, capture=None))
    _refuse(window, ready.plan.duration_ns)
    with refusals(ready.most_bytes):
        packets, left_out = _sim.packet_trace(
            ready.simulated, window.start_ns, window.stop_ns, window.most_rows, progress, ready.held_bytes
        )
    return PacketTraces(pl.DataFrame(packets), left_out, ready.plan)


def _refuse(window: Window, duration_ns: int) -> None:
    if not 0 <= window.start_ns <= window.stop_ns:
        raise ExperimentError(
            "the window's start exceeds its stop", key="start", value=f"{window.start_ns} ns",
            right=f"0 to {window.stop_ns} ns",
        )  # fmt: skip
    if window.stop_ns > duration_ns:
        raise ExperimentError(
            "the window's stop exceeds the experiment's duration", key="stop", value=f"{window.stop_ns} ns",
            right=f"at most {duration_ns} ns",
        )  # fmt: skip
    if window.most_rows < 0:
        raise ExperimentError(
            "the number of rows is negative", key="most_rows", value=window.most_rows, right=f"such as {MOST_ROWS}"
        )
