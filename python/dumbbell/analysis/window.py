"""Which part of a run is looked at, and when each flow lived.

Only times. What is counted between them is the rest of this room.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.result import Run

__all__ = ["NS", "Window", "bounds_ns", "clip_ns", "is_bulk", "life_ns", "long_lived", "seen_ns"]

NS = 1_000_000_000
"""Nanoseconds in a second."""

Window = tuple[int, int]
"""From and to, in nanoseconds since the experiment's start; both ends belong to it."""


def bounds_ns(run: Run, window: Window | None = None) -> Window:
    """The window that was asked for, cut to the run; the whole run without one.

    Raises `ValueError` when nothing is left of it.
    """
    end_ns = round(run.birth["duration_s"] * NS)
    if window is None:
        return 0, end_ns
    from_ns, to_ns = max(window[0], 0), min(window[1], end_ns)
    if from_ns >= to_ns:
        raise ValueError(f"the window {window[0]}..{window[1]} ns holds nothing of a run of {end_ns} ns")
    return from_ns, to_ns


def life_ns(run: Run, flow: Mapping[str, Any]) -> Window:
    """When a flow of the birth certificate lived; a flow without a stop lives to the run's end."""
    start_s, stop_s = flow.get("start_s"), flow.get("stop_s")
    stop_ns = bounds_ns(run)[1] if stop_s is None else round(stop_s * NS)
    return (0 if start_s is None else round(start_s * NS)), stop_ns


def clip_ns(run: Run, flow: Mapping[str, Any], window: Window | None = None) -> Window | None:
    """The part of a flow's life inside the window; None when it has no length."""
    from_ns, to_ns = bounds_ns(run, window)
    start_ns, stop_ns = life_ns(run, flow)
    start_ns, stop_ns = max(start_ns, from_ns), min(stop_ns, to_ns)
    return (start_ns, stop_ns) if start_ns < stop_ns else None


def seen_ns(run: Run, flow: Mapping[str, Any], window: Window | None = None) -> Window | None:
    """The same, but of a flow that a log sampled only once also the time of that sample."""
    from_ns, to_ns = bounds_ns(run, window)
    start_ns, stop_ns = life_ns(run, flow)
    if start_ns == stop_ns and from_ns <= start_ns <= to_ns:
        return start_ns, stop_ns
    return clip_ns(run, flow, window)


def is_bulk(flow: Mapping[str, Any]) -> bool:
    """Whether a flow sends as much as it can for as long as it lives: TCP, of no fixed size."""
    return flow.get("kind") != "udp" and flow.get("bytes_asked") is None


def long_lived(run: Run, window: Window | None = None) -> list[Mapping[str, Any]]:
    """The flows whose rates can be compared: TCP, of no fixed size, alive for at least half of the window.

    A sized flow ends when it is done, and a UDP flow sends what it was told to: neither says anything about sharing.
    """
    from_ns, to_ns = bounds_ns(run, window)
    flows = []
    for flow in run.birth["flows"]:
        part = clip_ns(run, flow, window)
        if is_bulk(flow) and part is not None and 2 * (part[1] - part[0]) >= to_ns - from_ns:
            flows.append(flow)
    return flows
