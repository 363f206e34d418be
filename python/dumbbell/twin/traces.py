"""Throughput and round trip time over time, of a recording and of its replay on a fitted path.

Both pass through the same code, in steps of the same length, so what a step hides is hidden from both.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from dumbbell.identification.connection import Connection, Floats
from dumbbell.identification.round_trips import round_trips
from dumbbell.results.result import Run
from dumbbell.twin.fit import Fit, Tried
from dumbbell.twin.recording import Recording
from dumbbell.twin.replay import in_parallel, replayed

__all__ = ["Pair", "Trace", "pairs_of", "trace_of"]

STEPS = 240
"""A point for three pixels of a figure."""
LEAST_ROUND_TRIPS = 2.0
"""Of a step: within one round trip a window is sent in bursts."""
SEED = 1
DELIVERED = ("bytes_received", "bytes_acked", "bytes_sent")


@dataclass(frozen=True)
class Trace:
    """Of one flow; a step without a sample is NaN."""

    at_s: Floats
    """The middle of each step."""
    throughput_mbps: Floats
    """Payload."""
    rtt_ms: Floats
    """Mean."""


@dataclass(frozen=True)
class Pair:
    """A recording beside its replay."""

    recording: Recording
    tried: Tried
    recorded: Trace
    replayed: Trace


def pairs_of(fit: Fit, jobs: int | None = None) -> list[Pair]:
    """Each recording and its replay on the nearest model, the accepted one if any is. Raises `EngineError`."""
    nearest = (fit.accepted or list(fit.tried))[:1]
    wanted = [(recording, tried) for tried in nearest for recording in fit.recordings]

    def pair(each: tuple[Recording, Tried]) -> Pair:
        recording, tried = each
        length = _step_s(recording)
        again = replayed(recording, tried.model.build(tried.values), SEED)
        return Pair(recording, tried, trace_of(recording, recording.source, length), trace_of(recording, again, length))

    return list(in_parallel(pair, wanted, jobs))


def trace_of(recording: Recording, source: Connection | tuple[Run, int, float], step_s: float) -> Trace:
    """The trace of a captured connection, or of a flow of a run from a time on, as long as the recording."""
    edges = np.arange(0.0, recording.duration_s + step_s / 2, step_s)
    if isinstance(source, Connection):
        known, trips = round_trips(source, recording.facts.at_sender)
        delivered = source.acked[np.clip(np.searchsorted(source.ack_time, edges, side="right") - 1, 0, None)]
    else:
        known, trips, delivered = _of_run(*source, edges)
    count, _ = np.histogram(known, edges)
    total, _ = np.histogram(known, edges, weights=trips)
    rtt = np.full(count.size, np.nan)
    np.divide(total, count, out=rtt, where=count > 0)
    return Trace((edges[:-1] + edges[1:]) / 2, np.diff(delivered) * 8 / step_s / 1e6, 1e3 * rtt)


def _of_run(run: Run, number: int, since_s: float, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Times and round trip times of the samples, and what was delivered at the edges."""
    name = run.manifest.flows[number]["name"]
    table = run.flows.filter(pl.col("flow") == name).sort("time_ns")
    time = table["time_ns"].to_numpy() / 1e9
    # A log's first sample is its time zero; a run's flow is looked at from `since_s` on.
    time = time - (since_s if since_s else float(time[0]))
    counter = next(each for each in DELIVERED if table[each].null_count() < table.height)
    bytes_ = table[counter].cast(pl.Float64).fill_null(strategy="forward").fill_null(0.0).to_numpy()
    rtt = table["rtt_ns"].cast(pl.Float64).fill_null(0.0).to_numpy() / 1e9
    known = (rtt > 0) & (time >= 0)
    return time[known], rtt[known], np.interp(edges, time, bytes_)


def _step_s(recording: Recording) -> float:
    base = recording.facts.rtt_s.value or 0.0
    least = max(LEAST_ROUND_TRIPS * base, recording.sample_s or 0.0)
    return max(recording.duration_s / STEPS, least)
