"""Quantities and queue disciplines as tc takes them: rates, times, sizes, shares; and values of other kinds.

`crates/experiment/src/units.rs` parses quantities. Each function takes what a person wrote and returns an integer (bits
per second, nanoseconds, bytes) or a share of one; it raises `Wrong` for another text. `crates/tc` has the
grammar of disciplines, `crates/experiment` checks every word.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from dumbbell import _sim
from dumbbell._sim import Qdisc, rate_text, time_text
from dumbbell.errors import Wrong

__all__ = [
    "GRAMMAR",
    "POLICE",
    "Qdisc",
    "Wrong",
    "duration_ns",
    "parse_qdisc",
    "rate_bps",
    "rate_text",
    "refused",
    "share",
    "size_bytes",
    "suggest",
    "tc_size_bytes",
    "time_text",
    "value_of",
]


@contextmanager
def refused() -> Iterator[None]:
    """Raises `Wrong` for a text that no Rust has."""
    try:
        yield
    except UnicodeEncodeError:
        raise Wrong("a character that is half of a pair, which no file can hold", "leave it out") from None


def value_of(kind: str, value: object) -> Any:
    """A value of a kind that `crates/experiment` declares, such as `seeds`, as a person wrote it. Raises `Wrong`."""
    with refused():
        return _sim.parse_value(kind, value)


def rate_bps(value: object) -> int:
    """Bits per second as tc reads them, at least 1 and at most 1 Tbit/s; keys of an experiment have no `mbps`.

    >>> rate_bps("80mbit"), rate_bps("10mbps")
    (80000000, 80000000)
    """
    return int(value_of("tc rate", value))


def duration_ns(value: object) -> int:
    """Nanoseconds, not negative.

    >>> duration_ns("13ms")
    13000000
    """
    return int(value_of("time", value))


def share(value: object) -> float:
    """A share of one, from 0 to 1; a bare number is per cent, as tc reads it.

    >>> share("1%")
    0.01
    """
    return float(value_of("share", value))


def tc_size_bytes(value: object) -> int:
    """Bytes as tc reads them: `kb` is 1024 bytes, `mbit` 131,072 bytes, case does not matter."""
    return int(value_of("tc size", value))


def size_bytes(value: object) -> int:
    """Bytes of data, at least 1: as tc reads them, but `kB`, `KB`, `MB`, `GB` count in thousands.

    >>> size_bytes("61MB"), size_bytes("64kb")
    (61000000, 65536)
    """
    return int(value_of("data size", value))


POLICE = "police"

Options = dict[str, tuple[str, ...]]
"""An option's arguments; a trailing ? marks one that may be missing; words|like|this are a choice."""

GRAMMAR: dict[str, Options] = _sim.QDISCS


def parse_qdisc(value: object) -> Qdisc:
    """Check a discipline as one would write it to tc; raises `Wrong`."""
    with refused():
        return Qdisc.parse(value if isinstance(value, str) else "")


def suggest(word: str, known: Collection[str]) -> str:
    """What could have been meant, and what there is."""
    return _sim.suggest(word, list(known))
