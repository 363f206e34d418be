"""htb and its classes (iproute2 `tc/q_htb.c`, net/sched/sch_htb.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.numbers import Options, bytes_per_second, count, size
from dumbbell.spec.units import Wrong

__all__ = ["PSCHED_HZ", "RATE_TO_QUANTUM", "htb", "htb_class"]

RATE_TO_QUANTUM = 10
LEAST_QUANTUM, MOST_QUANTUM = 1_000, 200_000
LOWEST_PRIORITY = 7
CLASS_MTU = 1_600
"""What tc adds to a bucket whose size is not written."""
PSCHED_HZ = 10**9
"""By which tc sizes such a bucket (/proc/net/psched): 10⁹ where timers have a resolution of a nanosecond."""


def htb(options: Options, device: Device) -> dict[str, Any]:
    """The discipline, without classes; its `default` is written in hexadecimal."""
    return {
        "kind": "htb",
        "default": int(options["default"][0], 16) if "default" in options else 0,
        "classes": [],
        "filters": [],
        "direct_limit": count(options, "direct_qlen", default=device.queue_length),
    }


def htb_class(minor: int, parent: int, options: Options, rate_to_quantum: int) -> dict[str, Any]:
    """One class."""
    for option in ("mpu", "overhead"):
        if size(options, option):
            raise Lacks(f"the simulator's htb has no '{option}'")
    if "rate" not in options:
        raise Wrong("an htb class needs a rate", "such as htb rate 80mbit")
    rate = bytes_per_second(options["rate"][0])
    ceil = bytes_per_second(options["ceil"][0]) if "ceil" in options else rate
    if not (rate and ceil):
        raise Wrong("an htb class with a rate below a byte per second")
    mtu = size(options, "mtu", default=CLASS_MTU)
    return {
        "minor": minor,
        "parent": parent,
        "rate": rate,
        "ceil": ceil,
        "burst": size(options, "burst") or rate // PSCHED_HZ + mtu,
        "cburst": size(options, "cburst") or ceil // PSCHED_HZ + mtu,
        "quantum": size(options, "quantum") or min(max(rate // rate_to_quantum, LEAST_QUANTUM), MOST_QUANTUM),
        "prio": min(count(options, "prio"), LOWEST_PRIORITY),
        "leaf": None,
    }
