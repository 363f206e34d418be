"""Quantities as tc writes them: rates, times, sizes, shares.

Each parser takes what a person wrote and returns an integer (bits per second,
nanoseconds, bytes) or a share of one; a wrong text raises `Wrong`, which says what would
be right. Source of the spellings: tc(8), section PARAMETERS; iproute2 `lib/utils_math.c`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache

from dumbbell import _sim

__all__ = [
    "Wrong",
    "count",
    "duration_ns",
    "rate_bps",
    "rate_text",
    "refused",
    "share",
    "size_bytes",
    "size_or_bdp",
    "tc_size_bytes",
    "time_text",
]


class Wrong(ValueError):
    """A value that can't be: what is wrong with it, and what would be right."""

    def __init__(self, problem: str, right: str = "") -> None:
        self.problem = problem
        self.right = right
        super().__init__(f"{problem}; {right}" if right else problem)


@contextmanager
def refused() -> Iterator[None]:
    """Raises `Wrong` for a value that `crates/experiment` refuses."""
    try:
        yield
    except _sim.Wrong as wrong:
        raise Wrong(*wrong.args) from None
    except UnicodeEncodeError:
        raise Wrong("a character that is half of a pair, which no file can hold", "leave it out") from None


_NUMBER = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?P<unit>[A-Za-z%]*)\Z")

_RATES = {
    unit: scale
    for prefix, factor in {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}.items()
    for unit, scale in {f"{prefix}bit": factor, f"{prefix}bps": 8 * factor}.items()
} | {
    unit: scale
    for prefix, factor in {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}.items()
    for unit, scale in {f"{prefix}bit": factor, f"{prefix}bps": 8 * factor}.items()
}

_TIMES = {
    "s": 10**9,
    "sec": 10**9,
    "secs": 10**9,
    "ms": 10**6,
    "msec": 10**6,
    "msecs": 10**6,
    "us": 10**3,
    "usec": 10**3,
    "usecs": 10**3,
    "ns": 1,
    "nsec": 1,
    "nsecs": 1,
    "min": 60 * 10**9,
}

_TC_SIZES = {
    "": Decimal(1),
    "b": Decimal(1),
    "k": Decimal(2**10),
    "kb": Decimal(2**10),
    "m": Decimal(2**20),
    "mb": Decimal(2**20),
    "g": Decimal(2**30),
    "gb": Decimal(2**30),
    "kbit": Decimal(2**10) / 8,
    "mbit": Decimal(2**20) / 8,
    "gbit": Decimal(2**30) / 8,
}

_DECIMAL_SIZES = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

MOST_CHARACTERS = 60
"""A quantity is short; cut before it is read, a longer one is none."""
MOST_DIGITS = 18
MOST_BDP = 10**6

_MOST_RATE_BPS = 10**12
_MOST_TIME_NS = 10**15


def rate_bps(value: object) -> int:
    """Bits per second, at least 1 and at most 1 Tbit/s.

    >>> rate_bps("80mbit")
    80000000
    >>> rate_bps("10mbps")
    80000000
    """
    right = "a rate is a number with a unit, such as 80mbit, 5gbit or 64kbit"
    number, unit = _split(value, right)
    if not unit:
        raise Wrong("a rate without a unit", right)
    if unit.lower() not in _RATES:
        raise Wrong(f"'{unit}' is not a unit of rate", right)
    rate = int(number * _RATES[unit.lower()])
    if number < 0:
        raise Wrong("a negative rate", right)
    if not 1 <= rate <= _MOST_RATE_BPS:
        raise Wrong("a rate out of range", "rates go from 1bit to 1tbit")
    return rate


def duration_ns(value: object) -> int:
    """Nanoseconds, not negative.

    >>> duration_ns("13ms")
    13000000
    """
    right = "a time is a number with a unit, such as 13ms, 500us or 2s"
    number, unit = _split(value, right)
    if not unit and number != 0:
        raise Wrong("a time without a unit", right)
    if unit and unit.lower() not in _TIMES:
        raise Wrong(f"'{unit}' is not a unit of time", right)
    time = int(number * _TIMES[unit.lower() or "s"])
    if number < 0:
        raise Wrong("a negative time", right)
    if time > _MOST_TIME_NS:
        raise Wrong("a time longer than eleven days", right)
    return time


def duration_or_packets(value: object) -> tuple[str, int]:
    """A time in nanoseconds, or a number of packets with its unit, and which of the two.

    >>> duration_or_packets("1ms"), duration_or_packets("5p")
    (('time', 1000000), ('packets', 5))
    """
    right = "a time such as 1ms, or a number of packets such as 5p"
    number, unit = _split(value, right)
    if unit.lower() not in ("p", "pkt", "pkts", "packet", "packets"):
        return "time", duration_ns(value)
    if number != int(number) or number < 0:
        raise Wrong("not a whole number of packets", right)
    return "packets", int(number)


def share(value: object) -> float:
    """A share of one, from 0 to 1; tc reads a bare number as per cent, and so does this.

    >>> share("1%")
    0.01
    """
    right = "a share is a number from 0% to 100%, such as 1% or 0.1%"
    number, unit = _split(value, right)
    if unit not in ("", "%"):
        raise Wrong(f"'{unit}' is not a unit of a share", right)
    if not 0 <= number <= 100:
        raise Wrong("a share outside 0% to 100%", right)
    return float(number / 100)


def tc_size_bytes(value: object) -> int:
    """Bytes as tc reads them: `kb` is 1024 bytes, `mbit` 131,072 bytes, case does not matter."""
    right = "a size is a number of bytes, such as 225000, 225000b or 64kb"
    number, unit = _split(value, right)
    if unit.lower() not in _TC_SIZES:
        raise Wrong(f"'{unit}' is not a unit of size", right)
    if number < 0:
        raise Wrong("a negative size", right)
    return int(number * _TC_SIZES[unit.lower()])


def size_bytes(value: object) -> int:
    """Bytes of data, at least 1: as tc reads them, but `kB`, `KB`, `MB`, `GB` count in thousands.

    >>> size_bytes("61MB"), size_bytes("64kb")
    (61000000, 65536)
    """
    if isinstance(value, str):
        match = _NUMBER.match(value.strip())
        if match and match["unit"] in _DECIMAL_SIZES:
            number, unit = _split(value, "such as 61MB")
            value = int(number * _DECIMAL_SIZES[unit])
    size = tc_size_bytes(value)
    if size < 1:
        raise Wrong("a size of zero", "a size is at least one byte")
    return size


def size_or_bdp(value: object) -> int | float:
    """Bytes as an integer, or bandwidth-delay products as a float (`1.5bdp`)."""
    if isinstance(value, str) and (match := _NUMBER.match(value.strip())) and match["unit"].lower() == "bdp":
        products = float(match["number"])
        if not 0 < products <= MOST_BDP:
            raise Wrong("a queue of no bandwidth-delay product, or of more than a million", "such as 1.5bdp")
        return products
    return tc_size_bytes(value)


def count(value: object) -> int:
    """A whole number that is not negative."""
    number, unit = _split(value, "a whole number")
    if unit or number != int(number) or number < 0:
        raise Wrong("not a whole number", "such as 1000")
    return int(number)


@lru_cache(maxsize=1024)
def rate_text(rate: int) -> str:
    """A rate in the shortest exact spelling of tc.

    >>> rate_text(80_000_000)
    '80mbit'
    """
    for unit, scale in (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)):
        if rate % scale == 0:
            return f"{rate // scale}{unit}"
    return f"{rate}bit"


@lru_cache(maxsize=1024)
def time_text(time_ns: int) -> str:
    """A time in the shortest exact spelling of tc.

    >>> time_text(13_000_000)
    '13ms'
    """
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time_ns % scale == 0:
            return f"{time_ns // scale}{unit}"
    return f"{time_ns}ns"


def _split(value: object, right: str) -> tuple[Decimal, str]:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Wrong("not a quantity", right)
    return _read(str(value), right)


@lru_cache(maxsize=4096)  # An experiment says the same few quantities again and again, a sweep in every run.
def _read(text: str, right: str) -> tuple[Decimal, str]:
    match = _NUMBER.match(text.strip()[:MOST_CHARACTERS])
    if match is None:
        raise Wrong("not a quantity", right)
    number = Decimal(match["number"])
    if number.adjusted() > MOST_DIGITS:
        raise Wrong("a number that is too large", right)
    return number, match["unit"]
