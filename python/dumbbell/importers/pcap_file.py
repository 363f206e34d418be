"""A capture file's records: classic pcap in both byte orders and resolutions, and pcapng.

For each packet its position, time, length and link type; `pcap_packets` reads its headers. Formats: the drafts
draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

import struct
from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dumbbell import limits
from dumbbell.importers.log_source import CLASSIC, Source, is_capture

__all__ = ["Records", "is_capture", "records"]

Ints = npt.NDArray[np.int64]

SECTION = 0x0A0D0D0A
INTERFACE, PACKET_OLD, SIMPLE, ENHANCED = 1, 2, 3, 6
MOST_PACKET_BYTES = 1 << 24
NS = 1_000_000_000
RUN = 256
LEAST_RUN = 8
"""Packets of one length that are read at once."""


@dataclass
class Records:
    """Packet positions in the file."""

    time_ns: Ints
    offset: Ints
    captured: Ints
    """Bytes in the file."""
    length: Ints
    """Original length in bytes."""
    link: Ints
    """Link-layer type in tcpdump.org's numbering."""
    warnings: list[str] = field(default_factory=list)


def records(source: Source) -> Records:
    """Find all packets. Raises `ImportProblem` with the position of the first invalid byte."""
    found = _Found(source)
    if source.data[:4] in CLASSIC:
        _classic(source, found)
    else:
        _sections(source, found)
    if not found.rows:
        source.fail("no complete packet")
    table = np.frombuffer(found.rows, dtype=np.int64).reshape(-1, 5)
    time, offset, captured, length, link = (np.ascontiguousarray(table[:, column]) for column in range(5))
    return Records(time, offset, captured, length, link, found.warnings)


@dataclass
class _Found:
    source: Source
    rows: "array[int]" = field(default_factory=lambda: array("q"))
    """Five numbers per packet."""
    most: int = field(default_factory=lambda: 5 * limits.most("capture-packets"))
    warnings: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of packets."""
        return len(self.rows) // 5

    def add(self, packet: tuple[int, int, int, int, int]) -> None:
        """Add a packet. Raises `ImportProblem` if there are too many."""
        self.rows.extend(packet)
        self._check()

    def add_all(self, packets: Ints) -> None:
        """Add the rows of a table."""
        self.rows.frombytes(packets.tobytes())
        self._check()

    def _check(self) -> None:
        if len(self.rows) > self.most:
            right = f"a part of it (editcap -c), {limits.raised('capture-packets', len(self.source.data) // 16)}"
            self.source.fail(f"more than {limits.shown('capture-packets')} packets", right=right)

    def cut(self) -> None:
        self.warnings.append(f"the capture is truncated after packet {self.count}")


def _classic(source: Source, found: _Found) -> None:
    data, (order, scale) = source.data, CLASSIC[source.data[:4]]
    if len(data) < 24:
        source.fail("truncated in its header", place="byte 0")
    link = struct.unpack_from(f"{order}I", data, 20)[0] & 0x0FFFFFFF
    header, end, add = struct.Struct(f"{order}IIII"), len(data), found.add
    position, last = 24, -1
    while position + 16 <= end:
        seconds, part, captured, length = header.unpack_from(data, position)
        if captured > MOST_PACKET_BYTES or part * scale >= NS:
            source.fail("not a packet: invalid length or time", place=f"packet {found.count + 1}, byte {position}")
        if position + 16 + captured > end:
            break
        add((seconds * NS + part * scale, position + 16, captured, length, link))
        position += 16 + captured
        if captured == last and (alike := _alike(data, order, scale, position, captured, link)) is not None:
            found.add_all(alike)
            position += len(alike) * (16 + captured)
        last = captured
    if position != end:
        found.cut()


def _alike(data: bytes, order: str, scale: int, position: int, captured: int, link: int) -> Ints | None:
    """All at once the packets from here on with the same length in the file; None if there are too few to gain."""
    most = min((len(data) - position) // (16 + captured), RUN)
    if most < LEAST_RUN or data[position + 8 : position + 12] != struct.pack(f"{order}I", captured):
        return None
    headers = np.ndarray((most, 4), f"{order}u4", data, position, (16 + captured, 4)).astype(np.int64)
    good = (headers[:, 2] == captured) & (headers[:, 1] * scale < NS)
    count = most if good.all() else int(good.argmin())
    if count < LEAST_RUN:
        return None
    seconds, part, _, length = headers[:count].T
    offset = position + 16 + np.arange(count) * (16 + captured)
    same = np.full(count, captured), length, np.full(count, link)
    return np.stack([seconds * NS + part * scale, offset, *same], axis=1).astype(np.int64)


@dataclass
class _Section:
    order: str
    links: list[int] = field(default_factory=list)
    units: list[tuple[int, int]] = field(default_factory=list)
    """A numerator and a denominator that convert each interface's times to nanoseconds."""
    offsets: list[int] = field(default_factory=list)


def _sections(source: Source, found: _Found) -> None:
    data, position, section = source.data, 0, _Section("<")
    while position + 12 <= len(data):
        if data[position : position + 4] == b"\x0a\x0d\x0d\x0a":
            mark = data[position + 8 : position + 12]
            if mark not in (b"\x4d\x3c\x2b\x1a", b"\x1a\x2b\x3c\x4d"):
                source.fail("a section without a byte order", place=f"byte {position}")
            section = _Section("<" if mark == b"\x4d\x3c\x2b\x1a" else ">")
        kind, size = struct.unpack_from(f"{section.order}II", data, position)
        if size < 12 or size % 4 or size > MOST_PACKET_BYTES + 4096:
            source.fail("not a block: invalid length", place=f"byte {position}", value=size)
        if position + size > len(data):
            break
        if struct.unpack_from(f"{section.order}I", data, position + size - 4)[0] != size:
            source.fail("a block with two different lengths", place=f"byte {position}")
        _block(source, found, section, kind, position + 8, size - 12)
        position += size
    if position != len(data):
        found.cut()


def _block(source: Source, found: _Found, section: _Section, kind: int, at: int, size: int) -> None:
    data, order, place = source.data, section.order, f"byte {at - 8}"
    if kind == INTERFACE:
        if size < 8:
            source.fail("an interface block that is too short", place=place)
        section.links.append(struct.unpack_from(f"{order}H", data, at)[0])
        unit, offset = _interface(data, order, at + 8, at + size)
        section.units.append(unit)
        section.offsets.append(offset)
    elif kind in (ENHANCED, PACKET_OLD):
        if size < 20:
            source.fail("a packet without a header", place=place)
        if kind == ENHANCED:
            interface = struct.unpack_from(f"{order}I", data, at)[0]
        else:
            interface = struct.unpack_from(f"{order}H", data, at)[0]
        high, low, captured, length = struct.unpack_from(f"{order}IIII", data, at + 4)
        if interface >= len(section.links) or captured > size - 20:
            source.fail("a packet without an interface, or longer than its block", place=place)
        numerator, denominator = section.units[interface]
        time_ns = (high << 32 | low) * numerator // denominator + section.offsets[interface] * NS
        if not 0 <= time_ns < 1 << 62:
            source.fail("a packet with an invalid time", place=place)
        found.add((time_ns, at + 20, captured, length, section.links[interface]))
    elif kind == SIMPLE:
        source.fail(
            "simple packet blocks have no times", place=place, right="a capture with times, as tcpdump writes it"
        )


def _interface(data: bytes, order: str, at: int, end: int) -> tuple[tuple[int, int], int]:
    """The resolution of an interface's times (option 9), and their offset in seconds (option 14)."""
    unit, offset = (1000, 1), 0
    while at + 4 <= end:
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if code == 0 or at + 4 + size > end:
            break
        if code == 9 and size == 1:
            power = data[at + 4] & 0x7F
            steps = 2 ** min(power, 62) if data[at + 4] & 0x80 else 10 ** min(power, 18)
            unit = (NS, steps)
        elif code == 14 and size == 8:
            offset = struct.unpack_from(f"{order}q", data, at + 4)[0]
        at += 4 + (size + 3) // 4 * 4
    return unit, offset
