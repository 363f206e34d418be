"""The simple disciplines: words to numbers, with the defaults of tc and Linux."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.numbers import Options, bytes_per_second, count, first, micros, size
from dumbbell.spec.units import Wrong

__all__ = ["Device", "bfifo", "codel", "fq_codel", "pfifo", "pfifo_fast", "pfifo_head_drop", "tbf"]

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
    seeds: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Where the random numbers of its netems begin, by handle."""
    queue_length: int = 1000
    """`txqueuelen`: a veth's is Linux's default."""

    @property
    def bare(self) -> "Device":
        """The same without seeds: all that the kinds of disciplines ask it for."""
        return Device(self.mtu, queue_length=self.queue_length)


def pfifo(options: Options, device: Device) -> dict[str, Any]:
    """Packets, first in, first out (net/sched/sch_fifo.c)."""
    return {"kind": "pfifo", "limit": count(options, "limit", default=device.queue_length)}


def pfifo_head_drop(options: Options, device: Device) -> dict[str, Any]:
    """The same, but the oldest dies for the newest."""
    return pfifo(options, device) | {"kind": "pfifo_head_drop"}


def pfifo_fast(_options: Options, device: Device) -> dict[str, Any]:
    """Three bands, each as long as the device's queue (net/sched/sch_generic.c)."""
    return {"kind": "pfifo_fast", "limit": device.queue_length}


def bfifo(options: Options, device: Device) -> dict[str, Any]:
    """Bytes, first in, first out."""
    return {"kind": "bfifo", "limit": size(options, "limit", default=device.queue_length * device.mtu)}


def tbf(options: Options, _device: Device) -> dict[str, Any]:
    """A token bucket; `latency` becomes a limit as `tc/q_tbf.c` computes it."""
    for option in ("mpu", "overhead"):
        if size(options, option):
            raise Lacks(f"the simulator's tbf has no '{option}'")
    rate, burst = bytes_per_second(first(options, "rate") or "1bit"), size(options, "burst", "buffer", "maxburst")
    if rate == 0 or burst == 0:
        raise Wrong("tbf needs 'rate' and 'burst'", "such as tbf rate 80mbit burst 1514 limit 225000")
    peak = _peak(options, rate)
    return {
        "kind": "tbf",
        "rate": rate,
        "burst": burst,
        "limit": _tbf_limit(options, rate, burst, peak),
        "peak": peak,
    }


def codel(options: Options, device: Device) -> dict[str, Any]:
    """CoDel (net/sched/sch_codel.c)."""
    return {"kind": "codel"} | _codel(options, device, CODEL_LIMIT, ecn=False)


def fq_codel(options: Options, device: Device) -> dict[str, Any]:
    """Fair queueing with CoDel (net/sched/sch_fq_codel.c)."""
    inner = _codel(options, device, FQ_CODEL_LIMIT, ecn=True)
    quantum, flows = size(options, "quantum"), count(options, "flows", default=FQ_CODEL_FLOWS)
    if quantum > FQ_CODEL_MOST_QUANTUM or not 0 < flows <= FQ_CODEL_MOST_FLOWS:
        raise Wrong("fq_codel takes 1 to 65536 flows and a quantum up to 1048576")
    return {
        "kind": "fq_codel",
        "limit": inner["limit"],
        "flows": flows,
        "quantum": max(quantum, FQ_CODEL_LEAST_QUANTUM) if quantum else device.mtu,
        "memory_limit": min(size(options, "memory_limit", default=FQ_CODEL_MEMORY), MOST_MEMORY),
        "drop_batch": max(count(options, "drop_batch", default=FQ_CODEL_BATCH), 1),
        "codel": inner | _selector(options),
    }


def _codel(options: Options, device: Device, limit: int, *, ecn: bool) -> dict[str, Any]:
    def time_ns(option: str, default_us: int) -> int:
        word = first(options, option)
        return 1000 * (micros(word) if word is not None else default_us)

    return {
        "limit": count(options, "limit", default=limit),
        "target": time_ns("target", CODEL_TARGET_US),
        "interval": time_ns("interval", CODEL_INTERVAL_US),
        "ecn": ("ecn" in options or ecn) and "noecn" not in options,
        "ce_threshold": time_ns("ce_threshold", 0) if "ce_threshold" in options else None,
        "mtu": device.mtu,
    }


def _selector(options: Options) -> dict[str, list[int]]:
    """Value and mask of the ECN and DSCP bits that `ce_threshold` marks; a mask of 0 is none."""
    word = first(options, "ce_threshold_selector")
    value, mask = (int(each, 16) for each in (word or "0/0").split("/"))
    return {"ce_selector": [value, mask]} if mask else {}


def _peak(options: Options, rate: int) -> list[int] | None:
    word, bucket = first(options, "peakrate"), size(options, "mtu", "minburst")
    if word is None:
        return None
    if bucket == 0:
        raise Wrong("tbf's 'peakrate' needs 'mtu'", "such as mtu 1540")
    peak = bytes_per_second(word)
    if peak <= rate:
        raise Wrong("tbf's peakrate is not above its rate")
    return [peak, bucket]


def _tbf_limit(options: Options, rate: int, burst: int, peak: list[int] | None) -> int:
    latency = first(options, "latency")
    if ("limit" in options) == (latency is not None):
        raise Wrong("tbf takes either 'limit' or 'latency'", "give one of them")
    if latency is None:
        return size(options, "limit")
    seconds = micros(latency) / 1e6
    buckets = [(rate, burst), *([peak] if peak else [])]
    return int(min(each * seconds + depth for each, depth in buckets))
