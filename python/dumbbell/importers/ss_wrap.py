"""Rejoin lines of `ss` that a terminal or a mail program broke: headers, sockets and fields.

`ss` prints a socket's fields on one line. A break is between two fields or within one (`cwnd:1` and `90`), which the
fields themselves show: a piece that is no field on its own, but is one together with its neighbour, belongs to it.
`ss_fields` interprets the fields.
"""

import re
from functools import cache

from dumbbell.importers.quantity import Unreadable
from dumbbell.importers.ss_fields import BARE_WORDS, FLAGS, INNER, OMITTED, Fields, fields
from dumbbell.spec.pages import pages

__all__ = ["HEADER", "SOCKET", "STATES", "begins_header", "begins_socket", "joined_socket", "keys", "mended", "torn"]

STATES = (
    "UNKNOWN ESTAB SYN-SENT SYN-RECV FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT UNCONN CLOSE-WAIT LAST-ACK LISTEN CLOSING".split()
)
HEADER = re.compile(r"(?:State +)?(?:Netid +)?(?:State +)?Recv-Q +Send-Q +Local Address:Port.*\Z")
_END = r"\S+:(?:\d+|\*|[a-z][\w-]*)"
SOCKET = re.compile(
    rf"(?:(?:tcp|mptcp|u_str) +)?(?:(?P<state>{'|'.join(STATES)}) +)?(?P<recv>\d+) +(?P<send>\d+) +"
    rf"(?P<local>{_END}) +(?P<peer>{_END})(?P<rest>.*)\Z",
    re.ASCII,
)
_SOCKET_BEGIN = re.compile(
    rf"(?:(?:tcp|mptcp|u_str) +)?(?:{'|'.join(STATES)})(?: +\d+(?: +\d+(?: +{_END} +\S+| +\S+)?)?)?\Z", re.ASCII
)
_BRACKET = re.compile(r"([a-z_]+):\(", re.ASCII)
BRACKETS = {*INNER, *OMITTED, "skmem"}
_HEADER_COLUMNS = "Recv-QSend-QLocalAddress:PortPeerAddress:PortProcess"
_HEADERS = tuple(begin + _HEADER_COLUMNS for begin in ("State", "NetidState", ""))
_HEADER_LEAST = len("State")
_ENDLESS_PORT = 6
"""More digits than any port has."""


def begins_header(text: str) -> bool:
    """Is this the start of `ss`'s header, or all of it?"""
    compact = "".join(text.split())
    return len(compact) >= _HEADER_LEAST and any(header.startswith(compact) for header in _HEADERS)


def begins_socket(text: str) -> bool:
    """Is this the start of a socket's line, with its state, that lacks at least the peer?"""
    return _SOCKET_BEGIN.match(text) is not None


def joined_socket(begun: str, text: str) -> str | None:
    """A socket's line from its parts before and after a break; None if they form no such line."""
    if SOCKET.match(begun):
        # Only a peer's port may be broken: `10.0.2.2:52` and `01`.
        digits, _, rest = text.partition(" ")
        port = re.search(r":(\d+)\Z", begun)
        if port and digits.isascii() and digits.isdigit() and len(port[1] + digits) < _ENDLESS_PORT:
            return f"{begun}{digits} {rest}".rstrip()
        return None
    lines = (begun + text, f"{begun} {text}")
    matched = (line for matches in (SOCKET.match, begins_socket) for line in lines if matches(line))
    return next(matched, None)


def mended(before: str, text: str) -> tuple[str, str]:
    """Two lines of fields, with a field broken between them moved to the end of the first.

    The second is empty if it contained only the rest of that field.
    """
    before, text = before.rstrip(), text.strip()
    if not text:
        return before, text
    head, _, last = before.rpartition(" ")
    bracket = _BRACKET.match(last + text)
    if before.rfind("(") > before.rfind(")") or (bracket and bracket[1] in BRACKETS and bracket.end() > len(last) > 0):
        # All bracketed fields of ss end with a bracket.
        end = text.find(")") + 1 or len(text)
        return before + text[:end], text[end:].strip()
    first, _, rest = text.partition(" ")
    if last in BARE_WORDS and first[:1].isdigit():
        return f"{before} {first}", rest.strip()
    led = head.rpartition(" ")[2]
    if led in BARE_WORDS:
        head, last = head[: -len(led)].rstrip(), f"{led} {last}"
    if not (_is_field(last) and _is_field(first)):
        joined = f"{head} {last}{first}".strip()
        if last + first in BARE_WORDS:
            return mended(joined, rest)
        if _is_field(last + first):
            return joined, rest.strip()
    return before, text


def torn(text: str, found: Fields, *, first: bool, last: bool) -> str | None:
    """The word at an inner end of a line, parsed by `fields`, that must be part of a field; None without one.

    An unknown field has a colon.
    """
    words = text.split()
    odd = {word for word in found.unknown if word in words}
    if not first and found.cc is not None and found.cc not in _controllers():
        odd.add(found.cc)
    ends = ([] if first else words[:1]) + ([] if last else words[-1:])
    return next((word for word in ends if word in odd and ":" not in word), None)


def keys(text: str) -> set[str]:
    """The names of the fields in a text of complete fields."""
    words = (word.partition(":") for word in text.split())
    return {name for name, colon, _ in words if colon or name in BARE_WORDS or name in FLAGS}


def _is_field(text: str) -> bool:
    """Is it exactly the text of one known field?"""
    if text in _controllers():
        return True
    try:
        found = fields(text)
    except Unreadable:
        return False
    return len(found.columns) > 0 and not found.unknown and found.cc is None


@cache
def _controllers() -> frozenset[str]:
    return frozenset(pages("controllers"))
