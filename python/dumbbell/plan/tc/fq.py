"""fq: words to numbers (iproute2 `tc/q_fq.c`, net/sched/sch_fq.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import MOST, Options, bytes_per_second, count, last, micros, size
from dumbbell.spec.units import Wrong

__all__ = ["fq"]

LIMIT, FLOW_LIMIT = 10_000, 100
LEAST_QUANTUM, MOST_QUANTUM = 256, 1 << 20
REFILL_DELAY_US, TIMER_SLACK_NS, HORIZON_US = 40_000, 10_000, 10_000_000
LOW_RATE_THRESHOLD = 550_000 // 8
ORPHAN_MASK = 1023
MOST_BUCKETS = 1 << 18


def fq(options: Options, device: Device) -> dict[str, Any]:
    """Fair queueing with pacing; `buckets` is taken and changes nothing that can be seen."""
    quantum = size(options, "quantum", default=2 * device.mtu)
    initial = size(options, "initial_quantum", default=min(10 * device.mtu, MOST_QUANTUM))
    buckets = count(options, "buckets", default=1024)
    if initial > MOST_QUANTUM:
        raise Wrong(f"fq's initial_quantum is above {MOST_QUANTUM}")
    if not 2 <= buckets <= MOST_BUCKETS:
        raise Wrong(f"fq takes 2 to {MOST_BUCKETS} buckets")
    return {
        "kind": "fq",
        "limit": count(options, "limit", default=LIMIT),
        "flow_limit": count(options, "flow_limit", default=FLOW_LIMIT),
        "quantum": min(max(quantum, LEAST_QUANTUM), MOST_QUANTUM),
        "initial_quantum": initial,
        "pacing": last(options, ("pacing", "nopacing"), "pacing") == "pacing",
        "max_rate": _max_rate(options),
        "refill_delay": 1000 * _micros(options, "refill_delay", REFILL_DELAY_US),
        "low_rate_threshold": bytes_per_second(options["low_rate_threshold"][0])
        if "low_rate_threshold" in options
        else LOW_RATE_THRESHOLD,
        "orphan_mask": count(options, "orphan_mask", default=ORPHAN_MASK),
        "ce_threshold": 1000 * _micros(options, "ce_threshold", 0) if "ce_threshold" in options else None,
        # tc takes the word as a time and hands the kernel nanoseconds.
        "timer_slack": TIMER_SLACK_NS if "timer_slack" not in options else 1000 * micros(options["timer_slack"][0]),
        "horizon": 1000 * _micros(options, "horizon", HORIZON_US),
        "horizon_drop": last(options, ("horizon_cap", "horizon_drop"), "horizon_drop") == "horizon_drop",
    }


def _micros(options: Options, name: str, default: int) -> int:
    return micros(options[name][0]) if name in options else default


def _max_rate(options: Options) -> int | None:
    """Bytes a second; all bits set are no limit to the kernel."""
    if "maxrate" not in options:
        return None
    rate = bytes_per_second(options["maxrate"][0])
    if rate > MOST:
        raise Wrong("fq's maxrate does not fit 32 bits", "at most 34.3gbit")
    return rate if rate < MOST else None
