"""Delays of one direction from the other end's clock: TCP time stamps of arriving packets (RFC 7323).

The clocks differ by an unknown offset and drift, so only what exceeds the smallest delay is known.
"""

from dataclasses import dataclass

import numpy as np

from dumbbell.identification.connection import Floats

__all__ = ["Queueing", "queueing"]

RATES_HZ = (1.0, 10.0, 50.0, 100.0, 128.0, 200.0, 250.0, 300.0, 500.0, 512.0, 1000.0, 1024.0, 1e6)
"""Clocks of time stamps: 1 ms to 1 s (RFC 7323 section 5.4); Linux has 1000 Hz, on some routes 1 MHz."""
NEAR = 0.02
"""A clock's rate as measured is that of the list within this share."""
PARTS = 4
LEAST = 50


@dataclass(frozen=True)
class Queueing:
    """Delays beyond the smallest."""

    time: Floats
    delay_s: Floats
    tick_s: float
    """Resolution."""


def queueing(stamps: tuple[Floats, Floats]) -> Queueing | None:
    """The delays of packets with time stamps; None for too few or an irregular clock."""
    time, ticks = stamps
    if time.size < LEAST or time[-1] <= time[0] or ticks[-1] <= ticks[0]:
        return None
    measured = (ticks[-1] - ticks[0]) / (time[-1] - time[0])
    rate = min(RATES_HZ, key=lambda each: abs(np.log(each / measured)))
    if abs(rate / measured - 1) > NEAR:
        return None
    delay = time - ticks / rate
    # The clock's drift: the line under the smallest delays of the first and of the last part.
    edges = np.linspace(time[0], time[-1], PARTS + 1)
    first, last = delay[time <= edges[1]], delay[time >= edges[-2]]
    start, end = int(first.argmin()), int(time.size - last.size + last.argmin())
    slope = (delay[end] - delay[start]) / (time[end] - time[start])
    straight = delay - slope * (time - time[start])
    return Queueing(time, straight - straight.min(), 1 / rate)
