"""Numbers of one flow in which a recording and its replay are compared, taken from both by the same code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, log

import numpy as np
from scipy.special import stdtrit

from dumbbell.analysis.summary import summary
from dumbbell.identification.connection import Connection
from dumbbell.identification.facts import loss_run, queues_at_losses
from dumbbell.identification.round_trips import round_trips
from dumbbell.results.result import Run

__all__ = ["GATED", "Reading", "Readings", "half_interval", "misfit", "of_connection", "of_flow", "off"]

GATED = ("throughput_mbps", "rtt_ms", "rtt_p95_ms")
"""A model that misses one of these is wrong. The others only rank models: losses are a matter of chance."""
LIMIT = 0.03
"""Right models are within it, wrong ones are not (six paths, `docs/fit.md`)."""
CONFIDENCE = 0.95
"""Of the interval that holds one more seed."""
UNDECIDED = 1 / 3
"""Spread of RTT from which chance would explain any path, as with a loss rate known from a single loss."""
PARTS = 3
"""Parts of the recording whose throughput counts for the rank, so that what happens when matters."""
PART_LIMIT = 0.1
LEAST_LOSSES = 4
QUEUE_LIMIT = 0.1
"""Of the queue at losses, as a share of the longest: it tells a full queue's losses from RED's and from a link's."""
RUN_LIMIT = 0.4
"""Of the number of packets lost in a row, as a logarithm."""

Readings = Mapping[str, float]


@dataclass(frozen=True)
class Reading:
    """One number of a recording beside that of its replays."""

    name: str
    recorded: float
    replayed: float
    """Mean over the seeds."""
    spread: float
    """Largest deviation of a seed from the mean, as a share of the mean."""

    @property
    def difference(self) -> float:
        """Of the replay, as a share of the recorded value."""
        return self.replayed / self.recorded - 1 if self.recorded else 0.0

    @property
    def fits(self) -> bool:
        """Is the difference explained by 3 % or by chance?"""
        decides = not (self.name.startswith("rtt") and self.spread > UNDECIDED)
        return abs(self.difference) <= (max(LIMIT, self.spread) if decides else LIMIT)


def of_connection(flow: Connection, at_sender: bool) -> dict[str, float]:
    """Of a captured connection; a replay so starved that no round trip was measured has them at 0, far from any."""
    _, trips = round_trips(flow, at_sender)
    trips = trips if trips.size else np.zeros(1)
    edges = np.linspace(0, flow.duration_s, PARTS + 1)
    at = np.searchsorted(flow.ack_time, edges, side="right") - 1
    delivered = flow.acked[np.clip(at, 0, None)]
    seconds = flow.duration_s / PARTS
    at_losses = queues_at_losses(flow, at_sender)
    losses = (
        {"loss_queue": float(np.median(at_losses)), "loss_queue_low": float(np.quantile(at_losses, 0.1))}
        if at_losses.size >= LEAST_LOSSES
        else {}
    )
    parts = {f"part{n}": float(gain) * 8 / seconds / 1e6 for n, gain in enumerate(np.diff(delivered), 1)}
    return {
        "throughput_mbps": float(delivered[-1] - delivered[0]) * 8 / flow.duration_s / 1e6,
        "rtt_ms": 1e3 * float(trips.mean()),
        "rtt_p95_ms": 1e3 * float(np.quantile(trips, 0.95)),
        "retransmits": float(flow.retransmitted.sum()),
        "loss_run": loss_run(flow),
        **losses,
        **parts,
    }


def of_flow(run: Run, number: int = 0, since_s: float = 0.0) -> dict[str, float]:
    """Of a flow of a result or of an imported log from this time, without what it lacks."""
    window = (round(since_s * 1e9), round(float(run.manifest.duration_s) * 1e9)) if since_s else None
    flow = summary(run, window)["flows"][number]
    rtt = flow["rtt_ms"]
    found = {
        "throughput_mbps": flow["throughput_mbps"], "rtt_ms": rtt["mean"], "rtt_p95_ms": rtt["p95"],
        "retransmits": flow["retransmits"],
    }  # fmt: skip
    return {name: float(value) for name, value in found.items() if value is not None}


def off(recorded: Readings, replays: Sequence[Readings]) -> list[Reading]:
    """The numbers side by side."""
    found = []
    for name in (*GATED, "retransmits"):
        values = [replay[name] for replay in replays if name in replay]
        if name in recorded and values:
            mean = float(np.mean(values))
            spread = max(abs(value - mean) for value in values) / mean if mean else 0.0
            found.append(Reading(name, recorded[name], mean, spread))
    return found


def half_interval(values: Sequence[float]) -> float:
    """Half of Student's prediction interval for one more value; 0 of a single one."""
    count = len(values)
    if count < 2:
        return 0.0
    return float(stdtrit(count - 1, (1 + CONFIDENCE) / 2) * np.std(values, ddof=1) * (1 + 1 / count) ** 0.5)


def misfit(recorded: Readings, replay: Readings) -> float:
    """Distance in units of the limit; retransmissions count in units of their own chance, parts in a tenth."""
    square, count = 0.0, 0
    for name, value in recorded.items():
        other = replay.get(name)
        if other is None:
            continue
        if name == "retransmits":
            # Differences of counts: three times the standard deviation of each.
            each = (other - value) / (3 * hypot(1.0, (other + value) ** 0.5))
        elif name.startswith("loss_queue"):
            each = (other - value) / QUEUE_LIMIT
        else:
            limit = RUN_LIMIT if name == "loss_run" else PART_LIMIT if name.startswith("part") else LIMIT
            each = log(max(other, 1e-9) / max(value, 1e-9)) / limit
        square, count = square + min(each * each, 100.0), count + 1
    return (square / count) ** 0.5 if count else 0.0
