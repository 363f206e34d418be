"""Time windows of a run, and flow lifetimes.

The rest of this package counts within them.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.results.result import Run

__all__ = ["NS", "Window", "bounds_ns", "clip_ns", "is_bulk", "life_ns"]

NS = 1_000_000_000
"""Nanoseconds in a second."""

Window = tuple[int, int]
"""From and to, in nanoseconds since the experiment's start; both inclusive."""


def bounds_ns(run: Run, window: Window | None = None) -> Window:
    """The requested window cut to the run; the whole run without one.

    Raises `ValueError` if nothing is left of it.
    """
    end_ns = round(run.manifest["duration_s"] * NS)
    if window is None:
        return 0, end_ns
    from_ns, to_ns = max(window[0], 0), min(window[1], end_ns)
    if from_ns >= to_ns:
        raise ValueError(f"the window {window[0]}..{window[1]} ns is outside a run of {end_ns} ns")
    return from_ns, to_ns


def life_ns(run: Run, flow: Mapping[str, Any]) -> Window:
    """The lifetime of a flow of the manifest; a flow without a stop lives until the run's end."""
    start_s, stop_s = flow.get("start_s"), flow.get("stop_s")
    stop_ns = bounds_ns(run)[1] if stop_s is None else round(stop_s * NS)
    return (0 if start_s is None else round(start_s * NS)), stop_ns


def clip_ns(run: Run, flow: Mapping[str, Any], window: Window | None = None) -> Window | None:
    """The part of a flow's lifetime inside the window; None if it is empty."""
    from_ns, to_ns = bounds_ns(run, window)
    start_ns, stop_ns = life_ns(run, flow)
    start_ns, stop_ns = max(start_ns, from_ns), min(stop_ns, to_ns)
    return (start_ns, stop_ns) if start_ns < stop_ns else None


def is_bulk(flow: Mapping[str, Any]) -> bool:
    """Whether a flow sends as much as it can during its lifetime: TCP without a size limit."""
    return flow.get("kind") != "udp" and flow.get("bytes_asked") is None
