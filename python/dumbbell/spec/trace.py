"""Mahimahi's trace files: when a link may send a packet.

A line is a time in milliseconds at which one packet may leave; the file
repeats from its last time on (Netravali et al., "Mahimahi: Accurate Record-and-Replay for
HTTP", 2015; mm-link(1)). The rate of each step is the number of opportunities in it.
"""

import re
from collections import Counter

from dumbbell import limits
from dumbbell.errors import ExperimentError
from dumbbell.spec.units import Wrong

__all__ = ["OPPORTUNITY_BYTES", "read_trace", "trace_rates"]

OPPORTUNITY_BYTES = 1504
"""What Mahimahi counts for one opportunity: 1500 bytes of IP and 4 of its tunnel."""


def read_trace(content: bytes, file: str) -> list[int]:
    """Opportunities in milliseconds, in order; at least one. `content` was read from `file`.

    Raises `ExperimentError` naming the file and the line.
    """
    if (count := content.count(b"\n")) > limits.most("lines"):
        right = f"a part of it, {limits.raised('lines', count)}"
        raise ExperimentError(f"{count:,} lines, more than {limits.shown('lines')}", file=file, right=right)
    try:
        lines = content.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise ExperimentError(f"the trace can't be read: {error}", file=file) from error
    times: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not re.fullmatch(r"[0-9]{1,9}", text) or (times and int(text) < times[-1]):
            raise ExperimentError(
                "not a Mahimahi trace",
                file=file,
                key=f"line {number}",
                value=text,
                right="each line is a whole number of milliseconds, none smaller than the one before",
            )
        times.append(int(text))
    if not times or times[-1] == 0:
        raise ExperimentError("the trace is empty", file=file, right="it holds at least one time above 0")
    return times


def trace_rates(times_ms: list[int], step_ms: int, duration_ns: int) -> list[tuple[int, int]]:
    """The trace as steps: (time in ns, rate in bits per second), only where the rate changes.

    Raises `Wrong` for more steps than `limits` allows.

    A step without an opportunity gets the rate of one packet in ten steps: Linux's shapers have no rate of zero.
    """
    count = -(-duration_ns // (step_ms * 10**6))
    if count > limits.most("changes"):
        longer_ms = -(-duration_ns // (limits.most("changes") * 10**6))
        right = f'trace_step = "{longer_ms}ms" or a shorter duration, {limits.raised("changes", count)}'
        raise Wrong(f"{count:,} steps in this time, more than {limits.shown('changes')}", right)
    period_ms = times_ms[-1]
    steps = -(-period_ms // step_ms)
    sent = Counter(min(max(time - 1, 0) // step_ms, steps - 1) for time in times_ms)
    rates: list[tuple[int, int]] = []
    for number in range(count):
        packets = sent[number % steps] or 0.1
        rate = round(packets * OPPORTUNITY_BYTES * 8 * 1000 / step_ms)
        if not rates or rates[-1][1] != rate:
            rates.append((number * step_ms * 10**6, rate))
    return rates
