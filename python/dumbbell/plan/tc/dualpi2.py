"""dualpi2: words to numbers (iproute2 6.17 `tc/q_dualpi2.c`, net/sched/sch_dualpi2.c of Linux 6.17)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, count, first, micros
from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["dualpi2"]

LIMIT = 10_000
TARGET_US, UPDATE_US, STEP_US = 15_000, 16_000, 1_000
GAIN_UNIT = 256
"""tc's gains are in 1/256 Hz; these are 0.16 and 3.2 Hz."""
ALPHA, BETA = 41, 819
MOST_GAIN_HZ = (1 << 24) - 1
COUPLING, MOST_COUPLING = 2, 255
PROTECTION_PER_CENT = 10
TYPICAL_TO_MAX = 6
"""A typical round trip is this part of the longest one when only that is said."""
RTTS, GAINS = ("max_rtt", "typical_rtt"), ("target", "tupdate", "alpha", "beta")
MOST_MEMORY = (1 << 32) - 1


def dualpi2(options: Options, device: Device) -> dict[str, Any]:
    """Two coupled queues (RFC 9332)."""
    limit = count(options, "limit") or LIMIT
    coupling = count(options, "coupling_factor", default=COUPLING)
    if not 1 <= coupling <= MOST_COUPLING:
        raise Wrong("dualpi2's coupling_factor is from 1 to 255")
    return {
        "kind": "dualpi2",
        "limit": limit,
        # A packet is computed with twice its length (`get_memory_limit`).
        "memory_limit": count(options, "memlimit") or min(limit * 2 * device.mtu, MOST_MEMORY),
        "step": _step(first(options, "step_thresh")),
        "min_qlen_step": count(options, "min_qlen_step"),
        "coupling": coupling,
        "classic_protection": _per_cent(first(options, "classic_protection")),
        "drop_on_overload": _chosen(options, "drop_on_overload", "overflow"),
        "drop_enqueue": not _chosen(options, "drop_dequeue", "drop_enqueue"),
        "any_ect": not _chosen(options, "l4s_ect", "any_ect"),
        "split_gso": _chosen(options, "split_gso", "no_split_gso"),
        "mtu": device.mtu,
    } | _control(options)


def _control(options: Options) -> dict[str, int]:
    """Target, period and gains, as said or from round-trip times."""
    if any(word in options for word in RTTS):
        said = [word for word in GAINS if word in options]
        if said:
            raise Wrong(f"dualpi2 with both max_rtt and {said[0]}", "tc computes that from max_rtt: leave one out")
        return _from_round_trips(*(_time_us(options, word, 0) for word in RTTS))
    return {
        "target": _time_us(options, "target", TARGET_US) * 1_000,
        "tupdate": _time_us(options, "tupdate", UPDATE_US) * 1_000,
        "alpha": _gain(options, "alpha", ALPHA),
        "beta": _gain(options, "beta", BETA),
    }


def _from_round_trips(longest_us: int, typical_us: int) -> dict[str, int]:
    typical_us = typical_us or max(longest_us // TYPICAL_TO_MAX, 1)
    longest_us = longest_us or typical_us * TYPICAL_TO_MAX
    if typical_us > longest_us:
        raise Wrong("dualpi2's typical_rtt is longer than its max_rtt")
    update_us = max(typical_us if typical_us < longest_us / 3 else int(longest_us / 3), 1)
    alpha = int(update_us / longest_us / longest_us * 1e6 * 0.1 * GAIN_UNIT)
    beta = int(0.3 / longest_us * 1e6 * GAIN_UNIT)
    if alpha < 1 or beta < 1:
        raise Wrong("a max_rtt so long that dualpi2's gains become 0")
    return {"target": typical_us * 1_000, "tupdate": update_us * 1_000, "alpha": alpha, "beta": beta}


def _step(word: str | None) -> dict[str, int]:
    if word is None:
        return {"time": STEP_US * 1_000}
    kind, number = units.duration_or_packets(word)
    if number == 0:
        return {"time": STEP_US * 1_000}  # tc sends no zeros.
    return {"packets": number} if kind == "packets" else {"time": max(micros(word), 1) * 1_000}


def _time_us(options: Options, option: str, default_us: int) -> int:
    """A time, or the kernel's own where tc sends none: it sends no zeros."""
    word = first(options, option)
    return (micros(word) if word is not None else 0) or default_us


def _gain(options: Options, option: str, default: int) -> int:
    word = first(options, option)
    if word is None:
        return default
    gain = int(float(word) * GAIN_UNIT)
    if gain < 1 or float(word) > MOST_GAIN_HZ:
        raise Wrong(f"dualpi2's {option} is out of range", "the kernel takes 1/256 Hz and more")
    return gain


def _per_cent(word: str | None) -> int:
    return PROTECTION_PER_CENT if word is None else round(units.share(word) * 100)


def _chosen(options: Options, default: str, other: str) -> bool:
    """Of two words that exclude each other the last counts."""
    written = [word for word in options if word in (default, other)]
    return not written or written[-1] == default
