"""Numbers and times that other programs print, parsed exactly: decimals, never binary fractions.

iperf's prefixes are powers of 1024 before `Bytes` and of 1000 before `bits` (`units.c` of iperf 2 and 3), ss's and tc's
rates of 1000, tc's sizes of 1024 (`sprint_size` of iproute2).

Times of day are in `stamps`.
"""

import re
from decimal import Decimal, InvalidOperation

__all__ = [
    "NS",
    "Unreadable",
    "decimal",
    "integer",
    "iperf_bytes",
    "milliseconds_ns",
    "rate_bps",
    "seconds_ns",
    "size_bytes",
]


NS = 1_000_000_000
MOST = Decimal(2) ** 62
"""An upper bound of all counts, times and rates that also fits a column."""
MOST_CHARACTERS = 40


class Unreadable(ValueError):
    """Text that a log reader can't parse; `Source.reading` converts it to an `ImportProblem` with file and line."""


_BINARY = {"": 0, "K": 1, "k": 1, "M": 2, "m": 2, "G": 3, "g": 3, "T": 4}
_DECIMAL = {"": 0, "k": 1, "K": 1, "m": 2, "M": 2, "g": 3, "G": 3, "t": 4, "T": 4}
_RATE = re.compile(r"([\d.]+(?:e[+-]?\d+)?)([kKmMgGtT]?)(?:bps|bit)\Z", re.ASCII)
_SIZE = re.compile(r"([\d.]+(?:e[+-]?\d+)?)([KkMmGg]?)b\Z", re.ASCII)


def decimal(text: str) -> Decimal:
    """A plain non-negative number. Raises `Unreadable`."""
    if len(text) > MOST_CHARACTERS or not re.fullmatch(r"\d+\.?\d*(?:e[+-]?\d{1,3})?|\.\d+", text, re.ASCII):
        raise Unreadable(f"'{text[:MOST_CHARACTERS]}' is not a number")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise Unreadable(f"'{text}' is not a number") from None
    if number > MOST:
        raise Unreadable(f"{text} exceeds {MOST}")
    return number


def integer(text: str, base: int = 10) -> int:
    """A non-negative integer. Raises `Unreadable`."""
    if not text.isascii() or not text.isalnum() or len(text) > MOST_CHARACTERS:
        raise Unreadable(f"'{text[:MOST_CHARACTERS]}' is not an integer")
    try:
        number = int(text, base)
    except ValueError:
        raise Unreadable(f"'{text}' is not an integer") from None
    if number > MOST:
        raise Unreadable(f"{text} exceeds {MOST}")
    return number


def seconds_ns(text: str) -> int:
    """Seconds as nanoseconds, rounded to the nearest."""
    return _rounded(decimal(text) * NS)


def milliseconds_ns(text: str) -> int:
    """Milliseconds as nanoseconds."""
    return _rounded(decimal(text) * 10**6)


def rate_bps(text: str) -> int:
    """A rate of ss or tc, such as `1619.8Mbps` or `80Mbit`, in bits per second."""
    match = _RATE.match(text)
    if not match:
        raise Unreadable(f"'{text[:MOST_CHARACTERS]}' is not a rate")
    return _rounded(decimal(match[1]) * 1000 ** _DECIMAL[match[2]])


def size_bytes(text: str) -> int:
    """A size of tc, such as `225Kb`: kilobytes of 1024."""
    match = _SIZE.match(text)
    if not match:
        raise Unreadable(f"'{text[:MOST_CHARACTERS]}' is not a size")
    return _rounded(decimal(match[1]) * 1024 ** _BINARY[match[2]])


def iperf_bytes(number: str, letter: str) -> int:
    """A transfer or a window of iperf: `194`, `M` is 194 × 1024² bytes."""
    return _rounded(decimal(number) * 1024 ** _BINARY[letter])


def _rounded(number: Decimal) -> int:
    if number > MOST:
        raise Unreadable(f"exceeds {MOST}")
    return int(number.to_integral_value())
