"""What lies around a capture's TCP packets, taken off at all packets at once: link layers and tunnels.

Links: Ethernet, Linux cooked (both versions), raw IP, loopback, PPP, netfilter's log (NFLOG), 802.11 with and without
radiotap. Tunnels: VLAN,
QinQ (802.1Q, 802.1ad), MPLS (RFC 3032), PPPoE (RFC 2516), IPIP and 6in4 (RFC 2003, 4213), GRE (RFC 2784, 2890, 2637),
ERSPAN, VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281), L2TP (RFC 2661), Teredo, MPLS in UDP (RFC 7510).
The innermost TCP header counts. What can't be taken off, such as ESP, is named.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dumbbell.importers.pcap_file import Ints, Records

__all__ = ["IPV4", "IPV6", "Bools", "Layers", "View", "layers"]

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

IPV4, IPV6 = 0x0800, 0x86DD
VLAN = (0x8100, 0x88A8, 0x9100, 0x9200)
MPLS = (0x8847, 0x8848)
PPPOE, BRIDGED, PPTP, ERSPAN2, ERSPAN3, MACSEC, NSH = 0x8864, 0x6558, 0x880B, 0x88BE, 0x22EB, 0x88E5, 0x894F
FRAME, WIFI, PPP, GRE, UDP_HEADER, ETHERIP, DONE = range(0x10001, 0x10008)
"""Kinds of what begins at a position that have no EtherType."""
TCP, FRAGMENT = 6, 44
IN_IP = {4: IPV4, 41: IPV6, 47: GRE, 17: UDP_HEADER, 97: ETHERIP}
EXTENSIONS = (0, 43, 60, 135, 51)
MOST_EXTENSIONS = 6
MOST_LAYERS = 16
AF_INET = 2
PAYLOAD = 9
"""`NFULA_PAYLOAD`."""
MOST_ATTRIBUTES = 32
FAMILIES_6 = (10, 24, 28, 30)
"""AF_INET6 on Linux, BSDs and macOS."""
LINK_NAMES = {
    119: "Prism",
    192: "PPI",
    163: "AVS",
    189: "USB",
    220: "USB",
    195: "802.15.4",
    187: "Bluetooth",
}


class View:
    """Read bytes of a file at many positions at once; beyond the end they are 0."""

    def __init__(self, data: bytes) -> None:
        self.bytes: Bytes = np.frombuffer(data + bytes(64), dtype=np.uint8)
        self.last = len(data)
        # A number of each size at every byte: one look-up reads it whole.
        self._two: npt.NDArray[np.uint16] = np.ndarray((self.last + 1,), ">u2", self.bytes, 0, (1,))
        self._four: npt.NDArray[np.uint32] = np.ndarray((self.last + 1,), ">u4", self.bytes, 0, (1,))

    def u8(self, at: Ints) -> Ints:
        """A byte at each position."""
        return self.bytes[np.minimum(at, self.last)].astype(np.int64)

    def u16(self, at: Ints) -> Ints:
        """Two bytes, big-endian."""
        return self._two[np.minimum(at, self.last)].astype(np.int64)

    def u32(self, at: Ints) -> Ints:
        """Four bytes, big-endian."""
        return self._four[np.minimum(at, self.last)].astype(np.int64)


@dataclass
class Layers:
    """For each packet the innermost IP header, if TCP follows it."""

    tcp: Bools
    four: Bools
    network: Ints
    """Where its IP header begins."""
    transport: Ints
    stop: Ints
    """The end of the IP packet, before it was truncated."""
    known: Bools
    """Was an IP header found?"""
    unsupported: Counter[str] = field(default_factory=Counter)
    """Packets by what could not be taken off."""


@dataclass
class _State:
    """What begins where, while layers are taken off."""

    view: View
    kind: Ints
    at: Ints
    packet_end: Ints
    found: Layers

    def set(self, rows: Ints, kind: Ints | int, at: Ints) -> None:
        self.kind[rows], self.at[rows] = kind, at

    def refuse(self, rows: Ints, name: str) -> None:
        if rows.size:
            self.found.unsupported[name] += int(rows.size)
            self.kind[rows] = 0


def layers(view: View, packets: Records) -> Layers:
    """Take off all layers above TCP."""
    count = packets.offset.size
    nothing = np.zeros(count, dtype=bool)
    found = Layers(
        nothing.copy(),
        nothing.copy(),
        packets.offset.copy(),
        packets.offset.copy(),
        packets.offset.copy(),
        nothing.copy(),
    )
    state = _State(view, np.zeros(count, dtype=np.int64), packets.offset.copy(), packets.offset + packets.length, found)
    _links(state, packets)
    for _ in range(MOST_LAYERS):
        going = np.flatnonzero((state.kind != 0) & (state.kind != DONE))
        if not going.size:
            break
        for kind in np.unique(state.kind[going]):
            rows = going[state.kind[going] == kind]
            _off(state, int(kind), rows)
    return found


def _links(state: _State, packets: Records) -> None:
    view = state.view
    for link in np.unique(packets.link):
        rows = np.flatnonzero(packets.link == link)
        at = packets.offset[rows]
        begin = _LINKS.get(int(link))
        if begin is None:
            state.refuse(rows, f"link type {LINK_NAMES.get(int(link), int(link))}")
        else:
            begin(state, view, rows, at)


def _ethernet(state: _State, _view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, FRAME, at)


def _cooked(state: _State, view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, view.u16(at + 14), at + 16)


def _cooked2(state: _State, view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, view.u16(at), at + 20)


def _raw(state: _State, view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, _version(view, at), at)


def _loopback(state: _State, view: View, rows: Ints, at: Ints) -> None:
    # The address family in the host's byte order: the only byte that isn't 0.
    family = np.maximum(view.u8(at), view.u8(at + 3))
    state.set(rows, np.where(family == 2, IPV4, np.where(np.isin(family, FAMILIES_6), IPV6, 0)), at + 4)


def _ppp_link(state: _State, _view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, PPP, at)


def _pppoe_link(state: _State, _view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, PPPOE, at)


def _cisco(state: _State, view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, view.u16(at + 2), at + 4)


def _mpls_link(state: _State, _view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, MPLS[0], at)


def _wifi(state: _State, _view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, WIFI, at)


def _radiotap(state: _State, view: View, rows: Ints, at: Ints) -> None:
    state.set(rows, WIFI, at + (view.u8(at + 2) | view.u8(at + 3) << 8))


def _netfilter_log(state: _State, view: View, rows: Ints, at: Ints) -> None:
    """A family, and attributes in the byte order of the host that captured; one of them is the packet."""
    version, stop = np.where(view.u8(at) == AF_INET, IPV4, IPV6), state.packet_end[rows]
    at = at + 4
    going = at + 4 <= stop
    for _ in range(MOST_ATTRIBUTES):
        kind = view.u8(at + 2) | view.u8(at + 3) << 8
        length = view.u8(at) | view.u8(at + 1) << 8
        # Little-endian, or big-endian: no attribute has a number above 255 or 64 KiB.
        swapped = kind > MOST_ATTRIBUTES
        kind, length = np.where(swapped, view.u16(at + 2), kind), np.where(swapped, view.u16(at), length)
        found = going & (kind == PAYLOAD)
        state.set(rows[found], version[found], at[found] + 4)
        going &= ~found & (length >= 4) & (at + 4 <= stop)
        if not going.any():
            break
        at = np.where(going, at + (length + 3) // 4 * 4, at)


_Begin = Callable[[_State, View, Ints, Ints], None]
_LINKS: dict[int, _Begin] = {
    1: _ethernet, 113: _cooked, 276: _cooked2, 12: _raw, 14: _raw, 101: _raw, 228: _raw, 229: _raw, 0: _loopback,
    108: _loopback, 9: _ppp_link, 50: _ppp_link, 51: _pppoe_link, 104: _cisco, 219: _mpls_link, 105: _wifi,
    127: _radiotap, 239: _netfilter_log,
}  # fmt: skip
"""By the link-layer type in tcpdump.org's numbering."""


def _off(state: _State, kind: int, rows: Ints) -> None:
    """Take off one layer of these packets."""
    view, at = state.view, state.at[rows]
    if kind == FRAME:
        _typed(state, rows, view.u16(at + 12), at + 14)
    elif kind in VLAN:
        _typed(state, rows, view.u16(at + 2), at + 4)
    elif kind in MPLS:
        _label(state, rows, at)
    elif kind == PPPOE:
        state.set(rows, PPP, at + 6)
    elif kind == PPP:
        _ppp(state, rows, at)
    elif kind == WIFI:
        _off_wifi(state, rows, at)
    elif kind in (IPV4, IPV6):
        _off_ip(state, rows, at, four=kind == IPV4)
    elif kind == GRE:
        _off_gre(state, rows, at)
    elif kind == UDP_HEADER:
        _off_udp(state, rows, at)
    elif kind in (BRIDGED, ETHERIP):
        state.set(rows, FRAME, at + (2 if kind == ETHERIP else 0))
    elif kind in _NAMES:
        state.refuse(rows, _NAMES[kind])
    else:
        state.kind[rows] = 0  # ARP, LLDP and others: no IP.


_NAMES = {MACSEC: "MACsec", NSH: "NSH", ERSPAN3: "ERSPAN type III"}


def _typed(state: _State, rows: Ints, kind: Ints, at: Ints) -> None:
    """An EtherType, or a length before a SNAP header."""
    snap = (kind < 0x600) & (state.view.u32(at) >> 8 == 0xAAAA03)
    kind = np.where(snap, state.view.u16(at + 6), np.where(kind < 0x600, 0, kind))
    state.set(rows, kind, np.where(snap, at + 8, at))


def _label(state: _State, rows: Ints, at: Ints) -> None:
    last, after = state.view.u8(at + 2) & 1 > 0, at + 4
    inner = _version(state.view, after)
    # Below the last label: IP, or a pseudowire's frame with a control word that begins with 0 (RFC 4385).
    word = last & (inner == 0) & (state.view.u8(after) >> 4 == 0)
    kind = np.where(last, np.where(inner > 0, inner, FRAME), MPLS[0])
    state.set(rows, kind, np.where(word, after + 4, after))


def _ppp(state: _State, rows: Ints, at: Ints) -> None:
    at = np.where(state.view.u16(at) == 0xFF03, at + 2, at)
    short = state.view.u8(at) & 1 > 0
    protocol = np.where(short, state.view.u8(at), state.view.u16(at))
    at = at + np.where(short, 1, 2)
    kind = np.select([protocol == 0x21, protocol == 0x57, protocol == 0x281], [IPV4, IPV6, MPLS[0]], 0)
    state.set(rows, kind, at)
    state.refuse(rows[np.isin(protocol, (0xFD, 0x3D))], "compressed or multilink PPP")


def _off_wifi(state: _State, rows: Ints, at: Ints) -> None:
    view = state.view
    control, flags = view.u8(at), view.u8(at + 1)
    data, service = (control >> 2) & 3 == 2, control & 0x80 > 0
    full = data & (control & 0x40 == 0)
    length = 24 + np.where(flags & 3 == 3, 6, 0)
    aggregated = full & service & (view.u8(at + length) & 0x80 > 0)
    length += np.where(service, 2, 0) + np.where(service & (flags & 0x80 > 0), 4, 0)
    after = at + length
    encrypted = full & (flags & 0x40 > 0)
    snap = full & (view.u32(after) >> 8 == 0xAAAA03)
    state.set(rows, np.where(snap, view.u16(after + 6), 0), after + 8)
    state.refuse(rows[encrypted], "encrypted 802.11")
    state.refuse(rows[aggregated & ~encrypted], "802.11 A-MSDU")


def _version(view: View, at: Ints) -> Ints:
    version = view.u8(at) >> 4
    return np.where(version == 4, IPV4, np.where(version == 6, IPV6, 0))


def _off_ip(state: _State, rows: Ints, at: Ints, *, four: bool) -> None:
    view, found = state.view, state.found
    right = view.u8(at) >> 4 == (4 if four else 6)
    state.kind[rows[~right]] = 0
    rows, at = rows[right], at[right]
    packet_end = state.packet_end[rows]
    if four:
        total = view.u16(at + 2)
        # Offloads write 0 for packets longer than 16 bits can express; then use the link's length.
        stop = np.where(total > 0, at + total, packet_end)
        protocol = np.where((view.u16(at + 6) & 0x1FFF) > 0, -1, view.u8(at + 9))
        transport = at + (view.u8(at) & 15) * 4
    else:
        size = view.u16(at + 4)
        stop = np.where(size > 0, at + 40 + size, packet_end)
        protocol, transport = view.u8(at + 6), at + 40
    for _ in range(MOST_EXTENSIONS):
        extension = np.isin(protocol, EXTENSIONS if not four else (51,))
        if not extension.any():
            break
        following, long = view.u8(transport), view.u8(transport + 1)
        # An authentication header counts in 4 bytes (RFC 4302), others in 8.
        size = np.where(protocol == 51, 4 * long + 8, 8 + 8 * long)
        transport = np.where(extension, transport + size, transport)
        protocol = np.where(extension, following, protocol)
    found.known[rows] = True
    found.four[rows], found.network[rows], found.transport[rows], found.stop[rows] = four, at, transport, stop
    found.tcp[rows] = protocol == TCP
    kind = np.full(rows.size, DONE, dtype=np.int64)
    for number, inner in IN_IP.items():
        kind[protocol == number] = inner
    state.set(rows, kind, transport)
    state.refuse(rows[protocol == 50], "ESP (IPsec)")
    state.refuse(rows[protocol == 115], "L2TPv3")


def _off_gre(state: _State, rows: Ints, at: Ints) -> None:
    view = state.view
    flags, inner = view.u16(at), view.u16(at + 2)
    pptp = flags & 7 == 1
    plain = 4 + sum(np.where(flags & bits > 0, 4, 0) for bits in (0xC000, 0x2000, 0x1000))
    tunnelled = 8 + np.where(flags & 0x1000 > 0, 4, 0) + np.where(flags & 0x80 > 0, 4, 0)
    after = at + np.where(pptp, tunnelled, plain)
    mirrored = inner == ERSPAN2
    kind = np.select([pptp, mirrored], [np.where(inner == PPTP, PPP, 0), FRAME], inner)
    after = np.where(mirrored & (flags & 0x1000 > 0), after + 8, after)
    state.set(rows, kind, after)


def _off_udp(state: _State, rows: Ints, at: Ints) -> None:
    view = state.view
    port, inside = view.u16(at + 2), at + 8
    kind, after = np.full(rows.size, DONE, dtype=np.int64), inside.copy()
    flags = view.u8(inside)
    vxlan = np.isin(port, (4789, 8472)) & (flags & 0x08 > 0) & (view.u8(inside + 7) == 0)
    generic = (port == 4790) & (flags & 0x0C == 0x0C)
    of_generic = np.select([view.u8(inside + 3) == each for each in (1, 2, 3)], [IPV4, IPV6, FRAME], 0)
    geneve = (port == 6081) & (flags >> 6 == 0)
    gtp = (port == 2152) & (flags >> 4 == 3) & (view.u8(inside + 1) == 0xFF)
    l2tp = (port == 1701) & (view.u16(inside) & 0x800F == 2)
    teredo, in_udp = (port == 3544) & (_version(view, inside) == IPV6), port == 6635
    kind = np.select(
        [vxlan, generic, geneve, gtp, l2tp, teredo, in_udp],
        [FRAME, of_generic, view.u16(inside + 2), _version(view, _after_gtp(view, inside)), PPP, IPV6, MPLS[0]], kind,
    )  # fmt: skip
    after = np.select(
        [vxlan | generic, geneve, gtp, l2tp],
        [inside + 8, inside + 8 + 4 * (flags & 0x3F), _after_gtp(view, inside), _after_l2tp(view, inside)], after,
    )  # fmt: skip
    state.set(rows, kind, after)


def _after_gtp(view: View, at: Ints) -> Ints:
    """Behind the header of GTP-U, its optional fields and its extension headers."""
    flags = view.u8(at)
    after = at + 8 + np.where(flags & 7 > 0, 4, 0)
    more = (flags & 4 > 0) & (view.u8(at + 11) > 0)
    for _ in range(MOST_EXTENSIONS):
        if not more.any():
            break
        size = np.maximum(4 * view.u8(after), 4)
        ended = view.u8(after + size - 1) == 0
        after = np.where(more, after + size, after)
        more &= ~ended
    return after


def _after_l2tp(view: View, at: Ints) -> Ints:
    flags = view.u16(at)
    after = at + 6 + np.where(flags & 0x4000 > 0, 2, 0) + np.where(flags & 0x0800 > 0, 4, 0)
    return np.where(flags & 0x0200 > 0, after + 2 + view.u16(after), after)
