"""`ss -ti` logs: one connection or all, taken once or in a loop, with or without times between the samples.

What was sampled at a sender says what was acknowledged, not what a receiver's program got: `bytes_received` is
filled only for a socket that received more than it sent. Fields are `ss_fields`', times `clock`'s.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.clock import is_absolute, stamp_ns
from dumbbell.importers.model import FlowLog, Log, Options
from dumbbell.importers.quantity import whole
from dumbbell.importers.source import Line, Source
from dumbbell.importers.ss_fields import EXTRA, Fields, completed, fields
from dumbbell.importers.tables import rows
from dumbbell.result import FLOWS

__all__ = ["NAME", "looks", "read"]

NAME = "ss"
ROUNDING = "rates have one decimal of their unit or three digits, RTTs a microsecond, other times a millisecond"

STATES = (
    "UNKNOWN ESTAB SYN-SENT SYN-RECV FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT UNCONN CLOSE-WAIT LAST-ACK LISTEN CLOSING".split()
)
_HEADER = re.compile(r"(?:State +)?(?:Netid +)?(?:State +)?Recv-Q +Send-Q +Local Address:Port.*\Z")
_SOCKET = re.compile(
    rf"(?:(?:tcp|mptcp|u_str) +)?(?:(?P<state>{'|'.join(STATES)}) +)?(?P<recv>\d+) +(?P<send>\d+) +"
    r"(?P<local>\S+:(?:\d+|\*|[a-z][\w-]*)) +(?P<peer>\S+:(?:\d+|\*|[a-z][\w-]*))(?P<rest>.*)\Z",
    re.ASCII,
)
_SEPARATOR = re.compile(r"-{2,}\Z|={2,}\Z")
_FIELDS = re.compile(r"\b(?:cwnd:\d|rtt:\d|wscale:\d|rto:\d|segs_out:\d|bytes_acked:\d)")
BARE = "socket"


def looks(source: Source) -> bool:
    """Has it ss's header, or fields that only ss prints?"""
    texts = [line.text.strip() for line in source.head]
    return any(_HEADER.match(text) for text in texts) or sum(len(_FIELDS.findall(text)) for text in texts) >= 2


def read(source: Source, options: Options) -> Log:
    """Read it. Raises `ImportProblem` for a line that is none of ss's, and for samples without times."""
    blocks = _Blocks(source)
    source.through(blocks.take)
    found = blocks.done()
    if not found:
        source.fail("no socket with TCP's fields in it", right="ss -tin prints them below each socket")
    times, epoch_ns = _times(source, found, blocks, options)
    by_socket: dict[str, list[_Block]] = {}
    for block in found:
        by_socket.setdefault(block.name, []).append(block)
    flows = tuple(_flow(name, mine, times, source) for name, mine in by_socket.items())
    unknown = sorted({key for block in found for key in block.parsed.unknown})
    warnings = [f"fields that this Dumbbell doesn't know are left out: {', '.join(unknown)}"] if unknown else []
    if any(flow.seen["side"] == "receiver" for flow in flows) and any(flow.seen["side"] == "sender" for flow in flows):
        warnings.append("sockets of senders and of receivers are in one log: a connection may be in it twice")
    return Log(NAME, max(times), flows, epoch_ns=epoch_ns, warnings=tuple(warnings), rounding=ROUNDING)


@dataclass
class _Block:
    """One socket at one time."""

    name: str
    line: int
    instant: int
    """Which sample it belongs to, from 0."""
    text: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    parsed: Fields = field(default_factory=Fields)


@dataclass
class _Blocks:
    """Lines become blocks, blocks samples: a time, a header, or a socket that was there already begins a sample."""

    source: Source
    found: list[_Block] = field(default_factory=list)
    instants: list[int | None] = field(default_factory=list)
    """The time of each sample, as far as one stands there."""
    begins: list[int] = field(default_factory=list)
    """The line with which each sample begins; samples without a socket that TCP says anything of count too."""
    open: _Block | None = None
    seen: set[str] = field(default_factory=set)
    fresh: bool = False
    """Has a sample begun that holds no socket yet?"""

    def take(self, line: Line) -> None:
        text = line.text.strip()
        if not text:
            self._close(bare_only=True)
        elif _SEPARATOR.match(text):
            self._close()
        elif (time_ns := stamp_ns(text)) is not None:
            self._close()
            self._begin(time_ns, line)
        elif _HEADER.match(text):
            self._close()
            if not self.fresh:
                self._begin(None, line)
        elif match := _SOCKET.match(text):
            self._socket(line, match)
        else:
            self._more(line, text)

    def done(self) -> list[_Block]:
        self._close()
        if self.fresh and self.instants:
            self.instants.pop()
            self.begins.pop()
        return self.found

    def _begin(self, time_ns: int | None, line: Line) -> None:
        if self.fresh:
            # A time and no socket: nothing was open then.
            self.instants.pop()
            self.begins.pop()
        self.instants.append(time_ns)
        self.begins.append(line.number)
        self.seen = set()
        self.fresh = True

    def _socket(self, line: Line, match: re.Match[str]) -> None:
        self._close()
        name = f"{match['local']} {match['peer']}"
        self._join(name, line)
        assert self.open is not None
        self.open.columns = {"recv_q_bytes": whole(match["recv"]), "send_q_bytes": whole(match["send"])}
        if match["state"]:
            self.open.columns["state"] = STATES.index(match["state"])
        # With -O the fields stand on the same line, behind -p's and -o's words.
        rest = re.sub(r"(?:users|timer):\(\S*(?: \S*)*?\)+(?=\s|\Z)", "", match["rest"]).strip()
        if _FIELDS.search(rest):
            self.open.text.append(rest)

    def _join(self, name: str, line: Line) -> None:
        if name in self.seen or not self.instants:
            self._begin(None, line)
        self.fresh = False
        self.seen.add(name)
        self.open = _Block(name, line.number, len(self.instants) - 1)

    def _more(self, line: Line, text: str) -> None:
        if self.open is None:
            self._join(BARE, line)
        assert self.open is not None
        if self.open.name == BARE and self.open.text and _begins_again(" ".join(self.open.text), text):
            self._close()
            self._join(BARE, line)
        # Whether it is one of ss's lines; the block is read as a whole later.
        known = fields(text)
        if not known.columns and not (self.open.text or (known.cc and not known.unknown)):
            self.source.fail("no line of ss's", line=line.number, value=text, right="the output of ss -tin, as it is")
        if len(known.unknown) > len(known.columns):
            self.source.fail("no line of ss's", line=line.number, value=text, right="the output of ss -tin, as it is")
        self.open.text.append(text)

    def _close(self, *, bare_only: bool = False) -> None:
        block = self.open
        if block is None or (bare_only and block.name != BARE):
            return
        self.open = None
        if not block.text:
            return  # A socket without fields: listening, or taken without -i.
        with self.source.reading(block.line):
            block.parsed = fields(" ".join(block.text))
        self.found.append(block)


def _begins_again(so_far: str, text: str) -> bool:
    """Has a bare block a key of this line already?"""
    keys = {match.split(":")[0] for match in re.findall(r"[a-z_]+:", so_far)}
    first = re.findall(r"([a-z_]+):", text)
    return bool(keys & set(first))


def _times(source: Source, found: list[_Block], blocks: _Blocks, options: Options) -> tuple[list[int], int | None]:
    """Each sample's time from the first's, and when that was."""
    instants = blocks.instants
    stamped = [time for time in instants if time is not None]
    if len(stamped) == len(instants):
        for block in found:
            if block.instant and stamped[block.instant] < stamped[block.instant - 1]:
                source.fail("a sample that is older than the one before it", line=block.line)
        return [time - stamped[0] for time in stamped], stamped[0] if is_absolute(stamped[0]) else None
    if stamped:
        right = "a time before every sample, or none and --interval"
        source.fail(
            "some samples have a time, this one has none", line=blocks.begins[instants.index(None)], right=right
        )
    if len(instants) > 1 and options.interval_ns is None:
        right = "say how far apart they were taken, such as --interval 0.1s"
        source.fail("samples without times", line=blocks.begins[1], right=right)
    return [position * (options.interval_ns or 0) for position in range(len(instants))], None


def _flow(name: str, blocks: list[_Block], times: list[int], source: Source) -> FlowLog:
    receives = _received(blocks[-1]) > blocks[-1].parsed.columns.get("bytes_acked", 0)
    found = []
    for block in blocks:
        row = completed(block.parsed.columns) | block.columns | {"time_ns": times[block.instant]}
        if receives:
            row["bytes_received"] = row.get("socket_bytes_received")
        found.append(row)
    table = rows("flows", [{key: value for key, value in row.items() if key in FLOWS} for row in found])
    try:
        more = pl.DataFrame([{key: row.get(key) for key in EXTRA} for row in found], schema=EXTRA, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        source.fail("a number that no column holds", line=blocks[0].line)
    ccs = list(dict.fromkeys(block.parsed.cc for block in blocks if block.parsed.cc))
    last = blocks[-1].parsed.columns
    return FlowLog(
        label=name,
        table=pl.concat([table, more], how="horizontal"),
        cc=ccs[-1] if ccs else None,
        start_ns=times[blocks[0].instant],
        stop_ns=times[blocks[-1].instant],
        retransmits=None if receives else _grown(blocks, "retrans_packets"),
        data_segs_out=None if receives or "data_segs_out" not in last else _grown(blocks, "data_segs_out"),
        seen={"socket": name, "side": "receiver" if receives else "sender", "controllers": ccs},
    )


def _received(block: _Block) -> int:
    return int(block.parsed.columns.get("socket_bytes_received", 0))


def _grown(blocks: list[_Block], column: str) -> int | None:
    """How far a counter went while the log was taken; None for one sample, or where it began again."""
    first, last = (block.parsed.columns.get(column, 0) for block in (blocks[0], blocks[-1]))
    return int(last - first) if len(blocks) > 1 and last >= first else None
