"""cake: words to numbers (iproute2 `tc/q_cake.c`, net/sched/sch_cake.c).

All packets here have DSCP 0, so of the tins that a word such as `diffserv8` makes the simulator has one: the one that
these packets go to.
"""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.numbers import Options, bytes_per_second, last, micros, size
from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["cake"]

PRESETS_US = {
    "datacentre": (100, 5),
    "lan": (1_000, 50),
    "metro": (10_000, 500),
    "regional": (30_000, 1_500),
    "internet": (100_000, 5_000),
    "oceanic": (300_000, 15_000),
    "satellite": (1_000_000, 50_000),
    "interplanetary": (1_000_000_000, 50_000_000),
}
"""Interval and target."""
ISOLATIONS = (
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
)
FILTERS = {"no-ack-filter": "none", "ack-filter": "filter", "ack-filter-aggressive": "aggressive"}
LEAST_OVERHEAD, MOST_OVERHEAD = -64, 256
REFUSED = {
    "autorate-ingress": "its shaper would follow an estimate",
    "fwmark": "its tins would follow marks",
}


def cake(options: Options, device: Device) -> dict[str, Any]:
    """Every setting; of words that exclude each other the last counts, as with tc."""
    for option, why in REFUSED.items():
        if option in options:
            raise Lacks(f"the simulator's cake has no '{option}': {why}", "leave it out")
    if "nat" in options:
        raise Wrong("cake's 'nat' needs a kernel that tracks connections", "leave it out: there is no NAT here")
    rate = _rate(options)
    interval, target = _times(options)
    return {
        "kind": "cake",
        "rate": rate,
        "tin_rate": _tin_rate(options, rate),
        "target": 1000 * target,
        "interval": 1000 * interval,
        "isolation": last(options, ISOLATIONS, "triple-isolate").replace("-", "_"),
        "ack_filter": FILTERS[last(options, FILTERS, "no-ack-filter")],
        "link": _link(options),
        "memory_limit": size(options, "memlimit") or None,
        "split_gso": last(options, ("split-gso", "no-split-gso"), "split-gso") == "split-gso",
        "ingress": last(options, ("ingress", "egress"), "egress") == "ingress",
        "mtu": device.mtu,
    }


def _rate(options: Options) -> int | None:
    """Bytes a second; None without a limit."""
    word = last(options, ("bandwidth", "unlimited"), "unlimited")
    return bytes_per_second(options["bandwidth"][0]) or None if word == "bandwidth" else None


def _tin_rate(options: Options, rate: int | None) -> int | None:
    """DSCP 0 goes to the tin with the whole rate, but of eight tins by DiffServ to the third."""
    tins = last(options, ("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"), "diffserv3")
    if rate is None or tins != "diffserv8":
        return rate
    for _ in range(2):
        rate = rate * 7 >> 3
    return rate


def _times(options: Options) -> tuple[int, int]:
    """Interval and target in microseconds; a round trip that is written has a target of a twentieth."""
    presets = [option for option in options if option in PRESETS_US]
    if len(presets) > 1:
        raise Wrong(f"cake takes one of {presets[0]} and {presets[1]}", "give one of them")
    word = last(options, ("rtt", *PRESETS_US), "internet")
    if word != "rtt":
        return PRESETS_US[word]
    interval = micros(options["rtt"][0])
    return max(interval, 1), max(interval // 20, 1)


def _link(options: Options) -> dict[str, Any]:
    """Overhead, least size and framing: words add up in the order in which they stand."""
    overhead, raw, least, framing = 0, True, 0, "plain"
    above_raw = "raw" in options
    for option, words in options.items():
        if option == "overhead":
            overhead, raw = _bounded(words[0], "overhead", LEAST_OVERHEAD, MOST_OVERHEAD), above_raw
        elif option == "mpu":
            least = _bounded(words[0], "mpu", 0, MOST_OVERHEAD)
        elif option == "ethernet":
            overhead, raw, least = overhead + 38, above_raw, 84
        elif option == "conservative":
            overhead, raw, framing = 48, above_raw, "atm"
        elif option == "raw":
            overhead, framing = 0, "plain"
        elif option in ("atm", "ptm", "noatm"):
            framing = "plain" if option == "noatm" else option
    return {"overhead": overhead, "raw": raw, "least": least, "framing": framing}


def _bounded(word: str, name: str, least: int, most: int) -> int:
    number = units.count(word)
    if not least <= number <= most:
        raise Wrong(f"cake's {name} of {number} is out of range", f"{least} to {most}")
    return number
