"""TCP segments in a capture's packets, vectorised: link, IP and TCP headers as columns.

Ethernet with and without VLAN tags, Linux cooked (both versions), raw IP and loopback; IPv4, and IPv6 with its
extension headers. Lengths are from the IP header, so packets truncated to their headers count in full.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dumbbell.importers.pcap_file import Ints, Records

__all__ = ["Segments", "segments"]

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

ETHERNET, NULL, RAW_BSD, RAW_OPENBSD, RAW, LOOP, COOKED, IPV4_LINK, IPV6_LINK, COOKED2 = (
    1,
    0,
    12,
    14,
    101,
    108,
    113,
    228,
    229,
    276,
)
IPV4, IPV6, TCP, FRAGMENT = 0x0800, 0x86DD, 6, 44
VLAN = (0x8100, 0x88A8, 0x9100)
FAMILIES_6 = (10, 24, 28, 30)
"""AF_INET6 on Linux, BSDs and macOS."""
EXTENSIONS = (0, 43, 60, 135)
MOST_EXTENSIONS = 6
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


class _View:
    """Read bytes of a file at many positions at once; beyond the end they are 0."""

    def __init__(self, data: bytes) -> None:
        self.bytes: Bytes = np.frombuffer(data + bytes(64), dtype=np.uint8)
        self.last = len(data)

    def u8(self, at: Ints) -> Ints:
        return self.bytes[np.minimum(at, self.last)].astype(np.int64)

    def u16(self, at: Ints) -> Ints:
        return self.u8(at) << 8 | self.u8(at + 1)

    def u32(self, at: Ints) -> Ints:
        return self.u16(at) << 16 | self.u16(at + 2)


def segments(data: bytes, packets: Records) -> Segments:
    """Read the headers."""
    view = _View(data)
    end = packets.offset + packets.captured
    kind, network = _link(view, packets)
    four, six = kind == IPV4, kind == IPV6
    transport, protocol, stop = _network(view, packets, network, four, six)
    enough = transport + 20 <= end
    tcp = (four | six) & (protocol == TCP)
    short = int(np.count_nonzero(((kind != 0) & (network + 20 > end)) | (tcp & ~enough)))
    rows = np.flatnonzero(tcp & enough)
    rows = rows[np.argsort(packets.time_ns[rows], kind="stable")]
    at, stop, is_four = transport[rows], stop[rows], four[rows]
    length = (view.u8(at + 12) >> 4) * 4
    options = _options(view, at + 20, np.minimum(at + length, end[rows]))
    conversation, ends = _conversations(view, network[rows], at, is_four)
    return Segments(
        time_ns=packets.time_ns[rows], conversation=conversation, ends=ends, seq=view.u32(at + 4), ack=view.u32(at + 8),
        flags=view.u8(at + 13), window=view.u16(at + 14), payload_bytes=np.maximum(stop - at - length, 0),
        tsval=options["tsval"], tsecr=options["tsecr"], wscale=options["wscale"], mss=options["mss"],
        others=len(packets.offset) - int(np.count_nonzero(tcp)), short=short,
    )  # fmt: skip


def _link(view: _View, packets: Records) -> tuple[Ints, Ints]:
    """Each packet's network protocol (an EtherType; 0 if unsupported) and the start of its header."""
    kind, network = np.zeros_like(packets.offset), packets.offset.copy()
    for link in np.unique(packets.link):
        mine = packets.link == link
        at = packets.offset[mine]
        if link == ETHERNET:
            kind[mine], network[mine] = _tagged(view, at + 12)
        elif link == COOKED:
            kind[mine], network[mine] = _tagged(view, at + 14)
        elif link == COOKED2:
            kind[mine], network[mine] = view.u16(at), at + 20
        elif link in (RAW, RAW_BSD, RAW_OPENBSD, IPV4_LINK, IPV6_LINK):
            kind[mine] = _version(view, at)
        elif link in (NULL, LOOP):
            # The address family in the host's byte order: the only byte that isn't 0.
            family = np.maximum(view.u8(at), view.u8(at + 3))
            kind[mine] = np.where(family == 2, IPV4, np.where(np.isin(family, FAMILIES_6), IPV6, 0))
            network[mine] = at + 4
    version = _version(view, network)
    return np.where(kind == version, kind, 0), network


def _tagged(view: _View, at: Ints) -> tuple[Ints, Ints]:
    """EtherType after at most two VLAN tags, and the position after it."""
    for _ in range(2):
        at = np.where(np.isin(view.u16(at), VLAN), at + 4, at)
    return view.u16(at), at + 2


def _version(view: _View, at: Ints) -> Ints:
    version = view.u8(at) >> 4
    return np.where(version == 4, IPV4, np.where(version == 6, IPV6, 0))


def _network(view: _View, packets: Records, at: Ints, four: Bools, six: Bools) -> tuple[Ints, Ints, Ints]:
    """The start of the transport header, its protocol, and the end of the packet (before truncation)."""
    packet_end = packets.offset + packets.length
    total = view.u16(at + 2)
    # Offloads write 0 for packets longer than 16 bits can express; then use the link's length.
    stop_four = np.where(total > 0, at + total, packet_end)
    fragment = (view.u16(at + 6) & 0x1FFF) > 0
    protocol_four = np.where(fragment, 0, view.u8(at + 9))
    size = view.u16(at + 4)
    stop_six = np.where(size > 0, at + 40 + size, packet_end)
    protocol_six, transport_six = view.u8(at + 6), at + 40
    for _ in range(MOST_EXTENSIONS):
        extension = six & np.isin(protocol_six, EXTENSIONS)
        if not extension.any():
            break
        following, long = view.u8(transport_six), view.u8(transport_six + 1)
        transport_six = np.where(extension, transport_six + 8 + 8 * long, transport_six)
        protocol_six = np.where(extension, following, protocol_six)
    transport = np.where(four, at + (view.u8(at) & 15) * 4, transport_six)
    protocol = np.where(four, protocol_four, np.where(six, protocol_six, 0))
    return transport, protocol, np.where(four, stop_four, stop_six)


def _options(view: _View, at: Ints, stop: Ints) -> dict[str, Ints]:
    """TCP options: time stamps (RFC 7323), window scale, MSS; −1 if missing."""
    found = {key: np.full(at.size, -1, dtype=np.int64) for key in ("tsval", "tsecr", "wscale", "mss")}
    rows = np.arange(at.size)
    at = at.copy()
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


def _conversations(view: _View, network: Ints, transport: Ints, four: Bools) -> tuple[Ints, list[tuple[str, str]]]:
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
    from ipaddress import IPv6Address  # noqa: PLC0415 — rare

    return str(IPv6Address(address))
