"""Where a capture was made, and its round trip times and losses: what `facts`, features and readings are made of."""

from dataclasses import dataclass

import numpy as np

from dumbbell.errors import ImportProblem
from dumbbell.identification.connection import Connection, Floats

__all__ = ["Ends", "ends_of", "least_s", "loss_events", "round_trips"]

LEAST_ROUNDS = 40
LEAST_S = 3.0
LEAST_SEGMENTS = 200


@dataclass(frozen=True)
class Ends:
    """The capture point."""

    at_sender: bool
    """Captured closer to the sender than to the receiver, by propagation delay."""
    position: float
    """Share of the round trip that lies ahead of the capture point."""
    rtt_s: float
    """Smallest round trip time."""


def ends_of(flow: Connection, file: str) -> Ends:
    """The capture point. Raises `ImportProblem` if the connection is too short or shows no round trip time."""
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
    return Ends(at_sender=ahead >= behind, position=ahead / rtt, rtt_s=rtt)


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


def _least(values: Floats) -> float | None:
    return float(values.min()) if values.size else None
