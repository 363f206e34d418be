"""The events of a qlog, one by one: JSON, JSON-SEQ (RFC 7464, records behind 0x1e) and NDJSON, read in pieces.

Memory holds a piece and one event, whatever the file's size. What surrounds the events of a document, such as how its
times count, may stand behind them; if it then changes what the events mean, they are read again. `trace` says what
an event means.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from dumbbell.qlog.file import EVENTS, QlogSource
from dumbbell.qlog.trace import Connections, Head, Trace

__all__ = ["read_traces"]

RECORD = b"\x1e"
MOST_RECORD = 16_000_000
"""Bytes of one event, and of what surrounds all events."""
_EVENTS = re.compile(EVENTS.pattern.decode())
_BLANK = re.compile(r"[\s,\x1e]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)
_MATCHING = {"{": "}", "[": "]"}
LONGEST_MARK = 64
"""Characters that the mark of the events may have, white space included."""


def read_traces(source: QlogSource, warnings: list[str]) -> list[Trace]:
    """The connections of the file. Raises `ImportProblem` for an older draft, and for a record that is no event."""
    head = source.data[:65536]
    if head.lstrip()[:1] == RECORD or not EVENTS.search(head):
        return _sequence(source, warnings)
    heads: list[Head] | None = None
    while True:
        notes: list[str] = []
        found, after = _document(source, heads, notes)
        if all(each.head.clock == known.clock for each, known in zip(found, after, strict=True)):
            warnings += notes
            return [trace for each, known in zip(found, after, strict=True) for trace in each.finished(known)]
        heads = after


def _sequence(source: QlogSource, warnings: list[str]) -> list[Trace]:
    """Records behind 0x1e, or a line each: a header, then events; several such logs one after the other, too."""
    found: list[Connections] = []
    for piece, line, is_last in _records(source):
        value = _record(source, piece, line, is_last=is_last, warnings=warnings)
        if value is None:
            continue
        is_event = "name" in value and "time" in value
        if not found and is_event:
            source.fail("an event before the header", line=line, right="a record with qlog_version")
        if not is_event and (not found or {"qlog_version", "qlog_format", "file_schema", "trace"} & set(value)):
            _check_version(source, value)
            found.append(Connections(source, Head.of(value)))
        else:
            found[-1].take(value, line)
    if not found:
        source.fail("no header", line=1, right="a record with qlog_version")
    return [trace for each in found for trace in each.finished()]


def _records(source: QlogSource) -> Iterator[tuple[bytes, int, bool]]:
    """What is between two marks, its line, and whether nothing follows."""
    mark = RECORD if RECORD in source.data[:4096] else b"\n"
    held: tuple[bytes, int] | None = None
    for part, line in _parts(source, mark):
        text = part.strip()
        if not text:
            continue
        if held is not None:
            yield *held, False
        held = text, line + part.count(b"\n", 0, len(part) - len(part.lstrip()))
    if held is not None:
        yield *held, True


def _parts(source: QlogSource, mark: bytes) -> Iterator[tuple[bytes, int]]:
    rest, line = b"", 1
    for piece in source.pieces():
        *parts, rest = (rest + piece).split(mark)
        for part in parts:
            yield part, line
            line += part.count(b"\n") + (mark == b"\n")
        if len(rest) > MOST_RECORD:
            source.fail(f"a record of more than {MOST_RECORD:,} bytes", line=line)
    yield rest, line


def _record(
    source: QlogSource, piece: bytes, line: int, *, is_last: bool, warnings: list[str]
) -> dict[str, Any] | None:
    try:
        value = json.loads(piece)
    except (ValueError, RecursionError):
        if is_last:
            # A program that a signal ends writes no whole record.
            warnings.append(f"{source.path}: skipped the last record (line {line}): it is cut")
            return None
        source.fail("not a record of qlog", line=line, value=piece[:60].decode("utf-8", "replace"))
    if not isinstance(value, dict):
        source.fail("not a record of qlog", line=line, value=piece[:60].decode("utf-8", "replace"))
    return value


def _check_version(source: QlogSource, value: dict[str, Any]) -> None:
    version = value.get("qlog_version")
    if isinstance(version, str) and re.match(r"(?:draft-0[0-2]|0\.[0-2])\b", version):
        source.fail("an older draft", place="qlog_version", value=version, right="0.3 or later")


class _Window:
    """The part of a text that is being read."""

    def __init__(self, source: QlogSource) -> None:
        self._source = source
        self._pieces = source.pieces()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def more(self) -> bool:
        """Add the next piece; False at the end."""
        if self.ended:
            return False
        piece = next(self._pieces, None)
        self.ended = piece is None
        try:
            added = self._decoder.decode(piece or b"", final=self.ended)
        except UnicodeDecodeError:
            self._source.fail("not UTF-8")
        self.text, self.at = self.text[self.at :] + added, 0
        return True

    def pass_to(self, end: int) -> str:
        """Go on to this place; returns what is passed."""
        passed = self.text[self.at : end]
        self.line += passed.count("\n")
        self.at = end
        return passed


def _document(
    source: QlogSource, known: list[Head] | None, warnings: list[str]
) -> tuple[list[Connections], list[Head]]:
    """One JSON document: the events of each trace one by one, and what is known of the traces at its end."""
    window, around, found = _Window(source), "", list[Connections]()
    is_cut = False
    while not is_cut:
        match = _EVENTS.search(window.text, window.at)
        if match is None:
            around += window.pass_to(max(len(window.text) - LONGEST_MARK, window.at))
            if len(around) > MOST_RECORD:
                source.fail(f"more than {MOST_RECORD:,} bytes around the events", line=window.line)
            if not window.more():
                break
            continue
        around += window.pass_to(match.end())
        place = len(found)
        head = known[place] if known is not None and place < len(known) else _head_so_far(source, around)
        found.append(Connections(source, head))
        is_cut = _take_events(source, window, found[-1])
    around += window.pass_to(len(window.text))
    if is_cut:
        warnings.append(f"{source.path}: the document is cut: its last event may be missing")
        return found, [each.head for each in found]
    try:
        whole = json.loads(around)
    except (ValueError, RecursionError):
        source.fail("invalid JSON around the events", right="complete JSON: was the program stopped?")
    return found, _heads(source, whole, len(found))


def _take_events(source: QlogSource, window: _Window, connections: Connections) -> bool:
    """Read the events of one trace; True if the text ends within them."""
    decoder = json.JSONDecoder()
    while True:
        blank = _BLANK.match(window.text, window.at)
        window.pass_to(blank.end() if blank else window.at)
        if window.at >= len(window.text):
            if window.more():
                continue
            return True
        if window.text[window.at] == "]":
            return False
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except (ValueError, RecursionError):
            if len(window.text) - window.at > MOST_RECORD:
                source.fail(f"an event of more than {MOST_RECORD:,} bytes", line=window.line)
            if _is_closed(window.text, window.at):
                source.fail("not an event of qlog", line=window.line, value=window.text[window.at : window.at + 60])
            if window.more():
                continue
            return True
        if not isinstance(value, dict):
            source.fail("not an event of qlog", line=window.line, value=window.text[window.at : window.at + 60])
        connections.take(value, window.line)
        window.pass_to(end)


def _is_closed(text: str, at: int) -> bool:
    """Does the value that begins here end, rather than the text?"""
    depth = 0
    for match in _TOKEN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth <= 0:
            return not match[0].startswith('"') or match.end() < len(text)
    return depth == 0 and "," in text[at:]


def _head_so_far(source: QlogSource, around: str) -> Head:
    """What stands before the events of the last trace: the text with its open brackets closed."""
    open_: list[str] = []
    for match in _TOKEN.finditer(around):
        if match[0] in _MATCHING:
            open_.append(_MATCHING[match[0]])
        elif open_ and match[0] == open_[-1]:
            open_.pop()
    try:
        heads = _heads(source, json.loads(around + "".join(reversed(open_))), None)
    except (ValueError, RecursionError):
        return Head.of({})
    return heads[-1] if heads else Head.of({})


def _heads(source: QlogSource, whole: Any, count: int | None) -> list[Head]:
    """The heads of the traces that have events."""
    if not isinstance(whole, dict):
        source.fail("not a qlog: no object")
    _check_version(source, whole)
    traces = whole.get("traces", [whole.get("trace", whole)])
    traces = [each for each in traces if isinstance(each, dict)] if isinstance(traces, list) else []
    top = {key: value for key, value in whole.items() if isinstance(value, str)}
    heads = [Head.of({**top, **each}) for each in traces if "events" in each]
    return heads if count is None or len(heads) == count else [Head.of(top)] * count
