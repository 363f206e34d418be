"""Joins the lines of `ss` that a terminal or a mail program broke: headers, sockets and fields.

`ss` prints a socket's fields on one line, without a place where it may break. A break falls between two fields or in
the middle of one (`cwnd:1` and `90`). Which of the two it was follows from the fields themselves: a piece that is no
field alone, and is one together with its neighbour, belongs to it. What the fields mean is `ss_fields`.
"""

import re
from functools import cache

from dumbbell.importers.quantity import Unreadable
from dumbbell.importers.ss_fields import FLAGS, INNER, NOT_SAID, WORDS, Fields, fields
from dumbbell.spec.pages import pages

__all__ = ["HEADER", "SOCKET", "STATES", "begins_header", "begins_socket", "keys", "mended", "torn", "whole_socket"]

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
BRACKETS = {*INNER, *NOT_SAID, "skmem"}
_HEADER_WORDS = "Recv-QSend-QLocalAddress:PortPeerAddress:PortProcess"
_HEADERS = tuple(begin + _HEADER_WORDS for begin in ("State", "NetidState", ""))
_HEADER_LEAST = len("State")
_ENDLESS_PORT = 6
"""Digits of no port."""


def begins_header(text: str) -> bool:
    """Is this the beginning of `ss`'s header, or all of it?"""
    compact = "".join(text.split())
    return len(compact) >= _HEADER_LEAST and any(header.startswith(compact) for header in _HEADERS)


def begins_socket(text: str) -> bool:
    """Is this the beginning of a socket's line, with its state, that misses at least the peer?"""
    return _SOCKET_BEGIN.match(text) is not None


def whole_socket(begun: str, text: str) -> str | None:
    """A socket's line of what came before a break and behind it; None when these two are no such line."""
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
    """Two lines of fields with the field that was broken between them at the end of the first.

    The second is empty when it was nothing but the rest of that field.
    """
    before, text = before.rstrip(), text.strip()
    if not text:
        return before, text
    head, _, last = before.rpartition(" ")
    bracket = _BRACKET.match(last + text)
    if before.rfind("(") > before.rfind(")") or (bracket and bracket[1] in BRACKETS and bracket.end() > len(last) > 0):
        # Nothing that ss prints in brackets ends without them.
        end = text.find(")") + 1 or len(text)
        return before + text[:end], text[end:].strip()
    first, _, rest = text.partition(" ")
    if last in WORDS and first[:1].isdigit():
        return f"{before} {first}", rest.strip()
    led = head.rpartition(" ")[2]
    if led in WORDS:
        head, last = head[: -len(led)].rstrip(), f"{led} {last}"
    if not (_is_field(last) and _is_field(first)):
        joined = f"{head} {last}{first}".strip()
        if last + first in WORDS:
            return mended(joined, rest)
        if _is_field(last + first):
            return joined, rest.strip()
    return before, text


def torn(text: str, found: Fields, *, first: bool, last: bool) -> str | None:
    """The word at an inner end of a line, as `fields` read it, that must be a piece of something; None without one.

    A field that this Dumbbell doesn't know has a colon.
    """
    words = text.split()
    odd = {word for word in found.unknown if word in words}
    if not first and found.cc is not None and found.cc not in _controllers():
        odd.add(found.cc)
    ends = ([] if first else words[:1]) + ([] if last else words[-1:])
    return next((word for word in ends if word in odd and ":" not in word), None)


def keys(text: str) -> set[str]:
    """The names of the fields in a text of whole fields."""
    words = (word.partition(":") for word in text.split())
    return {name for name, colon, _ in words if colon or name in WORDS or name in FLAGS}


def _is_field(text: str) -> bool:
    """Is it exactly what ss prints of one thing that this Dumbbell knows?"""
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
