"""`ss -ti` logs: one connection or all, once or in a loop, with or without times between the samples.

Samples at a sender count acknowledged bytes, not what a receiver's program got: `bytes_received` is set only for
sockets that received more than they sent. `ss_fields` parses fields and rejoins broken lines.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.log_model import FlowLog, Log, Options, rows, sample_times
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import integer
from dumbbell.importers.ss_fields import (
    EXTRA,
    HEADER,
    SOCKET,
    STATES,
    Fields,
    begins_header,
    begins_socket,
    completed,
    fields,
    joined_socket,
    keys,
    mended,
    torn,
    without_marks,
)
from dumbbell.importers.stamps import FORMS, Stamp, leading_stamp, stamp
from dumbbell.results.reader import FLOWS

__all__ = ["NAME", "detect", "read"]

NAME = "ss"
ROUNDING = "rates have one decimal of their unit or three digits, RTTs a microsecond, other times a millisecond"

_SEPARATOR = re.compile(r"-{2,}\Z|={2,}\Z")
_FIELDS = re.compile(r"\b(?:cwnd:\d|rtt:\d|wscale:\d|rto:\d|segs_out:\d|bytes_acked:\d)")
_PROCESSES = re.compile(r'users:\((?:\("[^"]*"(?:,[^,()"]*)*\),?)+\)|timer:\([^()]*\)')
"""Of -p, whose names may hold anything, and of -o."""
_JOINED = re.compile(rf" +(?=(?:{'|'.join(STATES)}) +\d+ +\d+ +\S+:\S+ +\S+:)")
"""Where `echo $(ss -tin)` joined lines."""
BARE = "socket"
MOST_LINES = 100
"""Lines of one socket's fields; a terminal of 20 columns breaks ss's output into half as many."""
RIGHT = "the unmodified output of ss -tin"
RIGHT_LINE = f"{RIGHT}, or a time: {FORMS}"


def detect(source: Source) -> bool:
    """Does it have ss's header, or fields that only ss prints?"""
    texts = [_after_stamp(line.text.strip())[1] for line in source.head]
    return any(HEADER.match(text) for text in texts) or sum(len(_FIELDS.findall(text)) for text in texts) >= 2


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` for a line that is not ss's, and for samples without times."""
    source = source.without_prefixes or source
    blocks = _Blocks(source)
    source.through(blocks.take)
    found = blocks.done()
    if not found:
        source.fail("no socket with TCP fields", right="ss -tin, which prints them below each socket")
    times, epoch_ns, notes = sample_times(source, blocks.instants, blocks.begins, options)
    by_socket: dict[str, list[_Block]] = {}
    for block in found:
        by_socket.setdefault(block.name, []).append(block)
    lives = [(name, life) for name, mine in by_socket.items() for life in _lives(mine, source)]
    flows = tuple(_flow(name, life, times, source) for name, life in lives)
    unknown = sorted({key for block in found for key in block.parsed.unknown})
    warnings = [*notes, *([f"skipped unknown fields: {', '.join(unknown)}"] if unknown else [])]
    if len(lives) > len(by_socket):
        warnings.append("counters of a socket start again: a new connection with the same ends is a flow of its own")
    if any(flow.seen["side"] == "receiver" for flow in flows) and any(flow.seen["side"] == "sender" for flow in flows):
        warnings.append("the log has sockets of senders and of receivers: a connection may be in it twice")
    return Log(NAME, max(times), flows, epoch_ns=epoch_ns, warnings=tuple(warnings), rounding=ROUNDING)


@dataclass
class _Block:
    """One socket at one time."""

    name: str
    line: int
    instant: int
    """Number of its sample, from 0."""
    lines: list[Line] = field(default_factory=list)
    """Its lines of fields, rejoined; a line that contained only the rest of a field is empty."""
    pieces: int = 0
    """The number of lines of the log it consists of."""
    keys: set[str] = field(default_factory=set)
    columns: dict[str, Any] = field(default_factory=dict)
    parsed: Fields = field(default_factory=Fields)


@dataclass
class _Blocks:
    """Group lines into blocks and blocks into samples: a time, a header, or a repeated socket starts a sample."""

    source: Source
    found: list[_Block] = field(default_factory=list)
    instants: list[Stamp | None] = field(default_factory=list)
    """The time of each sample, if any."""
    begins: list[int] = field(default_factory=list)
    """The first line of each sample, including samples without TCP sockets."""
    open: _Block | None = None
    begun: Line | None = None
    """A header or a socket's line, as far as it was read."""
    seen: set[str] = field(default_factory=set)
    fresh: bool = False
    """Has a sample started that has no socket yet?"""

    def take(self, line: Line) -> None:
        for text in _JOINED.split(line.text):
            self._take(Line(line.number, text, line.stamp))

    def _take(self, line: Line) -> None:
        text = line.text.strip()
        if not text:
            return  # Empty lines also occur between the lines of a sample, in double-spaced text.
        if self._goes_on(text):
            return
        if (time := stamp(text)) is not None:
            self._close()
            self._begin(time, line)
            return
        time, text = (line.stamp, text) if line.stamp else _after_stamp(text)
        if _SEPARATOR.match(text):
            self._close()
        elif HEADER.match(text) or begins_header(text):
            self._close()
            self.begun = Line(line.number, text, time)
            if not self.fresh or time is not None:
                self._begin(time, line)
        elif SOCKET.match(text) or begins_socket(text):
            self._close()
            self.begun = Line(line.number, text, time)
        else:
            self._more(Line(line.number, text, time), text)

    def _goes_on(self, text: str) -> bool:
        """Is this line the rest of a header or of a socket's line? If not, that line is complete."""
        begun, self.begun = self.begun, None
        if begun is None:
            return False
        if begins_header(begun.text):
            if begins_header(begun.text + text):
                self.begun = Line(begun.number, begun.text + text, begun.stamp)
            return self.begun is not None
        if (complete_line := joined_socket(begun.text, text)) is not None:
            self.begun = Line(begun.number, complete_line, begun.stamp)
            return True
        self._socket(begun)
        return False

    def done(self) -> list[_Block]:
        """All blocks, after the last line."""
        if self.begun is not None and not begins_header(self.begun.text):
            self._socket(self.begun)
        self._close()
        if self.fresh and self.instants:
            self.instants.pop()
            self.begins.pop()
        return self.found

    def _begin(self, time: Stamp | None, line: Line) -> None:
        if self.fresh:
            # A time without sockets: none was open.
            self.instants.pop()
            self.begins.pop()
        self.instants.append(time)
        self.begins.append(line.number)
        self.seen = set()
        self.fresh = True

    def _socket(self, line: Line) -> None:
        match = SOCKET.match(line.text)
        if match is None:
            self.source.fail("not a socket of ss", line=line.number, value=line.text, right=RIGHT)
        name = f"{match['local']} {match['peer']}"
        with self.source.reading(line.number, line.text):
            columns = {"recv_q_bytes": integer(match["recv"]), "send_q_bytes": integer(match["send"])}
        if match["state"]:
            columns["state"] = STATES.index(match["state"])
        self._join(name, line, columns)
        # With -O the fields are on the same line, after those of -p and -o.
        rest = without_marks(_PROCESSES.sub("", match["rest"]).strip())
        if _FIELDS.search(rest):
            self._more(line, rest)

    def _join(self, name: str, line: Line, columns: dict[str, Any]) -> _Block:
        # A time before the line is its socket's; of two sockets in one sample the second may be microseconds later.
        later = line.stamp is not None and (not self.instants or self.instants[-1] != line.stamp)
        if name in self.seen or not self.instants or later:
            self._begin(line.stamp, line)
        self.fresh = False
        self.seen.add(name)
        self.open = _Block(name, line.number, len(self.instants) - 1, columns=columns)
        return self.open

    def _more(self, line: Line, text: str) -> None:
        """Fields of the current block, or of a new one without a socket's line."""
        text = without_marks(text)
        if not text:
            return
        block = self.open or self._join(BARE, line, {})
        before = block.lines[-1].text if block.lines else ""
        complete_before, rest = mended(before, text) if before else ("", text)
        if block.name == BARE and block.keys & keys(rest):
            self._close()
            block, before, complete_before, rest = self._join(BARE, line, {}), "", "", text
        block.pieces += 1
        if block.pieces > MOST_LINES:
            self.source.fail(f"a socket with more than {MOST_LINES} lines", line=line.number, value=text, right=RIGHT)
        if complete_before != before:
            block.lines[-1] = Line(block.lines[-1].number, complete_before)
            block.keys |= keys(complete_before.rpartition(" ")[2])
        if rest:
            block.lines.append(Line(line.number, rest))
            block.keys |= keys(rest)

    def _close(self) -> None:
        block, self.open = self.open, None
        if block is None or not block.lines:
            return  # A socket without fields: listening, or sampled without -i.
        known: set[str] = set()
        for line in block.lines:
            with self.source.reading(line.number, line.text):
                found = fields(line.text)
            foreign = not found.columns and line is block.lines[0] and (found.cc is None or found.unknown)
            if foreign or len(found.unknown) > len(found.columns):
                self.source.fail("not a line of ss", line=line.number, value=line.text, right=RIGHT_LINE)
            ends = {"first": line is block.lines[0], "last": line is block.lines[-1]}
            if (piece := torn(line.text, found, **ends)) is not None:
                right = "the output of ss -tin with each socket on one line, or broken between its fields"
                self.source.fail(
                    f"'{piece}' is not part of any known field", line=line.number, value=line.text, right=right
                )
            if twice := known & set(found.columns):
                right = "a header or a time between the samples of a loop"
                self.source.fail(f"'{min(twice)}' occurs twice", line=line.number, value=line.text, right=right)
            known |= set(found.columns)
        with self.source.reading(block.line):
            block.parsed = fields(" ".join(line.text for line in block.lines))
        self.found.append(block)


def _after_stamp(text: str) -> tuple[Stamp | None, str]:
    """The time before a line, if there is one, and the line."""
    found = leading_stamp(text)
    if found is None and (since := leading_stamp(text, since=True)) is not None:
        # `0.208 ato:40` is the rest of `rtt:0.669/0.208`.
        found = since if SOCKET.match(since[1].strip()) or HEADER.match(since[1].strip()) else None
    return (found[0], found[1].strip()) if found and found[1].strip() else (None, text)


COUNTERS = ("bytes_acked", "bytes_sent", "socket_bytes_received", "segs_out", "segs_in")
"""They only grow during a connection."""


def _lives(blocks: list[_Block], source: Source) -> list[list[_Block]]:
    """The connections with these ends, one after the other. Raises `ImportProblem` where a single counter falls."""
    lives, before = [blocks[:1]], blocks[0]
    for block in blocks[1:]:
        known = [name for name in COUNTERS if name in block.parsed.columns and name in before.parsed.columns]
        fallen = [name for name in known if block.parsed.columns[name] < before.parsed.columns[name]]
        grown = [name for name in known if block.parsed.columns[name] > before.parsed.columns[name]]
        if fallen and grown:
            low, high = (each.parsed.columns[fallen[0]] for each in (block, before))
            source.fail(
                f"{fallen[0]} falls from {high} to {low}, while {grown[0]} grows", line=block.line,
                right="one log per file; a new connection starts all its counters again",
            )  # fmt: skip
        if fallen:
            lives.append([])
        lives[-1].append(block)
        before = block
    return lives


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
        source.fail("a number that exceeds its column", line=blocks[0].line)
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
    """The increase of a counter over the log; None for one sample, or after a reset."""
    first, last = (block.parsed.columns.get(column, 0) for block in (blocks[0], blocks[-1]))
    return int(last - first) if len(blocks) > 1 and last >= first else None
