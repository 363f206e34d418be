"""prio and drr (iproute2 `tc/q_prio.c`, `tc/q_drr.c`; net/sched/sch_prio.c, sch_drr.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, count, size
from dumbbell.spec.units import Wrong

__all__ = ["drr", "drr_class", "prio"]

BANDS, LEAST_BANDS, MOST_BANDS = 3, 2, 16
PRIORITY_MAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""Band by priority; all of our packets have priority 0 (net/ipv4/route.c, `ip_tos2prio`, ignores ECN's bits)."""
LEAST_QUANTUM, MOST_QUANTUM = 256, 1 << 20


def prio(options: Options, device: Device) -> dict[str, Any]:
    """Strict priorities."""
    bands = count(options, "bands", default=BANDS)
    if not LEAST_BANDS <= bands <= MOST_BANDS:
        raise Wrong(f"prio has {LEAST_BANDS} to {MOST_BANDS} bands")
    written = [int(word) for word in options.get("priomap", ())]
    priorities = [*written, *PRIORITY_MAP[len(written) :]]
    if max(priorities) >= bands:
        raise Wrong(
            f"prio's priomap names band {max(priorities)} of {bands}", "bands are numbered from 0: give a priomap"
        )
    return {
        "kind": "prio",
        "bands": [None] * bands,
        "default": priorities[0],
        "rules": [],
        "band_limit": device.queue_length,
    }


def drr(_options: Options, device: Device) -> dict[str, Any]:
    """Deficit round robin, without classes."""
    return {"kind": "drr", "classes": [], "rules": [], "class_limit": device.queue_length}


def drr_class(minor: int, options: Options, device: Device) -> dict[str, Any]:
    """One class."""
    if "quantum" in options and not size(options, "quantum"):
        raise Wrong("a drr class with a quantum of zero")
    quantum = size(options, "quantum", default=device.mtu)
    return {"minor": minor, "quantum": min(max(quantum, LEAST_QUANTUM), MOST_QUANTUM), "leaf": None}
