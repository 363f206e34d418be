"""The path as a capture shows it: propagation delay, bottleneck rate, buffer, random loss, share of other traffic.

Every number is an estimate from one flow's packets; `docs/identify.md` states when each is wrong.
"""

from dataclasses import dataclass

import numpy as np

from dumbbell.errors import ImportProblem
from dumbbell.identification.connection import Connection, Floats

__all__ = ["Path", "estimate", "least_s", "loss_events", "round_trips"]

LEAST_ROUNDS = 40
LEAST_S = 3.0
LEAST_SEGMENTS = 200
GROUP = 4
"""Segments of a rate sample: packets that queued behind each other leave a bottleneck at its rate."""
FAST = 0.9
"""Quantile of the rate samples that is the link's rate: a flow that fills the link at times has such samples."""
RANDOM = 0.3
"""Share of such losses from which the path is taken to lose packets at random."""
LEAST_USUAL = 0.1
"""Share of acknowledgements outside of recoveries that suffices for the rate."""
LOW_QUEUE = 0.5
"""A loss at a queue below this share of the longest is no overflow."""
LEAST_QUEUE = 0.15
"""Of the round trip time: a link behind a shorter queue is not busy for long."""
OTHERS = 0.15
"""Rate missing while the queue is busy, from which other traffic is assumed."""


@dataclass(frozen=True)
class Path:
    """What the candidates are run on."""

    at_sender: bool
    """Captured closer to the sender than to the receiver, by propagation delay."""
    position: float
    """Share of the round trip that lies ahead of the capture point."""
    rtt_s: float
    """Smallest round trip time."""
    rate_bps: float
    """Of the bottleneck, with headers."""
    buffer_bytes: float
    buffer_seen: bool
    """Did the flow fill it? Else the buffer is at least this large."""
    loss: float
    """Share of packets lost while the queue was short."""
    other_share: float
    """Share of the bottleneck that other traffic took while the queue was busy; 0 if it is small."""
    duration_s: float

    @property
    def disturbed(self) -> bool:
        """Do other traffic or random loss shape the connection?"""
        return self.other_share > 0 or self.loss > 0

    @property
    def bdp_bytes(self) -> float:
        """Rate times smallest round trip time."""
        return self.rate_bps * self.rtt_s / 8


def estimate(flow: Connection, file: str) -> Path:
    """Estimate the path. Raises `ImportProblem` if the connection is too short or shows no round trip time."""
    if flow.time.size < LEAST_SEGMENTS:
        raise ImportProblem(
            f"{flow.time.size} data segments are too few", file=file, value=flow.label,
            right=f"at least {LEAST_SEGMENTS}, better 10 s of a bulk transfer",
        )  # fmt: skip
    ahead, behind = _least(flow.ahead[1]), _least(flow.behind[1])
    if ahead is None:
        raise ImportProblem("no acknowledgements of its data", file=file, value=flow.label, right="both directions")
    if behind is None:
        raise ImportProblem(
            "no time stamps (RFC 7323) and no handshake, so the round trip time is unknown",
            file=file, value=flow.label, right="a capture from the connection's start",
        )  # fmt: skip
    rtt = ahead + behind
    if rtt <= 0:
        raise ImportProblem(
            "its acknowledgements come at once, so the round trip time is unknown", file=file, value=flow.label,
            right="a capture of a path with a delay",
        )  # fmt: skip
    needed = least_s(rtt)
    if flow.duration_s < needed:
        raise ImportProblem(
            f"{flow.duration_s:.3g} s are too short to say", file=file, value=flow.label,
            right=f"at least {needed:.3g} s with this round trip time ({1e3 * rtt:.3g} ms)",
        )  # fmt: skip
    _, trips = round_trips(flow, ahead >= behind)
    longest = float(np.quantile(trips, 0.995))
    rate, queue = link_rate(flow, longest), longest - rtt
    events = loss_events(flow, rtt)
    low = _losses_at_short_queue(flow, events, rtt, queue, at_sender=ahead >= behind)
    seen = events.size > 0 and low < 0.5
    random = low * events.size / flow.time.size if low >= RANDOM else 0.0
    bytes_seen = rate * queue / 8
    least = 3 * 1514.0
    buffer = max(bytes_seen, least) if seen else max(2 * bytes_seen, 4 * rate * rtt / 8, 20 * least)
    return Path(
        at_sender=ahead >= behind, position=ahead / rtt if rtt else 1.0, rtt_s=rtt, rate_bps=rate,
        buffer_bytes=buffer, buffer_seen=seen, loss=random,
        other_share=_others(flow, rate, rtt, queue, at_sender=ahead >= behind) if seen else 0.0,
        duration_s=flow.duration_s,
    )  # fmt: skip


def least_s(rtt_s: float) -> float:
    """The shortest connection that can be identified."""
    return max(LEAST_S, LEAST_ROUNDS * rtt_s)


def round_trips(flow: Connection, at_sender: bool) -> tuple[Floats, Floats]:
    """Round trip times of the whole path: when known, and how long."""
    near, far = (flow.behind, flow.ahead) if at_sender else (flow.ahead, flow.behind)
    return far[0], far[1] + (_least(near[1]) or 0.0)


def loss_events(flow: Connection, rtt: float) -> Floats:
    """When each group of retransmissions starts; those within two round trips are one group."""
    times = flow.time[flow.retransmitted]
    first = np.diff(times, prepend=-np.inf) > 2 * rtt
    events: Floats = times[first]
    return events


def link_rate(flow: Connection, longest_s: float) -> float:
    """Bit/s of the bottleneck with headers, from the spacing of what was acknowledged."""
    gain = np.diff(flow.acked, prepend=flow.acked[:1])
    times = flow.time[flow.retransmitted]
    # The acknowledgement of a retransmission covers what arrived before it too.
    last = np.concatenate([[-np.inf], times])[np.searchsorted(times, flow.ack_time)]
    usual = (gain <= 2.5 * flow.mss) & (flow.ack_time > last + 1.5 * longest_s)
    if usual.mean() < LEAST_USUAL:
        usual = gain <= 2.5 * flow.mss
    step = GROUP // 2
    total = np.cumsum(gain)
    gained, seconds = total[step:] - total[:-step], flow.ack_time[step:] - flow.ack_time[:-step]
    good = (gained >= 2 * flow.mss) & (seconds > 0) & usual[step:] & usual[step - 1 : -1]
    if not good.any():
        good = (gained > 0) & (seconds > 0)
    return float(np.quantile(gained[good] * 8 / seconds[good], FAST)) * flow.frame_ratio


def _least(values: Floats) -> float | None:
    return float(values.min()) if values.size else None


def _losses_at_short_queue(flow: Connection, events: Floats, rtt: float, queue: float, *, at_sender: bool) -> float:
    """Share of loss events before which the round trip time had not come near its largest."""
    if not events.size:
        return 0.0
    known, trips = round_trips(flow, at_sender)
    before = []
    for event in events:
        first, last = np.searchsorted(known, [event - 2.5 * rtt - queue, event])
        if last > first:
            before.append(trips[first:last].max() < rtt + LOW_QUEUE * queue)
    return float(np.mean(before)) if before else 0.0


def _others(flow: Connection, rate: float, rtt: float, queue: float, *, at_sender: bool) -> float:
    """Share of the link that the flow did not get while packets were queued."""
    known, trips = round_trips(flow, at_sender)
    edges = np.arange(0, flow.duration_s, max(2 * rtt, 0.1))
    at = np.clip(np.searchsorted(known, edges, side="right") - 1, 0, None)
    delivered = flow.acked[np.clip(np.searchsorted(flow.ack_time, edges, side="right") - 1, 0, None)]
    if queue < LEAST_QUEUE * rtt:
        return 0.0
    busy = np.minimum(trips[at][:-1], trips[at][1:]) > rtt + 0.25 * queue
    if busy.sum() < 5:
        return 0.0
    own = np.diff(delivered)[busy].sum() * 8 * flow.frame_ratio / (busy.sum() * (edges[1] - edges[0]))
    share = 1 - own / rate
    return float(share) if share > OTHERS else 0.0
