"""choke and sfq: disciplines with a red inside (iproute2 `tc/q_choke.c`, `q_sfq.c`; Linux net/sched/sch_*.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, bytes_per_second, count, size
from dumbbell.plan.tc.red import CELLS, KERNEL_BITS, PROBABILITY, damping, slope, weight
from dumbbell.spec.units import Wrong

__all__ = ["choke", "sfq"]

AVERAGE_PACKET = 1_000
CHOKE_MOST = 128 * 1024 - 1
SFQ_LIMIT, SFQ_DEPTH, SFQ_FLOWS, SFQ_DIVISOR = 127, 127, 128, 1_024
SFQ_MOST_FLOWS, SFQ_MOST_DIVISOR, SFQ_LEAST_LIMIT = 0x10000 - SFQ_DEPTH - 1, 65_536, 2
LEAST_QUANTUM, MOST_QUANTUM = 256, 1 << 20
HZ, MOST_PERTURB = 250, (2**31 - 1) // 250
RED_WORDS = ("redflowlimit", "min", "max", "avpkt", "burst", "probability", "ecn", "harddrop")


def choke(options: Options, _device: Device) -> dict[str, Any]:
    """A red in packets."""
    limit = count(options, "limit")
    if not limit or "bandwidth" not in options:
        raise Wrong("choke needs 'limit' and 'bandwidth'", "such as choke limit 200 bandwidth 20mbit")
    if limit > CHOKE_MOST:
        raise Wrong(f"choke holds at most {CHOKE_MOST} packets", "a smaller limit")
    least, most = _thresholds("choke", options, limit)
    average = size(options, "avpkt", default=AVERAGE_PACKET)
    burst = count(options, "burst") or (2 * least + most) // 3
    wlog = weight(least * average, burst, average, "choke")
    cell_log, shifts = damping(wlog, average, bytes_per_second(options["bandwidth"][0]), "choke")
    numbers = _numbers(options, least, most, wlog) | {
        "plog": slope(least * average, most * average, _probability(options), "choke"),
        "scell_log": cell_log,
        "idle_damping": shifts,
    }
    return {"kind": "choke", "limit": limit, "red": numbers}


def sfq(options: Options, device: Device) -> dict[str, Any]:
    """Queues by flow; any of red's words gives each of them a red."""
    limit, divisor, perturb = count(options, "limit"), count(options, "divisor"), count(options, "perturb")
    quantum = size(options, "quantum")
    if "limit" in options and limit < SFQ_LEAST_LIMIT:
        raise Wrong("sfq's limit is below 2 packets")
    if divisor & (divisor - 1) or divisor > SFQ_MOST_DIVISOR:
        raise Wrong("sfq's divisor is no power of two up to 65536")
    if quantum > MOST_QUANTUM or perturb > MOST_PERTURB:
        raise Wrong("sfq's quantum or perturb is too large", f"at most {MOST_QUANTUM} bytes, {MOST_PERTURB} seconds")
    depth = min(count(options, "depth") or SFQ_DEPTH, SFQ_DEPTH)
    flows = min(count(options, "flows") or SFQ_FLOWS, SFQ_MOST_FLOWS, divisor or SFQ_MOST_FLOWS)
    limit = min(limit, depth * flows)
    if limit == 1:
        raise Wrong("sfq's depth and flows leave room for one packet")
    return {
        "kind": "sfq",
        "limit": limit or SFQ_LIMIT,
        "depth": depth,
        "flows": min(flows, limit or flows),
        "divisor": divisor or SFQ_DIVISOR,
        "quantum": max(quantum or device.mtu, LEAST_QUANTUM),
        "perturb": perturb,
        "headdrop": "headdrop" in options,
        "red": _sfq_red(options) if any(word in options for word in RED_WORDS) else None,
    }


def _sfq_red(options: Options) -> dict[str, Any] | None:
    limit = count(options, "redflowlimit")
    if not limit:
        raise Wrong("sfq's red needs 'redflowlimit'", "such as redflowlimit 100000")
    least, most = _thresholds("sfq", options, limit)
    if not least:
        return None  # The kernel then has no red.
    average = size(options, "avpkt", default=AVERAGE_PACKET)
    burst = count(options, "burst") or (2 * least + most) // (3 * average)
    wlog = weight(least, burst, average, "sfq")
    return _numbers(options, least, most, wlog) | {
        "plog": slope(least, most, _probability(options), "sfq"),
        "scell_log": 0,
        "idle_damping": [0] * CELLS,
    }


def _thresholds(kind: str, options: Options, limit: int) -> tuple[int, int]:
    most = count(options, "max") or limit // 4
    least = count(options, "min") or most // 3
    if most > limit:
        raise Wrong(f"{kind}'s max is above its limit", "a smaller max")
    if least >= most:
        raise Wrong(f"{kind}'s min is not below its max", "a smaller min")
    return least, most


def _probability(options: Options) -> float:
    return float(options["probability"][0]) if "probability" in options else PROBABILITY


def _numbers(options: Options, least: int, most: int, wlog: int) -> dict[str, Any]:
    """What the kernel's red gets; it has no queue of its own here."""
    return {
        "limit": 0,
        "min": least,
        "max": most,
        "wlog": wlog,
        "max_p": int(_probability(options) * 2**KERNEL_BITS) & 0xFFFFFFFF,
        "ecn": "ecn" in options,
        "harddrop": "harddrop" in options,
    }
