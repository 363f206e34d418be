"""Backlog, drops and utilization of the queue under test, and the delay of probes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.counters import Counter
from dumbbell.analysis.sample_arrays import Bools, Floats, during, known, remembered, where
from dumbbell.analysis.spread import spread
from dumbbell.analysis.window import NS, Window, bounds_ns
from dumbbell.results.result import Run

__all__ = [
    "bottleneck",
    "of_bottleneck",
    "one_way_delay_p95_ms",
    "ping_ms",
    "queue",
    "rows_of_bottleneck",
    "utilization",
]


def bottleneck(run: Run) -> Mapping[str, Any] | None:
    """The manifest's entry of the bottleneck's queue; None if the run names none."""
    name = run.manifest.get("bottleneck")
    return next((queue for queue in run.manifest["queues"] if queue["name"] == name), None)


def of_bottleneck(run: Run) -> pl.Expr:
    """Whether a row of `queues` belongs to the bottleneck; false for all rows if the run names none."""
    return pl.col("queue") == (run.manifest.get("bottleneck") or "")


@remembered
def rows_of_bottleneck(run: Run) -> Bools:
    """`of_bottleneck` for every row."""
    return where(run.table("queues"), "queue", run.manifest.get("bottleneck") or "")


@remembered
def queue(run: Run, window: Window | None = None) -> dict[str, Any]:
    """The bottleneck's backlog (`packets`), queueing delay (`delay_ms`), `drops`, `marks` and `loss_rate`.

    Spreads are over all samples of the window. The delay of a sample is backlog ÷ rate: the queueing delay of the next
    packet in a FIFO. The loss rate is dropped ÷ (dropped + sent) packets, as `time_series.loss` has it over time; None
    if the queue holds super-packets: Linux counts a dropped one as one packet and a sent one as its segments
    (net/sched: `qdisc_qstats_drop`, `bstats_update`).
    """
    entry = bottleneck(run)
    if entry is None:
        return {"packets": spread([]), "delay_ms": spread([]), "drops": None, "marks": None, "loss_rate": None}
    queues = run.table("queues")
    inside = rows_of_bottleneck(run) & during(queues.column("time_ns"), bounds_ns(run, window))
    columns = {"drops": "drops_packets", "marks": "marks_packets", "sent_packets": "sent_packets"}
    drops, marks, sent = (
        entry.get(name) if window is None else _counted(run, column, bounds_ns(run, window))
        for name, column in columns.items()
    )
    return {
        "packets": spread(known(queues.column("backlog_packets"), inside)),
        "delay_ms": spread(known(queues.column("delay_ns"), inside) / 1e6),
        "drops": drops,
        "marks": marks,
        "loss_rate": _loss_rate(run, drops, sent),
    }


@remembered
def ping_ms(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Spread of the round-trip time of all answered pings sent in the window."""
    return spread(_probes(run, where(run.table("probes"), "kind", "ping"), "rtt_ns", window) / 1e6)


def one_way_delay_p95_ms(run: Run, window: Window | None = None) -> float | None:
    """95th percentile of the probes' one-way delay in the data's direction (the delay of Pantheon, Yan et al. 2018).

    None without a common clock.
    """
    return spread(_probes(run, np.True_, "forward_ns", window) / 1e6)["p95"]


def utilization(run: Run, window: Window | None = None) -> float | None:
    """Bits that the bottleneck sent ÷ bits that it could have sent: 8 × sent bytes ÷ ∫ rate dt.

    Sent bytes are the qdisc's own counter, with link headers; the rate is the manifest's step function. None if the
    bottleneck has no rate during part of the window.
    """
    entry = bottleneck(run)
    if entry is None:
        return None
    bounds = bounds_ns(run, window)
    could_bits = _integral_bits(entry.get("rates") or [], bounds)
    sent_bytes = entry.get("sent_bytes")
    if window is not None:
        sent_bytes = _counted(run, "sent_bytes", bounds)
    if not could_bits or sent_bytes is None:
        return None
    return 8 * float(sent_bytes) / could_bits


def _loss_rate(run: Run, drops: int | None, sent: int | None) -> float | None:
    if drops is None or sent is None or drops + sent == 0 or _holds_super_packets(run):
        return None
    return drops / (drops + sent)


def _holds_super_packets(run: Run) -> bool:
    """True with offloads on the sender's own device, where packets are segmented after the queue."""
    experiment = run.manifest.get("experiment") or {}
    path, hosts = experiment.get("path") or {}, experiment.get("hosts")
    on_sender = run.manifest["engine"] == "host" and isinstance(hosts, dict) and not hosts.get("router")
    return bool(path.get("offloads") or path.get("tc") or on_sender)


def _probes(run: Run, which: Bools | np.bool_, column: str, window: Window | None) -> Floats:
    probes = run.table("probes")
    return known(probes.column(column), which & during(probes.column("sent_ns"), bounds_ns(run, window)))


def _counted(run: Run, column: str, bounds: Window) -> int | None:
    """The increase of a counter of the bottleneck's queue in a window."""
    times, values = run.table("queues").column("time_ns"), run.table("queues").column(column)
    rows = rows_of_bottleneck(run)
    for each in (times.known, values.known):
        rows = rows if each is None else rows & each
    if not rows.any():
        return None
    return round(Counter(times.values[rows], values.values[rows]).between(*bounds))


def _integral_bits(rates: Sequence[Sequence[float | None]], bounds: Window) -> float | None:
    """∫ rate dt of a step function [[time_s, bps], ...] between two times; None if it is undefined there."""
    from_s, to_s = bounds[0] / NS, bounds[1] / NS
    if not rates or (rates[0][0] or 0.0) > from_s:
        return None
    starts = [max(float(time or 0.0), from_s) for time, _ in rates]
    ends = [*starts[1:], to_s]
    bits = 0.0
    for (_, rate), start_s, end_s in zip(rates, starts, ends, strict=True):
        length_s = min(end_s, to_s) - start_s
        if length_s > 0:
            if rate is None:
                return None
            bits += rate * length_s
    return bits
