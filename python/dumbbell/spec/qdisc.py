"""The grammar of queueing disciplines, as tc has it.

The options and their arguments are declared in `crates/core/src/tc`. This module checks every word of a discipline,
so that an error names the option with the nearest spelling, and so that a file from a stranger passes nothing to tc but
known options and checked quantities.
Sources: the manual pages tc-*(8) of iproute2 6.1 and the parsers in its `tc/q_*.c`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from dumbbell import _sim
from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["GRAMMAR", "POLICE", "Qdisc", "check_options", "parse_qdisc", "suggest"]

TIME, RATE, SIZE, PACKETS, COUNT, SHARE, FRACTION = "time", "rate", "size", "packets", "count", "share", "fraction"
BITS = "value/mask"


def _value_and_mask(word: object) -> None:
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,2}/0x[0-9a-fA-F]{1,2}", str(word)):
        raise ValueError


TIME_OR_PACKETS = "time or number of packets"

_CHECKS: dict[str, Callable[[object], object]] = {
    TIME: units.duration_ns,
    RATE: units.rate_bps,
    SIZE: units.size_or_bdp,
    COUNT: units.count,
    SHARE: units.share,
    BITS: _value_and_mask,
    TIME_OR_PACKETS: units.duration_or_packets,
}

POLICE = "police"

Options = dict[str, tuple[str, ...]]
"""An option's arguments; a trailing ? marks one that may be missing; words|like|this are a choice."""

GRAMMAR: dict[str, Options] = _sim.QDISCS


@dataclass(frozen=True)
class Qdisc:
    """A discipline whose every word was checked."""

    kind: str
    words: tuple[str, ...]
    """What follows the kind, as written."""
    bdp_words: dict[int, tuple[float, str]]
    """Position of each size in bandwidth-delay products, with its number and its unit (`size` or `packets`)."""

    @property
    def text(self) -> str:
        """As written."""
        return " ".join((self.kind, *self.words))

    def option(self, *names: str) -> str | None:
        """First argument of the first of these options that was written."""
        for name in names:
            if name in self.words[:-1]:
                return self.words[self.words.index(name) + 1]
        return None

    @property
    def shapes(self) -> bool:
        """Does it limit the rate by itself?"""
        return self.shaped_rate_bps is not None

    @property
    def shaped_rate_bps(self) -> int | None:
        """The rate that it limits to, in bits per second."""
        option = {"tbf": "rate", "cake": "bandwidth", "netem": "rate", POLICE: "rate"}.get(self.kind)
        rate = self.option(option) if option else None
        return None if rate is None else units.rate_bps(rate)

    def resolved(self, bdp_bytes: int | None, mtu_bytes: int) -> str:
        """The text for tc: sizes in bandwidth-delay products as bytes or packets, at least one packet.

        Raises `Wrong` when there is such a size and `bdp_bytes` is unknown.
        """
        words = list(self.words)
        for position, (products, unit) in self.bdp_words.items():
            if bdp_bytes is None:
                raise Wrong(
                    "a queue in bdp needs both a rate and a path.rtt above zero", "give both, or a size in bytes"
                )
            size = max(products * bdp_bytes, mtu_bytes)
            words[position] = str(round(size if unit == SIZE else size / mtu_bytes))
        return " ".join((self.kind, *words))


def parse_qdisc(value: object) -> Qdisc:
    """Check a discipline as one would write it to tc; raises `Wrong`."""
    if not isinstance(value, str) or not value.split():
        raise Wrong("not a queueing discipline", "write it as to tc, such as 'fq_codel limit 1000 target 5ms'")
    return _parsed(value)


@lru_cache(maxsize=1024)
def _parsed(value: str) -> Qdisc:
    if any(not (character.isprintable() and character.isascii()) for character in value):
        raise Wrong("a queueing discipline must be plain text", "one line of printable ASCII")
    kind, *words = value.split()
    if kind not in GRAMMAR:
        raise Wrong(f"no queueing discipline is called '{kind}'", suggest(kind, GRAMMAR))
    return Qdisc(kind, tuple(words), check_options(kind, words, GRAMMAR[kind]))


def check_options(kind: str, words: Sequence[str], options: Options) -> dict[int, tuple[float, str]]:
    """Check every word after the kind; returns the sizes in bdp by position."""
    return {
        position: (float(words[position][:-3]), wanted)
        for _, arguments in _read(kind, words, options)
        for position, wanted in arguments
        if words[position].lower().endswith("bdp")
    }


def _read(kind: str, words: Sequence[str], options: Options) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Options in order, each with its arguments' positions and kinds; raises `Wrong` at the first that does not fit."""
    position = 0
    while position < len(words):
        option = words[position]
        if option not in options:
            raise Wrong(f"{kind} has no option '{option}'", suggest(option, options))
        position += 1
        arguments: list[tuple[int, str]] = []
        for wanted in options[option]:
            optional, kind_of_word = wanted.endswith("?"), wanted.removesuffix("?")
            if position < len(words) and _fits(words[position], kind_of_word, options if optional else {}):
                arguments.append((position, kind_of_word))
                position += 1
            elif not optional:
                written = f", got '{words[position]}'" if position < len(words) else ""
                raise Wrong(
                    f"{kind}: '{option}' takes a {kind_of_word.replace('|', ' or ')}{written}", _example(kind_of_word)
                )
        yield option, arguments


MOST_LISTED = 60
"""Names that a message lists; of more, only the nearest."""


def suggest(word: str, known: Collection[str]) -> str:
    """What could have been meant, and what there is."""
    names = list(known)
    close = get_close_matches(word, names, n=1 if len(names) <= MOST_LISTED else 6, cutoff=0.6)
    meant = f"did you mean {' or '.join(repr(name) for name in close)}? " if close else ""
    if not names:
        return f"{meant}it takes no options"
    if len(names) <= MOST_LISTED:
        return f"{meant}there is: {', '.join(sorted(names))}"
    begins = [name for name in names if name.partition(".")[0] == word.partition(".")[0]] or names
    listed = sorted(begins)[:MOST_LISTED]
    more = f", and {len(names) - len(listed):,} more" if len(names) > len(listed) else ""
    return f"{meant}there is: {', '.join(listed)}{more}"


def _fits(word: str, wanted: str, options: Options) -> bool:
    if word in options:
        return False
    if "|" in wanted:
        return word in wanted.split("|")
    try:
        if wanted == FRACTION:
            return 0 <= float(word) <= 1e9
        if wanted == PACKETS:
            return isinstance(units.size_or_bdp(word), float) or units.count(word) > 0
        _CHECKS[wanted](word)
    except ValueError:
        return False
    return True


def _example(wanted: str) -> str:
    examples = {
        TIME: "such as 5ms",
        RATE: "such as 80mbit",
        SIZE: "such as 225000, 64kb or 1.5bdp",
        PACKETS: "such as 1000 or 1.5bdp",
        COUNT: "such as 10",
        SHARE: "such as 1%",
        TIME_OR_PACKETS: "such as 1ms or 5p",
        FRACTION: "such as 0.02",
        BITS: "such as 0x01/0x03",
    }
    return examples.get(wanted, "")
