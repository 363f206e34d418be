"""TCP segments in a capture's packets, vectorised: IP and TCP headers as columns, each packet once.

`pcap_layers` takes off links and tunnels, `pcap_copies` finds what was captured on several devices. Lengths are from
the IP header, so packets truncated to their headers count in full.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address

import numpy as np
import numpy.typing as npt

from dumbbell.importers.pcap_copies import copies
from dumbbell.importers.pcap_file import Ints, Records
from dumbbell.importers.pcap_layers import Bools, View, layers

__all__ = ["Segments", "segments"]

FIN, SYN, ACK, ECE = 1, 2, 16, 64


@dataclass
class Segments:
    """One row per TCP segment, in order of time."""

    time_ns: Ints
    conversation: Ints
    """Number of its directed pair of addresses and ports."""
    ends: list[tuple[str, str]]
    """Source and destination of each conversation."""
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints
    payload_bytes: Ints
    tsval: Ints
    """−1 without a time stamp."""
    tsecr: Ints
    wscale: Ints
    mss: Ints
    others: int
    """Packets that are not TCP."""
    short: int
    """Packets truncated within their headers."""
    copies: int = 0
    """Packets left out because the capture has them from another device too."""
    copies_gap_ns: int = 0
    translated: list[tuple[str, str]] = field(default_factory=list)
    """Connections left out: the same packets with other addresses; each with the one that counts."""
    unsupported: Counter[str] = field(default_factory=Counter)
    """Packets by what around them can't be taken off."""


def segments(data: bytes, packets: Records, *, of_one_device: bool = False) -> Segments:
    """Read the headers. `of_one_device`: the capture has each packet once, so no copies are looked for."""
    view = View(data)
    end = packets.offset + packets.captured
    found = layers(view, packets)
    enough = found.transport + 20 <= end
    short = int(np.count_nonzero((found.known & (found.network + 20 > end)) | (found.tcp & ~enough)))
    rows = np.flatnonzero(found.tcp & enough)
    rows = rows[np.argsort(packets.time_ns[rows], kind="stable")]
    at, stop, is_four, network = found.transport[rows], found.stop[rows], found.four[rows], found.network[rows]
    length = (view.u8(at + 12) >> 4) * 4
    options = _options(view, at + 20, np.minimum(at + length, end[rows]))
    conversation, ends = _conversations(view, network, at, is_four)
    whole = Segments(
        time_ns=packets.time_ns[rows], conversation=conversation, ends=ends, seq=view.u32(at + 4), ack=view.u32(at + 8),
        flags=view.u8(at + 13), window=view.u16(at + 14), payload_bytes=np.maximum(stop - at - length, 0),
        tsval=options["tsval"], tsecr=options["tsecr"], wscale=options["wscale"], mss=options["mss"],
        others=len(packets.offset) - int(np.count_nonzero(found.tcp)), short=short, unsupported=found.unsupported,
    )  # fmt: skip
    if of_one_device:
        return whole
    ip_id = np.where(is_four, view.u16(network + 4), 0)
    ttl = np.where(is_four, view.u8(network + 8), view.u8(network + 7))
    return _once(whole, ip_id, ttl)


USUAL_OPTIONS = 0x0101080A
COLUMNS = (
    "time_ns",
    "conversation",
    "seq",
    "ack",
    "flags",
    "window",
    "payload_bytes",
    "tsval",
    "tsecr",
    "wscale",
    "mss",
)


def _once(whole: Segments, ip_id: Ints, ttl: Ints) -> Segments:
    """Each packet once."""
    number = {ends: at for at, ends in enumerate(whole.ends)}
    back = np.array([number.get((there, here), -1) for here, there in whole.ends], dtype=np.int64)
    names = ("seq", "ack", "flags", "window", "payload_bytes", "tsval", "tsecr")
    shared = {"ip_id": ip_id} | {name: getattr(whole, name) for name in names}
    found = copies(shared, whole.time_ns, whole.conversation, len(whole.ends), ttl, back)
    if not found.rows.size:
        return whole
    kept = np.ones(whole.time_ns.size, dtype=bool)
    kept[found.rows] = False
    return replace(
        whole,
        **{name: getattr(whole, name)[kept] for name in COLUMNS},
        copies=int(found.rows.size),
        copies_gap_ns=found.gap_ns,
        translated=[(" ".join(whole.ends[left]), " ".join(whole.ends[counts])) for left, counts in found.translated],
    )


def _options(view: View, at: Ints, stop: Ints) -> dict[str, Ints]:
    """TCP options: time stamps (RFC 7323), window scale, MSS; −1 if missing."""
    found = {key: np.full(at.size, -1, dtype=np.int64) for key in ("tsval", "tsecr", "wscale", "mss")}
    # Nearly all packets have the layout that RFC 7323 appendix A recommends: two NOPs and the time stamps.
    usual = (view.u32(at) == USUAL_OPTIONS) & (at + 12 <= stop)
    found["tsval"][usual], found["tsecr"][usual] = view.u32(at[usual] + 4), view.u32(at[usual] + 8)
    rows = np.arange(at.size)
    at = at + np.where(usual, 12, 0)
    for _ in range(40):
        going = at < stop
        rows, at, stop = rows[going], at[going], stop[going]
        if not rows.size:
            break
        kind, size = view.u8(at), view.u8(at + 1)
        size = np.where(kind == 1, 1, np.maximum(size, 2))
        inside = at + size <= stop
        for code, expected_size, fields in (
            (8, 10, (("tsval", 2), ("tsecr", 6))),
            (2, 4, (("mss", 2),)),
            (3, 3, (("wscale", 2),)),
        ):
            mine = (kind == code) & (size == expected_size) & inside
            for key, offset in fields:
                read = view.u32 if code == 8 else view.u16 if code == 2 else view.u8
                found[key][rows[mine]] = read(at[mine] + offset)
        at = np.where(kind == 0, stop, at + size)
    return found


def _conversations(view: View, network: Ints, transport: Ints, four: Bools) -> tuple[Ints, list[tuple[str, str]]]:
    """A number for each directed pair of addresses and ports, and their names."""
    number = np.zeros(network.size, dtype=np.int64)
    names: list[tuple[str, str]] = []
    ports = view.u32(transport)
    for family, offset, size in ((four, 12, 8), (~four, 8, 32)):
        mine = np.flatnonzero(family)
        if not mine.size:
            continue
        places = network[mine][:, np.newaxis] + offset + np.arange(size)
        pairs = np.ascontiguousarray(view.bytes[np.minimum(places, view.last)]).view(f"V{size}").ravel()
        known, which = _unique(pairs, size)
        keys, first, place = np.unique(which << 32 | ports[mine], return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        number[mine] = rank[place] + len(names)
        names += [_ends(known[keys[each] >> 32], int(keys[each]) & 0xFFFFFFFF, size // 2) for each in order]
    return number, names


def _unique(pairs: npt.NDArray[np.void], size: int) -> tuple[list[bytes], Ints]:
    if size == 8:
        keys, which = np.unique(pairs.view(">u8"), return_inverse=True)
        return [int(key).to_bytes(8, "big") for key in keys], which.astype(np.int64)
    found: dict[bytes, int] = {}
    which = np.array([found.setdefault(pair.tobytes(), len(found)) for pair in pairs], dtype=np.int64)
    return list(found), which


def _ends(pair: bytes, ports: int, size: int) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        f"[{_v6(address)}]:{port}" if size == 16 else f"{'.'.join(map(str, address))}:{port}"
        for address, port in ((pair[:size], ports >> 16), (pair[size:], ports & 0xFFFF))
    )


def _v6(address: bytes) -> str:
    return str(IPv6Address(address))
