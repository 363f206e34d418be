"""iperf3's text, versions 3.0 to 3.18, client's or server's, with one or many streams, in one or both directions.

A sender's intervals have the bytes that its program handed to the socket, a receiver's those it read. Sizes have three
digits; `K`, `M`, `G` before `Bytes` are powers of 1024. The window is in bytes. Below `Server output:` the other end of
the same connections follows. Tests one after another need their start times (`-V`, `--timestamps`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from dumbbell.importers.log_model import (
    Interval,
    Log,
    Options,
    Stream,
    both_directions,
    datagram_columns,
    disagreements,
    flow,
)
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.pasted import command_of, option, words_of
from dumbbell.importers.quantity import NS, integer, iperf_bytes, seconds_ns
from dumbbell.importers.stamps import Kind, Stamp, leading_stamp

__all__ = ["NAME", "detect", "read"]

NAME = "iperf3"
ROUNDING = "three digits per size (0.05 to 0.5 %), hundredths of a second"
SHARE = 0.006

_NUMBER = r"(?:\d+(?:\.\d+)?|-?nan|-?inf)"
_SIZE = r"(\d+(?:\.\d+)?) ([KMGT]?)Bytes"
_ROLE = r"\[(?P<role>[TR]X)-(?P<end_of>[CS])\]"
_ROW = re.compile(
    rf"\[ *(?P<id>\d+|SUM)\](?:{_ROLE})? +(?P<start>\d+\.\d+)- *(?P<stop>\d+\.\d+) +sec +"
    rf"(?P<number>\d+(?:\.\d+)?) (?P<letter>[KMGT]?)Bytes +{_NUMBER} [KMGT]?(?:bits|Bytes)/sec(?P<rest>.*)\Z",
    re.ASCII,
)
_RETRANS_CWND = re.compile(rf" +(?P<again>\d+) +{_SIZE}(?P<end>)\Z", re.ASCII)
_RETRANS = re.compile(r" +(?P<again>\d+)(?: +(?P<end>sender))?\Z", re.ASCII)
_PLAIN = re.compile(r"(?: +(?P<end>sender|receiver))?\Z", re.ASCII)
_DATAGRAMS = re.compile(
    r" +(?P<jitter>\d+\.\d+) ms +(?P<lost>-?\d+)/ *(?P<packets>-?\d+) \([-+\w.]+%\)(?: +(?P<end>sender|receiver))?\Z",
    re.ASCII,
)
_SENT_DATAGRAMS = re.compile(r"(?: +\(?NA\)?)? +(?P<packets>\d+)(?: +(?P<end>sender|receiver))?\Z", re.ASCII)

_HEADER = re.compile(
    r"\[ *ID\](?:\[Role\])? +Interval +Transfer +(?P<rate>Bandwidth|Bitrate) *"
    r"(?P<columns>|Retr(?:ansmits)?|Retr +Cwnd|Jitter +Lost/Total Datagrams|Total Datagrams)\Z"
)
_CONNECTED = re.compile(
    rf"\[ *(?P<id>\d+)\](?:{_ROLE})? local (?P<local>\S+) port (?P<port>\d+) "
    r"connected to (?P<peer>\S+) port (?P<peer_port>\d+)\Z",
    re.ASCII,
)
_QUIET = re.compile(
    r"(?:|(?:- )+-?|-+|Server listening on .*|Control connection MSS \d+"
    r"|Cookie: \S+|Test Complete\. Summary Results:|Interrupt.*"
    r"|CPU Utilization: .*|iperf Done\.|(?:TCP|UDP) window size: .*|Using .*|Target Bitrate: .*|Setting .*"
    r"|(?:TCP|UDP) MSS: \d+.*|Unable to .*|Client authentication .*|Send buffer .*|Receive buffer .*"
    r"|\[ *\w+\](?:\[\w\w-\w\])? Sent \d+ datagrams"
    r"|\[ *\w+\](?:\[\w\w-\w\])?.*datagrams received out-of-order"
    r"|\[ *\w+\](?:\[\w\w-\w\])? \((?:sender|receiver) statistics not available\)"
    r"|(?:Linux|Darwin|FreeBSD|CYGWIN\S*) .*)\Z"
)
_MESSAGE = re.compile(
    r"(?:iperf3: (?:interrupt|error|the (?:client|server)|warning).*|(?:WARNING|warning|WARN)[: ].*)\Z"
)
_TITLED = re.compile(
    r"(?P<title>\S.*?):  (?=Connecting to host |\[ *(?:ID|SUM|\d+)\]|iperf 3\.|Accepted connection|Server listening"
    r"|Control connection|Starting Test|Reverse mode|Test Complete|iperf Done|- - -|Server output)"
)


def detect(source: Source) -> bool:
    """Does it have a line that only iperf3 prints?"""
    if source.detect_json:
        return False
    title = _title(source)
    texts = [line.text.rstrip().removeprefix(title) for line in source.head]
    ours = any(
        _CONNECTED.match(text)
        or re.match(r"(?:Connecting to host .*, port \d+|iperf 3\.|Accepted connection from .*, port \d+)", text)
        or ((header := _HEADER.match(text)) and (header["rate"] == "Bitrate" or header["columns"]))
        for text in texts
    )
    # Rows alone: iperf2 has neither a sender's and a receiver's summary nor roles.
    return ours or any(
        (row := _ROW.match(text)) and (row["role"] or re.search(r"\b(?:sender|receiver)\s*\Z", row["rest"]))
        for text in texts
    )


def _title(source: Source) -> str:
    """What `-T` puts before every line; empty without a title."""
    found = [
        match[0] for line in source.head if (match := _TITLED.match(line.text)) and leading_stamp(line.text) is None
    ]
    return found[0] if found and found.count(found[0]) == len(found) else ""


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` at the first line that is not iperf3's."""
    reading = _Reading(source, options)
    source.through(reading.take)
    reading.finish()
    flows = [(stream, reading.other_end(stream)) for stream in reading.streams()]
    if not flows:
        source.fail("no interval", right="iperf3 prints a line per interval, and a summary at its end")
    alone = [stream for stream, _ in flows]
    both = both_directions(alone)
    warnings = [*reading.warnings, *disagreements(alone, 1, SHARE)]
    if not any(key.endswith("_bytes") for stream in alone for key in stream.seen):
        warnings.append("no summary line: the test was stopped, or the file truncated")
    found = tuple(flow(stream, None, other, both=both) for stream, other in flows)
    return Log(
        format=NAME,
        duration_ns=max(each.stop_ns or 0 for each in found),
        flows=found,
        epoch_ns=reading.epoch_ns,
        warnings=tuple(warnings),
        facts=reading.facts,
        rounding=ROUNDING,
    )


@dataclass
class _Test:
    """One test, or one end of it below `Server output:`."""

    number: int
    line: int
    server: bool | None = None
    """None: the head is missing."""
    reverse: bool = False
    epoch_ns: int | None = None
    mss_bytes: int | None = None
    streams: dict[str, Stream] = field(default_factory=dict)
    columns: str | None = None
    """The columns after the rate, from the last header."""
    summing: bool = False
    totals: dict[str, list[tuple[Line, int, int, str, int | None, int]]] = field(default_factory=dict)
    """Of streams without intervals: line, start, stop, side, retransmits, bytes."""
    controllers: list[str] = field(default_factory=list)
    """`snd_tcp_congestion`: one of both directions, or first that of this end, then that of the other."""
    other: "_Test | None" = None
    stamped: Stamp | None = None


@dataclass
class _Reading:
    source: Source
    options: Options
    tests: list[_Test] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cc: str | None = None
    epoch_ns: int | None = None
    head: dict[str, Any] = field(default_factory=dict)
    """Facts that precede the line by which a test begins."""
    opened: bool = False
    other_side: bool = False

    title: str = ""

    def __post_init__(self) -> None:
        self.title = _title(self.source)
        if self.title:
            self.facts["title"] = self.title.removesuffix(":  ")
        for command in self.source.commands:
            self._command(command)

    @property
    def test(self) -> _Test:
        if not self.tests:
            self.tests.append(_Test(1, 1))
        test = self.tests[-1]
        return test.other if self.other_side and test.other is not None else test

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        text = "" if text == self.title.rstrip() else text.removeprefix(self.title)
        line = Line(line.number, text, line.stamp)
        for pattern, meaning in _MEANINGS:
            if match := pattern.match(text):
                if self.other_side and match.groupdict().get("end_of") == "C" and self.test.server:
                    self.other_side = False  # The client prints its second direction below the server's output.
                meaning(self, line, match)
                return
        if (command := command_of(text)) is not None:
            self._command(command)
        elif not _QUIET.match(text.strip()):
            right = "one test per file, without other programs' output"
            self.source.fail("not a line of iperf3", line=line.number, value=text, right=right)

    def _command(self, command: str) -> None:
        words = words_of(command)
        if not any(word.rpartition("/")[2] in ("iperf3", "iperf") for word in words):
            return
        self.facts["command"] = command
        self.cc = option(words, "-C", "--congestion", "--linux-congestion") or self.cc
        self.head |= {"reverse": "-R" in words or "--reverse" in words}
        if "-s" in words or "--server" in words:
            self.head |= {"server": True}
        elif "-c" in words or "--client" in words:
            self.head |= {"server": False}

    def begin(self, line: Line, match: re.Match[str]) -> None:
        server = match[1] == "Accepted"
        if self.other_side:
            self.test.server = server
            return
        if self.opened:
            self._next(line)
        elif not self.tests:
            self.tests.append(_Test(1, line.number))
        test = self.tests[-1]
        test.server, test.reverse, test.stamped = server, bool(self.head.get("reverse")) and not server, line.stamp
        test.epoch_ns = self.head.pop("epoch_ns", None)
        self.opened = True

    def _next(self, line: Line) -> None:
        """A further test of the same log."""
        before = self.tests[-1]
        if self.head.get("epoch_ns", before.epoch_ns) is None and line.stamp is None:
            right = "one test per file: split it, or iperf3 -V or --timestamps, which print start times"
            self.source.fail("a second test starts here", line=line.number, right=right)
        self.tests.append(_Test(before.number + 1, line.number))
        self.other_side = False

    def server_output(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.test.other = _Test(self.test.number, line.number)
        self.other_side = True

    def message(self, line: Line, match: re.Match[str]) -> None:
        self.warnings.append(f"line {line.number}: {match[0].strip()}")

    def header(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        test = self.test
        test.summing = test.columns is not None and any(stream.intervals for stream in test.streams.values())
        test.columns = re.sub(" +", " ", match["columns"])

    def connected(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        ends = f"{match['local']}:{match['port']} {match['peer']}:{match['peer_port']}"
        self._stream_of(match["id"], match["role"], match["end_of"]).seen["socket"] = ends

    def version(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.facts["version"] = match[1]

    def time(self, line: Line, match: re.Match[str]) -> None:
        try:
            epoch_ns = round(parsedate_to_datetime(match[1]).timestamp()) * NS
        except (ValueError, TypeError, OverflowError):
            self.source.fail("invalid time of day", line=line.number, value=match[1])
        if (self.other_side and self.test.epoch_ns is None and self.test.server is None) or (
            self.opened and self.test.epoch_ns is None and not self.test.streams
        ):
            self.test.epoch_ns = epoch_ns
        else:
            # The client prints it before `Connecting to host`, the server before or after `Accepted connection`.
            self.head["epoch_ns"] = epoch_ns

    def reversed(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.test.reverse = True

    def mss(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.test.mss_bytes = self.test.mss_bytes or integer(match[1]) or None

    def controller(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.test.controllers.append(match[1])

    def starting(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.facts["protocol"] = match[1]

    def row(self, line: Line, match: re.Match[str]) -> None:
        test = self.test
        rest = match["rest"].rstrip()
        omitted = rest.endswith("(omitted)")
        rest = rest.removesuffix("(omitted)").rstrip()
        if test.columns is None:
            # A paste that begins below the header.
            test.columns = _guessed(rest)
        more = self._rest(line, match, rest)
        if match["id"] == "SUM":
            return
        start_ns, stop_ns = seconds_ns(match["start"]), seconds_ns(match["stop"])
        transfer = iperf_bytes(match["number"], match["letter"])
        again = None if more.get("again") is None else integer(more["again"])
        if (more.get("end") or test.summing) and not omitted:
            stream = test.streams.get(match["id"])
            if stream is None:
                stream = self._stream_of(match["id"], match["role"], match["end_of"])
            side = more.get("end") or ("sender" if stream.sends else "receiver")
            self._summary(stream, side, more, transfer)
            test.totals.setdefault(match["id"], []).append((line, start_ns, stop_ns, side, again, transfer))
            return
        stream = self._stream(line, match)
        if omitted:
            stream.omitted += 1
            if stream.omitted == 1:
                self.warnings.append(f"stream {stream.label}: skipped the intervals that iperf3 omitted (-O)")
            return
        columns = {"cwnd_bytes": more["cwnd"]} if "cwnd" in more else {}
        if more.get("jitter") is not None:
            columns |= datagram_columns(more["jitter"], _signed(more["lost"]))
        if self.epoch_ns is None and test is self.tests[0] and line.stamp and line.stamp.kind is Kind.EPOCH:
            self.epoch_ns = max(line.stamp.ns - stop_ns, 0)
        last = stream.intervals[-1] if stream.intervals else None
        if last is not None and (last.start_ns, last.stop_ns, last.transfer_bytes) == (start_ns, stop_ns, transfer):
            self.warnings.append(f"line {line.number}: repeats the row before it, as iperf3 does when it is stopped")
            return
        stream.add(Interval(start_ns, stop_ns, transfer, line.number, again, columns), self.source)

    def _stream_of(self, number: str, role: str | None, end_of: str | None) -> Stream:
        test = self.test
        server = end_of == "S" if end_of else test.server
        sends = role == "TX" if role else not (bool(test.server) or test.reverse)
        if role is None and test.server and test.reverse:
            sends = True
        label = number if test.number == 1 else f"{number} of test {test.number}"
        stream = test.streams.setdefault(number, Stream(label, sends=sends, server=server))
        if role:
            stream.sends, stream.server = sends, server
        return stream

    def _stream(self, line: Line, match: re.Match[str]) -> Stream:
        test = self.test
        stream = self._stream_of(match["id"], match["role"], match["end_of"])
        retransmits = (test.columns or "").startswith("Retr")
        if match["role"] is None and retransmits and not test.summing:
            stream.sends = True
        elif match["role"] is None and test.server is None and not retransmits:
            stream.seen.setdefault("unknown_side_line", line.number)
        if "Datagrams" in (test.columns or ""):
            stream.kind = "udp"
        return stream

    def _rest(self, line: Line, match: re.Match[str], rest: str) -> dict[str, Any]:
        """The values after the rate, by the header's columns."""
        test, total = self.test, match["id"] == "SUM"
        if rest.strip() == "receiver" or (total and rest.strip() in ("", "sender")):
            return {"end": rest.strip() or None}
        receives = match["role"] == "RX" and rest.strip() in ("", "receiver")
        patterns = {
            "Retr Cwnd": (_RETRANS,) if total or test.summing else (_RETRANS_CWND,),
            "Retr": (_RETRANS,),
            "Retransmits": (_RETRANS,),
            "": (_PLAIN,),
            "Jitter Lost/Total Datagrams": (_DATAGRAMS, *((_SENT_DATAGRAMS,) if match["role"] or total else ())),
            "Total Datagrams": (_SENT_DATAGRAMS,),
        }[test.columns or ""]
        if receives or rest.strip() == "sender":
            patterns = (_PLAIN, *patterns)
        if test.columns == "Retr Cwnd" and rest.endswith("sender"):
            patterns = (*patterns, _RETRANS)
        for pattern in patterns:
            if found := pattern.match(rest):
                values: dict[str, Any] = found.groupdict()
                if pattern is _RETRANS_CWND:
                    values["cwnd"] = iperf_bytes(found[2], found[3])
                return values
        return self.source.fail(
            f"expected '{test.columns}' here, as in the header", line=line.number, value=line.text.rstrip()
        )

    def _summary(self, stream: Stream, side: str, more: dict[str, Any], transfer: int) -> None:
        stream.seen[f"{side}_bytes"] = transfer
        for key in ("again", "lost", "packets"):
            if more.get(key) is not None:
                stream.seen[f"{side}_{'retransmits' if key == 'again' else key}"] = _signed(more[key])

    def finish(self) -> None:
        """Settle what only the end of a log shows: sides, totals, controllers, start times."""
        for test in self.tests:
            for part in filter(None, (test, test.other)):
                self._finish(part)
        starts = [test.epoch_ns for test in self.tests]
        if starts[:1] and starts[0] is not None:
            self.epoch_ns = starts[0]
        if self.epoch_ns is None and self.tests and (first := self.head.get("epoch_ns")):
            self.epoch_ns = first
        for test in self.tests[1:]:
            self._place(test)

    def _finish(self, test: _Test) -> None:
        for number, totals in test.totals.items():
            stream = test.streams[number]
            if not stream.intervals:
                self._from_totals(test, number, totals)
        for stream in test.streams.values():
            stream.mss_bytes = (self.options.mss_bytes or test.mss_bytes) if stream.kind == "tcp" else None
            if (line := stream.seen.pop("unknown_side_line", None)) is None:
                continue
            if "sender_retransmits" in stream.seen:
                stream.sends = False  # Only a receiver's intervals lack what the sender's summary has.
            elif "receiver_bytes" in stream.seen and "sender_bytes" not in stream.seen:
                stream.sends = False  # A server that received.
            else:
                self.source.fail(
                    "can't determine whether these bytes were sent or received", line=line,
                    right="keep the first line, 'Connecting to host …' or 'Accepted connection from …'",
                )  # fmt: skip
        two = len(test.controllers) > 1
        for stream in test.streams.values():
            there = bool(test.controllers) and two and not stream.sends
            named = test.controllers[-1 if there else 0] if test.controllers else None
            stream.cc = named or self.cc

    def _from_totals(self, test: _Test, number: str, totals: list[tuple[Line, int, int, str, int | None, int]]) -> None:
        """A stream of which there is only the summary (`-i 0`, a paste of the end): one interval for each side."""
        stream = test.streams[number]
        sides = {side: each for each in totals for side in (each[3],)}
        if not any("only summaries" in warning for warning in self.warnings):
            self.warnings.append("only summaries of streams, no intervals: one row for each")
        first, *rest = [side for side in ("sender", "receiver") if side in sides]
        for side in (first, *rest):
            line, start_ns, stop_ns, _, again, transfer = sides[side]
            if side == first:
                end = stream
                end.sends = side == "sender"
            else:
                test.other = test.other or _Test(test.number, line.number)
                server = None if stream.server is None else not stream.server
                end = Stream(stream.label, sends=False, kind=stream.kind, server=server)
                test.other.streams.setdefault(number, end)
            if stop_ns <= start_ns:
                self.source.fail("a test of no duration", line=line.number, value=line.text)
            end.intervals = [Interval(start_ns, stop_ns, transfer, line.number, again)]

    def _place(self, test: _Test) -> None:
        """Move a further test to its own start."""
        first = self.tests[0]
        if test.epoch_ns is not None and first.epoch_ns is not None:
            shift = test.epoch_ns - first.epoch_ns
        elif test.stamped and first.stamped and test.stamped.kind is first.stamped.kind:
            shift = test.stamped.ns - first.stamped.ns
        else:
            right = "one test per file: split it, or iperf3 -V or --timestamps, which print start times"
            self.source.fail("a second test starts here", line=test.line, right=right)
        before = self.tests[self.tests.index(test) - 1]
        ends = [each.intervals[-1].stop_ns + each.shift_ns for each in before.streams.values() if each.intervals]
        # `Time:` has whole seconds.
        if shift + NS < max(ends, default=0):
            right = "one test per file: split it"
            self.source.fail("a second test starts here, before the first ends", line=test.line, right=right)
        for part in filter(None, (test, test.other)):
            for stream in part.streams.values():
                stream.shift_ns = shift

    def streams(self) -> list[Stream]:
        """All streams of this log's own end; those of the other end that match none."""
        found = [stream for test in self.tests for stream in test.streams.values() if stream.intervals]
        taken = {id(other) for stream in found if (other := self.other_end(stream)) is not None}
        rest = [
            stream
            for test in self.tests
            if test.other is not None
            for stream in test.other.streams.values()
            if stream.intervals and id(stream) not in taken
        ]
        if rest:
            self.warnings.append("streams of the server's part that match none of the client's are flows of their own")
        return found + rest

    def other_end(self, stream: Stream) -> Stream | None:
        """The same connection in the other end's part."""
        for test in self.tests:
            if test.other is None or not any(stream is each for each in test.streams.values()):
                continue
            ends = str(stream.seen.get("socket", "")).split(" ")
            for number, other in test.other.streams.items():
                same = str(other.seen.get("socket", "")).split(" ") == ends[::-1] and len(ends) == 2
                if other.intervals and (same or (test.streams.get(number) is stream and "socket" not in other.seen)):
                    if other.sends == stream.sends:
                        other.sends = not stream.sends
                    return other
        return None


def _guessed(rest: str) -> str:
    """The columns of a row whose header is missing."""
    if _RETRANS_CWND.match(rest):
        return "Retr Cwnd"
    if _DATAGRAMS.match(rest):
        return "Jitter Lost/Total Datagrams"
    return "Retr" if _RETRANS.match(rest) else ""


def _signed(text: str) -> int:
    """Duplicate datagrams make a server report a negative number of losses."""
    return -integer(text[1:]) if text.startswith("-") else integer(text)


_MEANINGS: tuple[tuple[re.Pattern[str], Callable[[_Reading, Line, re.Match[str]], None]], ...] = (
    (_ROW, _Reading.row),
    (_HEADER, _Reading.header),
    (_CONNECTED, _Reading.connected),
    (re.compile(r"(Connecting) to host .+, port \d+\Z"), _Reading.begin),
    (re.compile(r"(Accepted) connection from .+, port \d+\Z"), _Reading.begin),
    (re.compile(r"(?:Server output:|Server output from .*)\Z"), _Reading.server_output),
    (re.compile(r"Reverse mode, remote host .+ is sending\Z"), _Reading.reversed),
    (re.compile(r"iperf (3\.\S+).*\Z"), _Reading.version),
    (re.compile(r" *Time: (.+)\Z"), _Reading.time),
    (re.compile(r" *TCP MSS: (\d{1,6}) \(default\)\Z", re.ASCII), _Reading.mss),
    (re.compile(r" *snd_tcp_congestion (\w+)\Z"), _Reading.controller),
    (re.compile(r" *rcv_tcp_congestion \w+\Z"), lambda *_: None),
    (re.compile(r"Starting Test: protocol: (\w+),.*\Z"), _Reading.starting),
    (_MESSAGE, _Reading.message),
)
