"""red: tc asks for a few words and derives what the kernel wants (iproute2 `tc/q_red.c`, `tc/tc_red.c`)."""

import math
from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, bytes_per_second, count, size, ticks_for
from dumbbell.spec.units import Wrong

__all__ = ["CELLS", "KERNEL_BITS", "PROBABILITY", "damping", "red", "slope", "weight"]

PROBABILITY = 0.02
BANDWIDTH = 1_250_000
"""10 Mbit/s: what tc takes when no bandwidth is written."""
CELLS = 256
MOST_SHIFT = 31
KERNEL_BITS = 32


def red(options: Options, _device: Device) -> dict[str, Any]:
    """Every number that the kernel gets."""
    limit, average = size(options, "limit"), size(options, "avpkt")
    if not (limit and average):
        raise Wrong("red needs 'limit' and 'avpkt'", "such as red limit 400000 avpkt 1000")
    # Sally Floyd's recommendations: http://www.icir.org/floyd/REDparameters.txt
    least = size(options, "min")
    most = size(options, "max") or 3 * least or limit // 4
    least = least or most // 3
    burst = count(options, "burst") or (2 * least + most) // (3 * average)
    rate = bytes_per_second(options["bandwidth"][0]) if "bandwidth" in options else BANDWIDTH
    probability = float(options["probability"][0]) if "probability" in options else PROBABILITY
    wlog = weight(least, burst, average)
    if max(least.bit_length(), most.bit_length()) + wlog >= KERNEL_BITS:
        raise Wrong("red's thresholds are too large for its weight", "a smaller burst")
    if "nodrop" in options and "ecn" not in options:
        raise Wrong("red's nodrop needs ecn")
    cell_log, shifts = damping(wlog, average, rate)
    return {
        "kind": "red",
        "limit": limit,
        "min": least,
        "max": most,
        "wlog": wlog,
        "plog": slope(least, most, probability),
        "scell_log": cell_log,
        "idle_damping": shifts,
        # What does not fit 32 bits is 0 to the kernel, and then it takes the slope.
        "max_p": int(probability * 2**KERNEL_BITS) & 0xFFFFFFFF,
    } | {flag: flag in options for flag in ("ecn", "harddrop", "nodrop", "adaptive")}


def weight(least: int, burst: int, average: int, kind: str = "red") -> int:
    """The average's weight, as a logarithm, by which a burst passes (`tc_red_eval_ewma`)."""
    wanted = burst + 1 - least / average
    if wanted < 1:
        raise Wrong(f"{kind}'s burst of {burst} packets is too small", f"at least {int(least / average) + 1}")
    for wlog in range(1, KERNEL_BITS):
        share = 2.0**-wlog
        if wanted <= (1 - (1 - share) ** burst) / share:
            return wlog
    raise Wrong(f"{kind}'s weight can't be computed", "another burst")


def slope(least: int, most: int, probability: float, kind: str = "red") -> int:
    """The slope of the probability between the thresholds, as a logarithm (`tc_red_eval_P`)."""
    width = most - least
    if width == 0:
        return 0
    if width < 0:
        raise Wrong(f"{kind}'s min is above its max", "min below max")
    rise = probability / width
    for log in range(KERNEL_BITS):
        if rise > 1:
            return log
        rise *= 2
    raise Wrong(f"{kind}'s probability can't be computed", "a larger one")


def damping(wlog: int, average: int, rate: int, kind: str = "red") -> tuple[int, list[int]]:
    """How far the average is shifted after an idle time, by cells of 2^log (`tc_red_eval_idle_damping`).

    tc computes in ticks of 64 ns, the kernel looks up in microseconds; so does this.
    """
    ticks = ticks_for(average, rate) if rate else 0
    decay = -math.log(1 - 1 / (1 << wlog)) / ticks if ticks else math.inf
    longest = MOST_SHIFT / decay
    log = next((log for log in range(KERNEL_BITS) if longest / (1 << log) < CELLS * 2), None)
    if log is None:
        raise Wrong(f"{kind}'s idle damping can't be computed", "another bandwidth")
    shifts = [min(int((cell << log) * decay), MOST_SHIFT) if ticks else 0 for cell in range(1, CELLS - 1)]
    return log, [0, *shifts, MOST_SHIFT]
