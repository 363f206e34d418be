"""The simple disciplines: words to numbers, with the defaults of tc and Linux."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.plan.tc.numbers import bytes_per_second, micros
from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["Device", "Options", "bfifo", "codel", "fq_codel", "pfifo", "tbf"]

Options = Mapping[str, tuple[str, ...]]
"""What was written: each option with its arguments."""

CODEL_TARGET_US, CODEL_INTERVAL_US = 5_000, 100_000
CODEL_LIMIT, FQ_CODEL_LIMIT = 1_000, 10_240
FQ_CODEL_FLOWS, FQ_CODEL_MEMORY, FQ_CODEL_BATCH = 1_024, 32 << 20, 64
FQ_CODEL_LEAST_QUANTUM, FQ_CODEL_MOST_QUANTUM, FQ_CODEL_MOST_FLOWS = 256, 1 << 20, 65_536
MOST_MEMORY = 1 << 31


@dataclass(frozen=True)
class Device:
    """What a discipline asks the device that it stands on."""

    mtu: int
    """With the Ethernet header (`psched_mtu`)."""
    queue_length: int = 1000
    """`txqueuelen`: a veth's is Linux's default."""


def pfifo(options: Options, device: Device) -> dict[str, Any]:
    """Packets, first in, first out (net/sched/sch_fifo.c)."""
    return {"kind": "pfifo", "limit": units.count(_first(options, "limit") or device.queue_length)}


def bfifo(options: Options, device: Device) -> dict[str, Any]:
    """Bytes, first in, first out."""
    limit = _first(options, "limit")
    return {
        "kind": "bfifo",
        "limit": units.tc_size_bytes(limit) if limit is not None else device.queue_length * device.mtu,
    }


def tbf(options: Options, _device: Device) -> dict[str, Any]:
    """A token bucket; `latency` becomes a limit as `tc/q_tbf.c` reckons it."""
    for option in ("mpu", "overhead"):
        if units.tc_size_bytes(_first(options, option) or 0):
            raise Wrong(f"the simulator's tbf has no '{option}'")
    rate, burst = _first(options, "rate"), _first(options, "burst", "buffer", "maxburst")
    if rate is None or burst is None:
        raise Wrong("tbf needs 'rate' and 'burst'", "such as tbf rate 80mbit burst 1514 limit 225000")
    rate_bytes, bucket = bytes_per_second(rate), units.tc_size_bytes(burst)
    if rate_bytes == 0 or bucket == 0:
        raise Wrong("a tbf without rate or burst", "at least 8bit and 1 byte")
    peak = _peak(options, rate_bytes)
    return {
        "kind": "tbf",
        "rate": rate_bytes,
        "burst": bucket,
        "limit": _tbf_limit(options, rate_bytes, bucket, peak),
        "peak": peak,
    }


def codel(options: Options, device: Device) -> dict[str, Any]:
    """CoDel (net/sched/sch_codel.c)."""
    return {"kind": "codel"} | _codel(options, device, CODEL_LIMIT, ecn=False)


def fq_codel(options: Options, device: Device) -> dict[str, Any]:
    """Fair queueing with CoDel (net/sched/sch_fq_codel.c)."""
    inner = _codel(options, device, FQ_CODEL_LIMIT, ecn=True)
    quantum = units.tc_size_bytes(_first(options, "quantum") or 0)
    flows = units.count(_first(options, "flows") or FQ_CODEL_FLOWS)
    memory = _first(options, "memory_limit")
    if quantum > FQ_CODEL_MOST_QUANTUM or not 0 < flows <= FQ_CODEL_MOST_FLOWS:
        raise Wrong("fq_codel takes 1 to 65536 flows and a quantum up to 1048576")
    return {
        "kind": "fq_codel",
        "limit": inner["limit"],
        "flows": flows,
        "quantum": max(quantum, FQ_CODEL_LEAST_QUANTUM) if quantum else device.mtu,
        "memory_limit": min(units.tc_size_bytes(memory), MOST_MEMORY) if memory is not None else FQ_CODEL_MEMORY,
        "drop_batch": max(units.count(_first(options, "drop_batch") or FQ_CODEL_BATCH), 1),
        "codel": inner,
    }


def _codel(options: Options, device: Device, limit: int, *, ecn: bool) -> dict[str, Any]:
    def time_ns(option: str, default_us: int) -> int:
        word = _first(options, option)
        return 1000 * (micros(word) if word is not None else default_us)

    return {
        "limit": units.count(_first(options, "limit") or limit),
        "target": time_ns("target", CODEL_TARGET_US),
        "interval": time_ns("interval", CODEL_INTERVAL_US),
        "ecn": ("ecn" in options or ecn) and "noecn" not in options,
        "ce_threshold": time_ns("ce_threshold", 0) if "ce_threshold" in options else None,
        "mtu": device.mtu,
    }


def _peak(options: Options, rate: int) -> list[int] | None:
    word, size = _first(options, "peakrate"), _first(options, "mtu", "minburst")
    if word is None:
        return None
    if size is None:
        raise Wrong("tbf's 'peakrate' needs 'mtu'", "such as mtu 1540")
    peak = bytes_per_second(word)
    if peak <= rate:
        raise Wrong("tbf's peakrate is not above its rate", "the kernel refuses that too")
    return [peak, units.tc_size_bytes(size)]


def _tbf_limit(options: Options, rate: int, burst: int, peak: list[int] | None) -> int:
    limit, latency = _first(options, "limit"), _first(options, "latency")
    if (limit is None) == (latency is None):
        raise Wrong("tbf takes either 'limit' or 'latency'", "give one of them")
    if latency is None:
        return units.tc_size_bytes(limit)
    seconds = micros(latency) / 1e6
    return int(min(rate * seconds + size for rate, size in [(rate, burst), *([peak] if peak else [])]))


def _first(options: Options, *names: str) -> str | None:
    return next((options[name][0] for name in names if name in options), None)
