"""Magic numbers of packet captures, which may exceed the size limit of text logs."""

__all__ = ["CLASSIC", "is_capture"]

CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Magic numbers with their byte order and the unit of a timestamp's fraction in nanoseconds."""


def is_capture(data: bytes | bytearray) -> bool:
    """Does it start with a capture's magic number?"""
    return bytes(data[:4]) in CLASSIC or data[:4] == b"\x0a\x0d\x0d\x0a"
