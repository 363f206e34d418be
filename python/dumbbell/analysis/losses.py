"""Losses by flow and by group, over time and over a cycle.

Retransmissions count what a sender believes lost, when it retransmits; losses count what never arrived. `time_series`
has the loss of each queue (`loss`) and retransmit rates by flow (`retransmit_rate`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from dumbbell.analysis.native import NS, Cycle, Window, bounds_ns
from dumbbell.analysis.time_series import (
    NAMELESS,
    NOTHING,
    Counter,
    Floats,
    Ints,
    alive,
    bytes_counters,
    counters,
    differences,
    edges_ns,
    frame,
    names,
    ratio,
)
from dumbbell.results.result import Run

__all__ = ["flow_loss", "group_loss", "over_cycle"]

RATES = ("lost_packets", "loss_rate", "retransmit_packets", "retransmit_rate")


def flow_loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """Lost and retransmitted ÷ sent data segments of each flow, in every bin: `time_ns, flow, group` and `RATES`.

    Lost by a time = data segments sent (`tcpi_data_segs_out`) + the SYN − delivered (`tcpi_delivered`, which counts it)
    − still in the network (the pipe of RFC 6675: unacked − sacked − lost + retransmitted). It is exact except for what
    the sender does not know yet, at most a round trip old. Retransmitted as in `time_series.retransmit_rate`. A rate is
    null in bins in which nothing was sent; flows whose socket reports none of it (UDP, imports) have no rows.
    """
    edges = edges_ns(run, step_ns, window)
    loss_counters = _loss_counters(run)
    frames = [frame(edges[:0], NAMELESS, dict.fromkeys(RATES, NOTHING))]
    for flow in run.manifest["flows"]:
        if flow["name"] in loss_counters:
            table = frame(edges, names(flow), _rates([loss_counters[flow["name"]]], edges))
            frames.append(table.filter(alive(run, flow, edges)))
    return pl.concat(frames)


def group_loss(run: Run, step_ns: int, window: Window | None = None) -> pl.DataFrame:
    """The same for all flows of a group together: `time_ns, group` and `RATES`; sums divided by sums."""
    edges = edges_ns(run, step_ns, window)
    frames = [frame(edges[:0], {"group": ""}, dict.fromkeys(RATES, NOTHING))]
    frames += [
        frame(edges, {"group": group}, _rates(loss_counters, edges)) for group, loss_counters in _by_group(run).items()
    ]
    return pl.concat(frames)


def over_cycle(run: Run, found: Cycle, bins: int = 20, window: Window | None = None) -> pl.DataFrame:
    """Goodput, loss and retransmissions of each group over one cycle, one row per phase bin and group.

    Columns `phase, group, throughput_bps, loss_rate, retransmit_rate`. Epoch folding (Leahy et al. 1983): counts in the
    same `bins`-th part of every whole period, sums divided by sums; `phase` is the part's centre, 0 to 1. Phase 0 is
    where the group with the most goodput starts to lead, by the fundamental of the difference. Jitter and missing
    periods smear it, so it is the more precise the higher `found.strength` is.
    """
    from_ns, to_ns = bounds_ns(run, window)
    period_ns = found.period_s * NS
    periods = int((to_ns - from_ns) / period_ns)
    if periods < 1:
        raise ValueError(f"a window of {(to_ns - from_ns) / NS:g} s contains no whole period of {found.period_s:g} s")
    edges = np.round(from_ns + np.arange(periods * bins + 1) * period_ns / bins).astype(np.int64)

    def folded(counter: Counter) -> Floats:
        return np.asarray(differences(counter, edges).reshape(periods, bins).sum(axis=0))

    received = bytes_counters(run)
    folds = {
        group: (
            np.sum([folded(received[name]) for name in flows if received[name]], axis=0) + np.zeros(bins),
            [
                [folded(loss_counters.lost), folded(loss_counters.retransmitted), folded(loss_counters.sent)]
                for loss_counters in _by_group(run).get(group, [])
            ],
        )
        for group, flows in _members(run).items()
    }
    first = _begins([got for got, _ in folds.values()])
    phase = (np.arange(bins) + 0.5) / bins
    frames = []
    for group, (got, parts) in folds.items():
        lost, retransmitted, sent = np.sum(parts, axis=0) if parts else np.zeros((3, bins))
        columns = (8 * NS * got / (periods * period_ns / bins), ratio(lost, sent), ratio(retransmitted, sent))
        rolled = dict(
            zip(("throughput_bps", "loss_rate", "retransmit_rate"), (np.roll(c, -first) for c in columns), strict=True)
        )
        frames.append(pl.DataFrame({"phase": phase, "group": [group] * bins, **rolled}, nan_to_null=True))
    return pl.concat(frames)


@dataclass(frozen=True)
class _LossCounters:
    """Three counters of one sender's socket."""

    lost: Counter
    retransmitted: Counter
    sent: Counter


def _loss_counters(run: Run) -> dict[str, _LossCounters]:
    sent, delivered = pl.col("data_segs_out").cast(pl.Int64), pl.col("delivered_packets").cast(pl.Int64)
    lost = (sent + 1 - delivered - pl.col("inflight_packets").cast(pl.Int64)).alias("_lost")
    lost_by = counters(replace(run, flows=run.flows.with_columns(lost)), "_lost")
    retransmitted_by = counters(run, "retrans_packets", "retransmits")
    sent_by = counters(run, "data_segs_out", "data_segs_out")
    return {
        name: _LossCounters(lost, retransmitted_by[name], sent_by[name])
        for name, lost in lost_by.items()
        if lost and retransmitted_by[name] and sent_by[name]
    }


def _by_group(run: Run) -> dict[str, list[_LossCounters]]:
    loss_counters = _loss_counters(run)
    groups = {
        group: [loss_counters[name] for name in flows if name in loss_counters]
        for group, flows in _members(run).items()
    }
    return {group: known for group, known in groups.items() if known}


def _members(run: Run) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for flow in run.manifest["flows"]:
        groups.setdefault(flow["group"], []).append(flow["name"])
    return groups


def _rates(loss_counters: list[_LossCounters], edges: Ints) -> Mapping[str, Floats]:
    lost, retransmitted, sent = (
        np.sum([differences(getattr(one, counter), edges) for one in loss_counters], axis=0)
        for counter in ("lost", "retransmitted", "sent")
    )
    return dict(zip(RATES, (lost, ratio(lost, sent), retransmitted, ratio(retransmitted, sent)), strict=True))


def _begins(folds: list[Floats]) -> int:
    """The bin in which the largest fold starts to lead, by the fundamental of the difference to the next."""
    largest = sorted(folds, key=lambda fold: -float(fold.sum()))[:2]
    difference = largest[0] - (largest[1] if len(largest) > 1 else 0.0)
    bins = difference.size
    peak = -np.angle(np.fft.rfft(difference)[1]) / (2 * np.pi) * bins  # In bins, the maximum of the fundamental.
    return int(round(float(peak) - bins / 4) % bins)
