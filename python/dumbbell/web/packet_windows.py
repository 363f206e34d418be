"""Packet traces of a time window, as columns of numbers.

The page requests one window after another while it plays a run. `dumbbell.engines.sim.packet_traces` records the
packets; the page draws them.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dumbbell.engines import Request
from dumbbell.engines.base import Progress
from dumbbell.engines.sim.packet_traces import PacketTraces, Window
from dumbbell.engines.sim.packet_traces import packet_traces as recorded
from dumbbell.errors import DumbbellError
from dumbbell.plan import Plan
from dumbbell.plots import packed
from dumbbell.plots.path_limits import written_limit
from dumbbell.web.error_view import error_fields
from dumbbell.web.live_figures import NOWHERE, case_of
from dumbbell.web.page_limits import LIVE_BYTES

__all__ = ["WINDOW_MAX_S", "Stretch", "packet_traces"]

WINDOW_MAX_S = 5.0
NS = 10**9
TIMES = ("sent", "queued", "dequeued", "departed", "received", "dropped")
COUNTS = {"sequence_bytes": "sequence", "size_bytes": "size", "retransmit": "retransmit", "marked": "marked"}


class Stretch(BaseModel):
    """What a page asks for: an experiment, and a part of its time."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    from_s: float = Field(ge=0, le=1e9)
    to_s: float = Field(ge=0, le=1e9)

    @model_validator(mode="after")
    def _short(self) -> Self:
        if not 0 < self.to_s - self.from_s <= WINDOW_MAX_S:
            raise ValueError(f"to_s must lie behind from_s, by {WINDOW_MAX_S:g} s at most")
        return self


def packet_traces(asked: Stretch, most_rows: int, watch: Progress) -> bytes:
    """The packets that are under way from `from_s` to `to_s`, a column a fact; or what is wrong with the text.

    Names are numbers into lists of the header, times seconds, and what is not known is not a number.
    `complete_s` is the time up to which no packet is missing.
    """
    try:
        case = case_of(asked.toml)
        request = Request("workbench", case, asked.seed, NOWHERE)
        last_ns = case.experiment.duration
        window = Window(min(round(asked.from_s * NS), last_ns), min(round(asked.to_s * NS), last_ns), most_rows)
        found = recorded(request, window, watch, LIVE_BYTES)
        return _packed_run(found, window)
    except DumbbellError as error:
        return packed({"problem": error_fields(error, asked.toml)}, [])


def _packed_run(found: PacketTraces, window: Window) -> bytes:
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
    """The bottleneck; None where everybody comes to another queue first, and nothing is known of who waits there."""
    seen = packets["queue"].drop_nulls()
    return plan.bottleneck if seen.is_empty() or plan.bottleneck in seen.unique() else None


def _names(first: Sequence[str], column: pl.Series) -> list[str]:
    """These names, then whatever else the column has."""
    return list(dict.fromkeys([*first, *column.drop_nulls().unique(maintain_order=True)]))


def _columns(
    packets: pl.DataFrame, names: dict[str, list[str]]
) -> tuple[list[npt.NDArray[np.float64]], dict[str, tuple[int, int]]]:
    wanted = [
        *(pl.col(name).cast(pl.Enum(known)).to_physical().alias(name) for name, known in names.items()),
        *(pl.col(name).alias(said) for name, said in COUNTS.items()),
        *(pl.col(f"{name}_ns").alias(name) for name in TIMES),
    ]
    numbers = packets.select(wanted).cast(pl.Float64).fill_null(float("nan"))
    spans = {name: (place * numbers.height, numbers.height) for place, name in enumerate(numbers.columns)}
    # By numpy: its quotient is the double nearest to the time, as is a time that a user writes.
    return [column.to_numpy() / (NS if column.name in TIMES else 1) for column in numbers], spans


def _complete_ns(found: PacketTraces, window: Window) -> int:
    """Rows come in order of sending: those that were left out were sent after the last of them."""
    last = found.packets["sent_ns"].max()
    if not found.left_out:
        return window.stop_ns
    return max(window.start_ns, last if isinstance(last, int) else 0)


def _queue(name: str, packets: pl.DataFrame, plan: Plan) -> dict[str, Any]:
    """What is known of a queue: its limit in packets, as it is written, and its first rate."""
    planned = next((queue for queue in plan.queues if queue.name == name), None)
    if planned is None:
        return {"name": name, "limit": None, "written": "", "rate_bps": None}
    size = packets.filter(pl.col("queue") == name)["size_bytes"].mean()
    limit = written_limit(planned.text, size if isinstance(size, float) else 0.0)
    return {
        "name": name,
        "limit": limit[0] if limit else None,
        "written": limit[1] if limit else "",
        "rate_bps": planned.rates[0][1] if planned.rates else None,
    }


def _delays_s(packets: pl.DataFrame) -> dict[str, float | None]:
    """The shortest time from the sender to the queue, from there to the receiver, and back; null where nobody went."""
    forward = packets.filter(pl.col("direction") == "forward")
    back = packets.filter(pl.col("direction") == "backward")
    return {
        "before": _least_s(forward, "sent_ns", "queued_ns"),
        "after": _least_s(forward, "departed_ns", "received_ns"),
        "back": _least_s(back, "sent_ns", "received_ns"),
    }


def _least_s(packets: pl.DataFrame, earlier: str, later: str) -> float | None:
    least = (packets[later] - packets[earlier]).min()
    return least / NS if isinstance(least, int) else None
