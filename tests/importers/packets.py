"""A small capture, byte by byte: one connection with one retransmitted loss."""

import struct

__all__ = ["capture", "segment"]

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
