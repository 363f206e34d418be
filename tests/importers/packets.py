"""A small capture, byte by byte: one connection with one retransmitted loss."""

import struct
from collections.abc import Callable

__all__ = ["capture", "framed", "joined", "segment", "twice"]

A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
MSS = 1000
RTT_US = 40_000


def segment(reverse: bool, seq: int, ack: int, flags: int, payload: int = 0, stamp: tuple[int, int] = (0, 0)) -> bytes:
    """IPv4 and TCP headers with a time stamp; the payload is truncated."""
    source, destination, ports = (B, A, (5201, 40000)) if reverse else (A, B, (40000, 5201))
    options = b"\x02\x04\x03\xe8\x03\x03\x07\x01" if flags & 2 else b""
    options += b"\x01\x01\x08\x0a" + struct.pack(">II", *stamp)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, flags, 500, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + 20 + len(options) + payload, 0, 0, 64, 6, 0) + source + destination
    return ip + tcp + options


BASE = 2**32 - 1500
"""Sequence numbers wrap within the connection."""


def packets() -> list[tuple[int, int, bytes]]:
    """Time in microseconds, full length, captured bytes: a handshake, four segments, the second retransmitted."""
    found = []

    def add(
        time: int, reverse: bool, seq: int, ack: int, flags: int, payload: int = 0, stamp: tuple[int, int] = (0, 0)
    ) -> None:
        raw = segment(reverse, seq, ack, flags, payload, stamp)
        found.append((time, len(raw) + payload, raw))

    add(0, False, BASE - 1, 0, 2, stamp=(1, 0))
    add(RTT_US, True, 99, BASE, 18, stamp=(1001, 1))
    for number in range(4):
        add(50_000 + number, False, BASE + number * MSS, 100, 16, payload=MSS, stamp=(50 + number, 1001))
    add(50_000 + RTT_US, True, 100, BASE + MSS, 16, stamp=(1091, 50))
    for number in (2, 3):
        add(50_000 + RTT_US + number, True, 100, BASE + MSS, 16, stamp=(1091, 50))
    add(100_000, False, BASE + MSS, 100, 16, payload=MSS, stamp=(100, 1091))
    add(100_000 + RTT_US, True, 100, BASE + 4 * MSS, 16, stamp=(1141, 100))
    return found


def capture(modern: bool = False) -> bytes:
    """The capture as a file: classic pcap of raw IP, or pcapng of Ethernet with nanoseconds."""
    if not modern:
        content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
        for time, length, raw in packets():
            content += struct.pack("<IIII", 1_700_000_000, time, len(raw), length) + raw
        return content
    content = pcapng_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    content += pcapng_block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    for time, length, raw in packets():
        stamp = 1_700_000_000 * 10**9 + time * 1000
        framed = bytes(12) + b"\x08\x00" + raw
        head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(framed), length + 14)
        content += pcapng_block(6, head + framed + bytes(-len(framed) % 4))
    return content


def pcapng_block(kind: int, body: bytes) -> bytes:
    """A block of a pcapng file; the body must be padded to 4 bytes."""
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def framed(wrap: Callable[[bytes], bytes], link: int) -> bytes:
    """The connection as a classic capture of a link type, each packet wrapped."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for time, length, raw in packets():
        whole = wrap(raw)
        content += struct.pack("<IIII", 1_700_000_000, time, len(whole), length + len(whole) - len(raw)) + whole
    return content


def twice(gap_us: int, *, translated: bool = False) -> bytes:
    """The connection as a router's any-device capture has it: each packet on both devices, perhaps with NAT."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for number, (time, length, raw) in enumerate(packets()):
        stamped = raw[:4] + struct.pack(">H", number + 1) + raw[6:]
        outside = stamped.replace(A, bytes([192, 0, 2, 9])) if translated else stamped
        # Data enters inside and leaves outside, acknowledgements the other way.
        copies = (stamped, outside) if raw[12:16] == A else (outside, stamped)
        for at, (copy, ttl) in enumerate(zip(copies, (64, 63), strict=True)):
            whole = copy[:8] + bytes([ttl]) + copy[9:]
            content += struct.pack("<IIII", 1_700_000_000, time + at * gap_us, len(whole), length) + whole
    return content


def joined(*, first: bool) -> bytes:
    """A router's capture: on one device segments that GRO has joined, on the other each by itself."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)

    def add(time: int, number: int, raw: bytes, payload: int, ttl: int) -> None:
        nonlocal content
        head = raw[:2] + struct.pack(">HH", len(raw) + payload, number) + raw[6:8] + bytes([ttl])
        whole = head + raw[9:]
        content += struct.pack("<IIII", 1_700_000_000, time, len(whole), len(whole) + payload) + whole

    add(0, 1, segment(False, 999, 0, 2, stamp=(1, 0)), 0, 64)
    add(RTT_US, 1, segment(True, 99, 1000, 18, stamp=(1001, 1)), 0, 64)
    for burst in range(20):
        at, seq, number = 50_000 + burst * 1000, 1000 + burst * 4 * MSS, 2 + burst * 4
        stamp = (50 + burst, 1001)
        whole = (at, number, segment(False, seq, 100, 16, 4 * MSS, stamp), 4 * MSS)
        parts = [
            (at + 10 + part, number + part, segment(False, seq + part * MSS, 100, 16, MSS, stamp), MSS)
            for part in range(4)
        ]
        order = [(whole, 64), *((part, 63) for part in parts)]
        if not first:
            order = [*((part, 64) for part in parts), ((at + 20, *whole[1:]), 63)]
        for packet, ttl in order:
            add(*packet, ttl)
    add(200_000, 2, segment(True, 100, 1000 + 80 * MSS, 16, stamp=(1101, 69)), 0, 64)
    return content
