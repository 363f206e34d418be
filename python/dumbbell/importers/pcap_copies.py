"""The same packet several times in a capture: on every device of a router or a bridge, before and after translation.

A copy has the same IP identification, sequence numbers, flags, length and TCP time stamps, and follows within a
millisecond, or later if its time to live is smaller, as a router with a queue sends it. A retransmission has another
identification or a later time stamp. Address translation leaves these fields as they are. Segments that a device joins
or cuts (GRO, TSO) are copies of the longer packet that holds their bytes and has their time stamp.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.importers.pcap_file import Ints

__all__ = ["Copies", "copies"]

NEAR_NS = 1_000_000
FAR_NS = 10 * 10**9
"""For a smaller time to live: the longest time in a queue."""
MOST_SEGMENTS = 512
"""Of a super-packet."""
LEAST_SHARE = 0.1
"""Of data packets: duplicate ACKs and the odd copy are no sign of a second device."""
LEAST_TRANSLATED = 0.5
"""Of a connection's data packets."""


@dataclass
class Copies:
    """Rows to leave out."""

    rows: Ints
    gap_ns: int
    """The longest time between a packet and its copy."""
    translated: list[tuple[int, int]]
    """Conversations left out, each with the one that it copies."""


def copies(shared: Mapping[str, Ints], time_ns: Ints, conversation: Ints, ends: int, ttl: Ints, back: Ints) -> Copies:
    """Find copies; `shared` has the fields that they have in common, rows are in order of time.

    `back` is each conversation's reverse, −1 without one.
    """
    columns = list(shared.values())
    payload, ip_id = shared["payload_bytes"], shared["ip_id"]
    nothing = Copies(np.empty(0, dtype=np.int64), 0, [])
    if time_ns.size < 2:
        return nothing
    mixed = np.zeros(time_ns.size, dtype=np.uint64)
    for column in columns:
        # FNV-like mixing; equal hashes are compared below.
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    translated = _translated(columns, mixed, time_ns, conversation, ends, payload, back)
    dropped = np.zeros(ends, dtype=bool)
    dropped[[left for left, _ in translated]] = True
    mixed = (mixed ^ conversation.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    first, second = _pairs([*columns, conversation], mixed)
    part, whole = _parts(conversation, shared["seq"], payload, shared["tsval"], ip_id)
    gap = time_ns[second] - time_ns[first]
    good = _is_near(first, second, gap, ttl, ip_id)
    apart = np.abs(time_ns[part] - time_ns[whole])
    early, late = np.minimum(part, whole), np.maximum(part, whole)
    part_good = _is_near(early, late, apart, ttl, ip_id)
    second = np.concatenate([second[good], part[part_good]])
    gap = np.concatenate([gap[good], apart[part_good]])
    data = payload > 0
    share = np.count_nonzero(data[second]) / max(int(np.count_nonzero(data)), 1)
    if share < LEAST_SHARE:
        second, gap = second[:0], gap[:0]
    rows = np.union1d(second, np.flatnonzero(dropped[conversation]))
    return Copies(rows, int(gap.max(initial=0)), translated)


def _is_near(first: Ints, second: Ints, gap: Ints, ttl: Ints, ip_id: Ints) -> "np.ndarray":
    """At once, or behind a queue of a router."""
    return (gap <= NEAR_NS) | ((ttl[second] < ttl[first]) & (ip_id[first] > 0) & (gap <= FAR_NS))


def _parts(conversation: Ints, seq: Ints, payload: Ints, tsval: Ints, ip_id: Ints) -> tuple[Ints, Ints]:
    """Rows whose bytes a longer packet of the same time stamp holds, with that packet.

    Its identification is the first segment's; those of the others follow.
    """
    data = np.flatnonzero((payload > 0) & (tsval >= 0))
    if not data.size:
        return data, data
    order = data[np.lexsort((-payload[data], seq[data], conversation[data]))]
    stop = seq[order] + payload[order]
    # The end that reaches furthest so far, of each conversation; sequence numbers are below 2**32.
    reach = (conversation[order] << 34) + stop
    furthest = np.maximum.accumulate(reach)
    # Of equal ends the first, which is the longest.
    is_new = np.concatenate([[True], furthest[1:] > furthest[:-1]])
    holder = np.maximum.accumulate(np.where(is_new, np.arange(order.size), 0))
    part, whole = order, order[holder]
    held = (conversation[part] == conversation[whole]) & (payload[whole] > payload[part])
    held &= tsval[whole] == tsval[part]
    step = (ip_id[part] - ip_id[whole]) & 0xFFFF
    held &= (step < MOST_SEGMENTS) & ((step > 0) == ((seq[part] > seq[whole]) & (ip_id[whole] > 0)))
    return part[held], whole[held]


def _pairs(columns: Sequence[Ints], mixed: "np.ndarray") -> tuple[Ints, Ints]:
    """Neighbours in time with equal fields."""
    order = np.argsort(mixed, kind="stable")
    same = mixed[order[1:]] == mixed[order[:-1]]
    first, second = order[:-1][same], order[1:][same]
    for column in columns:
        alike = column[first] == column[second]
        first, second = first[alike], second[alike]
    return first, second


def _translated(
    columns: Sequence[Ints],
    mixed: "np.ndarray",
    time_ns: Ints,
    conversation: Ints,
    ends: int,
    payload: Ints,
    back: Ints,
) -> list[tuple[int, int]]:
    """Connections whose packets are those of another one with other addresses."""
    first, second = _pairs(columns, mixed)
    near = (time_ns[second] - time_ns[first] <= NEAR_NS) & (conversation[first] != conversation[second])
    near &= payload[first] > 0
    first, second = first[near], second[near]
    if not first.size:
        return []
    data = np.bincount(conversation[payload > 0], minlength=ends)
    pairs, count = np.unique(np.stack([conversation[first], conversation[second]], axis=1), axis=0, return_counts=True)
    found: dict[int, int] = {}
    for (one, other), number in zip(pairs.tolist(), count.tolist(), strict=True):
        if number < max(2, LEAST_TRANSLATED * min(data[one], data[other])) or one in found or other in found:
            continue
        if back[one] == other:
            continue
        found[other] = one
        if back[other] >= 0 and back[one] >= 0:
            found[int(back[other])] = int(back[one])
    return sorted(found.items())
