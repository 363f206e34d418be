"""pie and fq_pie: words to numbers (iproute2 `tc/q_pie.c`, `tc/q_fq_pie.c`; net/sched/sch_pie.c, sch_fq_pie.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, count, first, jiffies, micros, size, tick_ns
from dumbbell.spec.units import Wrong

__all__ = ["fq_pie", "pie"]

TARGET_US, UPDATE_US, ALPHA, BETA = 15_000, 15_000, 2, 20
LIMIT, FLOWS_LIMIT, FLOWS, ECN_PROBABILITY = 1_000, 10_240, 1_024, 10
MOST_GAIN, MOST_FLOWS, MOST_PER_CENT = 32, 65_536, 99
LEAST_QUANTUM, MOST_QUANTUM = 256, 1 << 20


def pie(options: Options, device: Device) -> dict[str, Any]:
    """One probability for all (RFC 8033)."""
    return {"kind": "pie"} | _pie(options, device, LIMIT)


def fq_pie(options: Options, device: Device) -> dict[str, Any]:
    """A probability a flow."""
    inner = _pie(options, device, FLOWS_LIMIT)
    quantum, flows = size(options, "quantum"), _given(options, "flows", FLOWS)
    if quantum > MOST_QUANTUM or flows > MOST_FLOWS:
        raise Wrong("fq_pie takes 1 to 65536 flows and a quantum up to 1048576")
    if count(options, "ecn_prob") > MOST_PER_CENT:
        raise Wrong("fq_pie's ecn_prob is a share below 100 %", "such as ecn_prob 10")
    return {
        "kind": "fq_pie",
        "limit": inner["limit"],
        "flows": flows,
        "quantum": max(quantum or min(device.mtu, MOST_QUANTUM), LEAST_QUANTUM),
        "ecn_prob": _given(options, "ecn_prob", ECN_PROBABILITY),
        "pie": inner,
    }


def _pie(options: Options, device: Device, limit: int) -> dict[str, Any]:
    for gain in ("alpha", "beta"):
        if count(options, gain) > MOST_GAIN:
            raise Wrong(f"pie's {gain} is above {MOST_GAIN}", "the kernel's unit is a sixteenth")
    return {
        "limit": _given(options, "limit", limit),
        "target": tick_ns(_time_us(options, "target", TARGET_US)),
        "tupdate": jiffies(_time_us(options, "tupdate", UPDATE_US)),
        "alpha": _given(options, "alpha", ALPHA),
        "beta": _given(options, "beta", BETA),
        "ecn": "ecn" in options and "noecn" not in options,
        "bytemode": "bytemode" in options and "nobytemode" not in options,
        "dq_rate_estimator": "dq_rate_estimator" in options and "no_dq_rate_estimator" not in options,
        "mtu": device.mtu,
    }


def _given(options: Options, option: str, default: int) -> int:
    """A number, or the kernel's own where tc sends none: it sends no zeros."""
    return count(options, option) or default


def _time_us(options: Options, option: str, default_us: int) -> int:
    word = first(options, option)
    return (micros(word) if word is not None else 0) or default_us
