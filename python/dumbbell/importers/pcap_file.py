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

INTERFACE, PACKET_OLD, SIMPLE, ENHANCED = 1, 2, 3, 6
MOST_PACKET_BYTES = 1 << 24
NS = 1_000_000_000
RUN = 4096
LEAST_RUN = 32
"""Records of one length that are found at once: a search costs as much as so many single ones."""


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
    positions, stopped = _positions(source, order, found.most // 5)
    if positions.size:
        # All headers at once: their places are the only thing that needs one after the other.
        words = np.ndarray((len(data) - 15, 4), f"{order}u4", data, 0, (1, 4))[positions].astype(np.int64)
        seconds, part, captured, length = words.T
        late = np.flatnonzero(part * scale >= NS)
        if late.size:
            _no_packet(source, int(late[0]), int(positions[late[0]]))
        link_column = np.full(positions.size, link, dtype=np.int64)
        found.add_all(np.stack([seconds * NS + part * scale, positions + 16, captured, length, link_column], axis=1))
    if stopped + 16 <= len(data) and struct.unpack_from(f"{order}I", data, stopped + 8)[0] > MOST_PACKET_BYTES:
        _no_packet(source, found.count, stopped)
    if stopped != len(data):
        found.cut()


def _positions(source: Source, order: str, most: int) -> tuple[Ints, int]:
    """Where complete records begin, at most a run more than `most`, and where the next one would."""
    data, end, position = source.data, len(source.data), 24
    captured_at, places = struct.Struct(f"{order}I").unpack_from, array("q")
    append = places.append
    last, wait = -1, 0
    while position + 16 <= end:
        (captured,) = captured_at(data, position + 8)
        after = position + 16 + captured
        if captured > MOST_PACKET_BYTES or after > end or len(places) > most:
            break
        append(position)
        position = after
        if captured != last:
            last = captured
        elif wait:
            wait -= 1
        else:
            count = _alike(data, order, position, captured)
            places.frombytes((position + np.arange(count, dtype=np.int64) * (16 + captured)).tobytes())
            position += count * (16 + captured)
            wait = LEAST_RUN if count < LEAST_RUN else 0
    return np.array(places, dtype=np.int64), position


def _alike(data: bytes, order: str, position: int, captured: int) -> int:
    """How many records from here on have the same length in the file, of a run."""
    size = 16 + captured
    most = min((len(data) - position) // size, RUN)
    if most < LEAST_RUN:
        return 0
    same = np.ndarray((most,), f"{order}u4", data, position + 8, (size,)) == captured
    return most if same.all() else int(same.argmin())


def _no_packet(source: Source, number: int, position: int) -> None:
    source.fail("not a packet: invalid length or time", place=f"packet {number + 1}, byte {position}")


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
