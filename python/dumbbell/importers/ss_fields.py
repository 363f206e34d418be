"""The fields of `ss -ti` with our columns and units, and lines that a terminal or a mail program broke.

A field without a column in `table_schema.FLOWS` gets its own, after the others; its name ends in its unit too.

`ss` prints a socket's fields on one line. A break is between two fields or within one (`cwnd:1` and `90`), which the
fields themselves show: a piece that is no field on its own, but is one together with its neighbour, belongs to it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

from dumbbell.importers.quantity import Unreadable, decimal, integer, milliseconds_ns, rate_bps
from dumbbell.spec.built_in import pages

__all__ = [
    "EXTRA",
    "HEADER",
    "SOCKET",
    "STATES",
    "Fields",
    "begins_header",
    "begins_socket",
    "completed",
    "fields",
    "joined_socket",
    "keys",
    "mended",
    "torn",
    "without_marks",
]


Read = Callable[[str], int | float]


def _ms(text: str) -> int:
    return milliseconds_ns(text.removesuffix("ms"))


def _rate(text: str) -> int:
    # `ss --numeric` omits the prefixes but not `bps`.
    return rate_bps(text)


def _real(text: str) -> float:
    return float(decimal(text))


VALUES: dict[str, tuple[str, Read]] = {
    "rto": ("rto_ns", _ms),
    "backoff": ("backoff", integer),
    "ato": ("ato_ns", _ms),
    "qack": ("qack", integer),
    "mss": ("mss_bytes", integer),
    "pmtu": ("pmtu_bytes", integer),
    "rcvmss": ("rcvmss_bytes", integer),
    "advmss": ("advmss_bytes", integer),
    "cwnd": ("cwnd_packets", integer),
    "ssthresh": ("ssthresh_packets", integer),
    "bytes_sent": ("bytes_sent", integer),
    "bytes_retrans": ("bytes_retrans", integer),
    "bytes_acked": ("bytes_acked", integer),
    "bytes_received": ("socket_bytes_received", integer),
    "segs_out": ("segs_out", integer),
    "segs_in": ("segs_in", integer),
    "data_segs_out": ("data_segs_out", integer),
    "data_segs_in": ("data_segs_in", integer),
    "lastsnd": ("lastsnd_ns", _ms),
    "lastrcv": ("lastrcv_ns", _ms),
    "lastack": ("lastack_ns", _ms),
    "delivered": ("delivered_packets", integer),
    "delivered_ce": ("delivered_ce_packets", integer),
    "busy": ("busy_ns", _ms),
    "unacked": ("unacked_packets", integer),
    "lost": ("lost_packets", integer),
    "sacked": ("sacked_packets", integer),
    "dsack_dups": ("dsack_dups", integer),
    "fackets": ("fackets_packets", integer),
    "reordering": ("reordering_packets", integer),
    "reord_seen": ("reord_seen", integer),
    "rcv_rtt": ("rcv_rtt_ns", _ms),
    "rcv_space": ("rcv_space_bytes", integer),
    "rcv_ssthresh": ("rcv_ssthresh_bytes", integer),
    "notsent": ("notsent_bytes", integer),
    "minrtt": ("min_rtt_ns", _ms),
    "rcv_ooopack": ("rcv_ooopack_packets", integer),
    "snd_wnd": ("snd_wnd_bytes", integer),
    "rcv_wnd": ("rcv_wnd_bytes", integer),
    "rehash": ("rehash", integer),
}
BARE_WORDS: dict[str, tuple[str, Read]] = {
    "send": ("send_bps", _rate),
    "pacing_rate": ("pacing_rate_bps", _rate),
    "delivery_rate": ("delivery_rate_bps", _rate),
}
FLAGS = {"ts": "ts", "usec_ts": "usec_ts", "sack": "sack", "ecn": "ecn", "ecnseen": "ecnseen", "fastopen": "fastopen",
         "bidir": "bidir", "app_limited": "app_limited"}  # fmt: skip
INNER: dict[str, dict[str, tuple[str, Read]]] = {
    "bbr": {
        "bw": ("bbr_bw_bps", _rate),
        "mrtt": ("bbr_min_rtt_ns", _ms),
        "pacing_gain": ("bbr_pacing_gain", _real),
        "cwnd_gain": ("bbr_cwnd_gain", _real),
    },
    "dctcp": {
        "ce_state": ("dctcp_ce_state", integer),
        "alpha": ("dctcp_alpha", lambda text: integer(text) / 1024),
        "ab_ecn": ("dctcp_ab_ecn_bytes", integer),
        "ab_tot": ("dctcp_ab_tot_bytes", integer),
    },
}
EXTRA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(
        "ato_ns qack pmtu_bytes rcvmss_bytes advmss_bytes socket_bytes_received segs_in data_segs_in lastsnd_ns "
        "lastrcv_ns lastack_ns fackets_packets rcv_rtt_ns rcv_ssthresh_bytes rcv_ooopack_packets rcv_wnd_bytes rehash "
        "sndbuf_bytes rcvbuf_bytes send_bps pacing_rate_max_bps snd_wscale rcv_wscale recv_q_bytes "
        "send_q_bytes".split(),
        pl.Int64,
    ),
    **dict.fromkeys("ts usec_ts sack ecnseen fastopen bidir".split(), pl.Boolean),
}
"""Columns of an imported `ss` log that no engine has."""

_TOKEN = re.compile(r"([a-z_]+):\(([^()]*(?:\([^()]*\)[^()]*)*)\)|(\S+)", re.ASCII)
_KEY = re.compile(r"([a-z_0-9]+):(.+)\Z", re.ASCII)
_LIMITED = re.compile(r"(\d+)ms\([\d.]+%\)\Z", re.ASCII)
BUFFERS = {"rb": "rcvbuf_bytes", "tb": "sndbuf_bytes"}
"""From `skmem`, which `ss -m` prints: the current limits of both buffers."""
OMITTED = {
    "mem",
    "timer",
    "users",
    "uid",
    "ino",
    "sk",
    "cgroup",
    "tcp",
    "ulp",
    "mptcp",
    "tos",
    "tclass",
    "class_id",
    "fwmark",
    "v6only",
    "locals",
    "peers",
    "token",
    "bpf_id",
    "proc_ctx",
    "sock_ctx",
}
"""Output of other options of ss (-m, -o, -p, -e, …), not TCP state."""


@dataclass
class Fields:
    """The fields of one socket in one block of ss."""

    cc: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def fields(text: str) -> Fields:
    """Parse one socket's block. Raises `Unreadable` for a known field with an invalid value."""
    found = Fields()
    words = [(match[1], match[2], match[3]) for match in _TOKEN.finditer(text)]
    position = 0
    while position < len(words):
        key, inside, word = words[position]
        position += 1
        if key:
            _inner(found, key, inside)
        elif word in BARE_WORDS:
            if position == len(words):
                raise Unreadable(f"'{word}' without a rate")
            try:
                _rated(found, word, words[position][2] or "")
            except Unreadable as error:
                raise Unreadable(f"{error}, in field '{word}'") from None
            position += 1
        elif word in FLAGS:
            _set(found, FLAGS[word], value=True)
        elif match := _KEY.match(word):
            try:
                _value(found, match[1], match[2])
            except Unreadable as error:
                raise Unreadable(f"{error}, in field '{match[1]}'") from None
        elif found.cc is None and re.fullmatch(r"[a-z][a-z0-9_-]*", word):
            found.cc = word
        else:
            found.unknown.append(word)
    return found


_MARKS = re.compile(
    r"(?:(?<=\s)|\A)(?:<->|-->|<--|---)(?=\s|\Z)|inet-sockopt: ?\([^()]*\)|(?:proc_ctx|sock_ctx)=\S+"
    r"|tcp-ulp-\w+(?: (?:flags|token|seq|sfseq|ssnoff|maplen|version|cipher|rxconf|txconf|zc_ro_tx|no_pad_rx):? ?\S+)*"
)


def without_marks(text: str) -> str:
    """The text without what other options of ss print between the fields: which ends are shut down, socket options."""
    return _MARKS.sub("", text).strip()


def _value(found: Fields, key: str, text: str) -> None:
    if key in VALUES:
        column, read = VALUES[key]
        _set(found, column, read(text))
    elif key == "rtt":
        rtt, _, var = text.partition("/")
        _set(found, "rtt_ns", _ms(rtt))
        _set(found, "rttvar_ns", _ms(var))
    elif key == "wscale":
        sent, _, received = text.partition(",")
        _set(found, "snd_wscale", integer(sent))
        _set(found, "rcv_wscale", integer(received))
    elif key == "retrans":
        now, _, total = text.partition("/")
        _set(found, "retrans_out_packets", integer(now))
        _set(found, "retrans_packets", integer(total))
    elif key in ("rwnd_limited", "sndbuf_limited"):
        match = _LIMITED.match(text)
        if not match:
            raise Unreadable(f"'{key}:{text}' is not a time with a share")
        _set(found, f"{key}_ns", _ms(match[1]))
    elif key == "dctcp" and text == "fallback_mode":
        _set(found, "dctcp_enabled", value=False)
    elif key not in OMITTED:
        found.unknown.append(key)


def _inner(found: Fields, key: str, inside: str) -> None:
    if key == "skmem":
        for part in inside.split(","):
            if part[:2] in BUFFERS:
                _set(found, BUFFERS[part[:2]], integer(part[2:]))
        return
    if key not in INNER:
        if key not in OMITTED:
            found.unknown.append(key)
        return
    if key == "dctcp":
        _set(found, "dctcp_enabled", value=True)
    for part in inside.split(","):
        name, _, text = part.partition(":")
        if name in INNER[key]:
            column, read = INNER[key][name]
            _set(found, column, read(text))
        else:
            found.unknown.append(f"{key}.{name}")


def _rated(found: Fields, word: str, text: str) -> None:
    rate, _, most = text.partition("/")
    column, read = BARE_WORDS[word]
    _set(found, column, read(rate))
    if most:
        _set(found, "pacing_rate_max_bps", read(most))


def _set(found: Fields, column: str, value: Any) -> None:
    if column in found.columns:
        raise Unreadable(f"'{column}' occurs twice")
    found.columns[column] = value


PAIRS = (
    ("delivery_rate_bps", "app_limited", False),
    ("min_rtt_ns", "notsent_bytes", 0),
    ("bytes_sent", "bytes_retrans", 0),
    ("delivered_packets", "delivered_ce_packets", 0),
    ("bytes_sent", "dsack_dups", 0),
    ("bytes_sent", "reord_seen", 0),
)


def completed(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns plus those that ss omits: zeros, and values that follow from the others.

    ss prints `unacked`, `sacked`, `lost`, `retrans` and `notsent` only if they are not 0.
    """
    complete = dict.fromkeys(
        ("unacked_packets", "sacked_packets", "lost_packets", "retrans_out_packets", "retrans_packets"), 0
    )
    complete |= {"ecn": False, "reordering_packets": 3}
    # Versions of ss that print one of a pair also print the other.
    for known, silent, nothing in PAIRS:
        if known in columns:
            complete[silent] = nothing
    complete |= columns
    if "mss_bytes" in complete and "cwnd_packets" in complete:
        complete["cwnd_bytes"] = complete["cwnd_packets"] * complete["mss_bytes"]
        pipe = (
            complete["unacked_packets"]
            - complete["sacked_packets"]
            - complete["lost_packets"]
            + complete["retrans_out_packets"]
        )
        complete["inflight_packets"] = max(pipe, 0)
        complete["inflight_bytes"] = max(pipe, 0) * complete["mss_bytes"]
    return complete


STATES = (
    "UNKNOWN ESTAB SYN-SENT SYN-RECV FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT UNCONN CLOSE-WAIT LAST-ACK LISTEN CLOSING".split()
)
HEADER = re.compile(r"(?:State +)?(?:Netid +)?(?:State +)?Recv-Q +Send-Q +Local Address:Port.*\Z")
_END = r"\S+:(?:\d+|\*|[A-Za-z][\w.+-]*)"
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
