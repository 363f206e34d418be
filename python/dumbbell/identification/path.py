"""The path that candidates run on, from the facts of a capture: one drop-tail queue, random loss, other traffic.

`facts` has the estimates, which `dumbbell fit` uses too; here each becomes one number.
"""

from dataclasses import dataclass

import numpy as np

from dumbbell.identification.connection import Connection, Floats
from dumbbell.identification.facts import Facts

__all__ = ["Path", "path_of", "receive_buffer"]

GROUP = 4
"""Segments of a rate sample: packets that queued behind each other leave a bottleneck at its rate."""
FAST = 0.9
"""Quantile of the rate samples that is the link's rate where no rate is common."""
LEAST_USUAL = 0.1
"""Share of acknowledgements outside of recoveries that suffices for the rate."""
RANDOM = 0.3
"""Share of losses at a short queue from which the path is taken to lose packets at random."""
OTHERS = 0.15
"""Rate missing while the queue is busy, from which other traffic is assumed."""
LEAST_QUEUE = 0.15
"""Of the round trip time: a link behind a shorter queue is not busy for long."""
LEAST_BUFFER_BYTES = 3 * 1514.0


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
    others_start_s: float
    """When it began, if the flow's share fell then; 0 if not."""
    window_bytes: float
    """Receive window, if it limits the flow; 0 if it does not."""
    duration_s: float

    @property
    def disturbed(self) -> bool:
        """Do other traffic or random loss shape the connection?"""
        return self.other_share > 0 or self.loss > 0

    @property
    def bdp_bytes(self) -> float:
        """Rate times smallest round trip time."""
        return self.rate_bps * self.rtt_s / 8


def path_of(facts: Facts, flow: Connection) -> Path:
    """The path of a connection with these facts."""
    rtt, queue, loss = facts.rtt_s.value or 0.0, facts.queue_s.value or 0.0, facts.loss
    rate = facts.rate_bps.value or _usual_rate(flow, rtt + queue)
    events = facts.short_losses + facts.full_losses
    random = events > 0 and facts.short_losses >= RANDOM * events
    overflowed = facts.full_losses > facts.short_losses and facts.buffer_bytes.value is not None
    seen = rate * queue / 8
    bdp = rate * rtt / 8
    full = facts.buffer_bytes.value or 0.0
    buffer = max(full, LEAST_BUFFER_BYTES) if overflowed else max(2 * seen, 4 * bdp, 20 * LEAST_BUFFER_BYTES)
    missing = 1 - facts.share
    shared = overflowed and missing > OTHERS and queue >= LEAST_QUEUE * rtt
    return Path(
        at_sender=facts.at_sender, position=facts.position, rtt_s=rtt, rate_bps=rate,
        buffer_bytes=buffer, buffer_seen=overflowed,
        loss=(loss.value or 0.0) if random else 0.0,
        other_share=missing if shared else 0.0,
        others_start_s=(facts.others_start_s or 0.0) if shared else 0.0,
        window_bytes=facts.window_bytes.high or 0.0 if facts.window_bytes.value is not None else 0.0,
        duration_s=flow.duration_s,
    )  # fmt: skip


def receive_buffer(window_bytes: float) -> float:
    """SO_RCVBUF that gives this window.

    Linux doubles it; of that 162/256 is payload with packets of 1448 bytes, and one packet (2280 bytes) is reserved
    (`tcp_init_buffer_space`, `tcp_win_from_space`).
    """
    return (window_bytes * 256 / 162 + 2280) / 2


def _usual_rate(flow: Connection, longest_s: float) -> float:
    """Bit/s with headers where no rate is common: a high quantile of the spacing of what was acknowledged."""
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
    rates: Floats = gained[good] * 8 / seconds[good]
    return float(np.quantile(rates, FAST)) * flow.frame_ratio
