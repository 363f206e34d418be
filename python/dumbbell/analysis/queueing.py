"""Backlog, drops and utilization of the queue under test, and the delay of probes.

`crates/metrics/src/queue.rs` defines the numbers.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.native import Window, as_dict, metrics
from dumbbell.late import pl
from dumbbell.results.result import Run

__all__ = [
    "bottleneck",
    "of_bottleneck",
    "one_way_delay_p95_ms",
    "ping_ms",
    "queue",
    "utilization",
]

_COUNTS = ("drops", "marks", "loss_rate")


def bottleneck(run: Run) -> Mapping[str, Any] | None:
    """The manifest's entry of the bottleneck's queue; None if the run names none."""
    name = run.manifest.bottleneck
    return next((queue for queue in run.manifest.queues if queue.name == name), None)


def of_bottleneck(run: Run) -> "pl.Expr":
    """Whether a row of `queues` belongs to the bottleneck; false for all rows if the run names none."""
    return pl.col("queue") == (run.manifest.bottleneck or "")


def queue(run: Run, window: Window | None = None) -> dict[str, Any]:
    """The bottleneck's backlog (`packets`), queueing delay (`delay_ms`), `drops`, `marks` and `loss_rate`.

    The loss rate is that of `time_series.loss` over the whole window.
    """
    found = metrics(run, window)["queue"] or {}
    spreads = {name: as_dict(found.get(name)) for name in ("packets", "delay_ms")}
    return spreads | {name: found.get(name) for name in _COUNTS}


def ping_ms(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Spread of the round-trip time of all answered pings sent in the window."""
    return as_dict(metrics(run, window)["ping_ms"])


def one_way_delay_p95_ms(run: Run, window: Window | None = None) -> float | None:
    """95th percentile of the probes' one-way delay in the data's direction; None without a common clock."""
    return as_dict(metrics(run, window)["one_way_delay_ms"])["p95"]


def utilization(run: Run, window: Window | None = None) -> float | None:
    """Bits that the bottleneck sent ÷ bits that it could have sent; None if it has no rate in part of the window."""
    found: float | None = metrics(run, window)["utilization"]
    return found
