"""iperf3's text, versions 3.0 to 3.18, client's or server's, with one or many streams.

A sender's intervals have the bytes that its program handed to the socket, a receiver's those it read. Sizes have three
digits; `K`, `M`, `G` before `Bytes` are powers of 1024. The window is in bytes.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from dumbbell.importers.log_model import Interval, Log, Options, Stream, disagreements, flow
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import NS, integer, iperf_bytes, seconds_ns

__all__ = ["NAME", "detect", "read"]

NAME = "iperf3"
ROUNDING = "three digits per size (0.05 to 0.5 %), hundredths of a second"
SHARE = 0.006

_STAMP = r"(?:\w{3} +\w{3} +\d+ \d\d:\d\d:\d\d \d{4} +)?"
_SIZE = r"(\d+(?:\.\d+)?) ([KMGT]?)Bytes"
_ROW = re.compile(
    _STAMP + r"\[ *(?P<id>\d+|SUM)\](?:\[(?P<role>[TR]X)-[CS]\])? +(?P<start>\d+\.\d+)- *(?P<stop>\d+\.\d+) +sec +"
    r"(?P<number>\d+(?:\.\d+)?) (?P<letter>[KMGT]?)Bytes +\d+(?:\.\d+)? [KMGT]?(?:bits|Bytes)/sec(?P<rest>.*)\Z",
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
    _STAMP + r"\[ *ID\](?:\[Role\])? +Interval +Transfer +(?:Bandwidth|Bitrate) *"
    r"(?P<columns>|Retr(?:ansmits)?|Retr +Cwnd|Jitter +Lost/Total Datagrams|Total Datagrams)\Z"
)
_CONNECTED = re.compile(
    _STAMP + r"\[ *(?P<id>\d+)\](?:\[[TR]X-[CS]\])? local (?P<local>\S+) port (?P<port>\d+) "
    r"connected to (?P<peer>\S+) port (?P<peer_port>\d+)\Z",
    re.ASCII,
)
_QUIET = re.compile(
    _STAMP + r"(?:|(?:- )+-?|-+|Server listening on .*|Server output:|Control connection MSS \d+"
    r"|Cookie: \S+|Test Complete\. Summary Results:"
    r"|CPU Utilization: .*|iperf Done\.|TCP window size: .*|Using TCP Autotuning|Target Bitrate: .*"
    r"|\[ *\w+\] Sent \d+ datagrams"
    r"|\[ *\w+\].*datagrams received out-of-order"
    r"|\[ *\w+\] \((?:sender|receiver) statistics not available\)|(?:Linux|Darwin|FreeBSD) .*)\Z"
)
_MESSAGE = re.compile(_STAMP + r"(?:iperf3: (?:interrupt|error|the client).*|(?:WARNING|warning|WARN)[: ].*)\Z")
_COMMAND = re.compile(r"(?:\S*[$#] )?(?:\S*/)?iperf3? .*-[a-zA-Z].*\Z")


def detect(source: Source) -> bool:
    """Does it have a line that only iperf3 prints?"""
    if source.detect_json:
        return False
    texts = [line.text.rstrip() for line in source.head]
    ours = any(
        _CONNECTED.match(text)
        or re.match(_STAMP + r"(?:Connecting to host|iperf 3\.|Accepted connection from .*, port \d+)", text)
        for text in texts
    )
    return ours or any(_HEADER.match(text) and "Bitrate" in text for text in texts)


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` at the first line that is not iperf3's."""
    reading = _Reading(source, mss_bytes=options.mss_bytes)
    source.through(reading.take)
    streams = [stream for stream in reading.streams.values() if stream.intervals]
    if not streams:
        source.fail("no interval", right="iperf3 prints a line per interval unless run with -i 0")
    warnings = [*reading.warnings, *disagreements(streams, 1, SHARE)]
    if not any(key.endswith("_bytes") for stream in streams for key in stream.seen):
        warnings.append("no summary line: the test was stopped, or the file truncated")
    return Log(
        format=NAME,
        duration_ns=max(stream.intervals[-1].stop_ns for stream in streams),
        flows=tuple(flow(stream, reading.cc) for stream in streams),
        epoch_ns=reading.epoch_ns,
        warnings=tuple(warnings),
        facts=reading.facts,
        rounding=ROUNDING,
    )


@dataclass
class _Reading:
    source: Source
    streams: dict[str, Stream] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cc: str | None = None
    epoch_ns: int | None = None
    columns: str | None = None
    """The columns after the rate, from the last header."""
    summing: bool = False
    opened: bool = False
    server: bool = False
    reverse: bool = False
    mss_bytes: int | None = None

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        for pattern, meaning in _MEANINGS:
            if match := pattern.match(text):
                meaning(self, line, match)
                return
        if not _QUIET.match(text.strip()):
            self.source.fail(
                "not a line of iperf3",
                line=line.number,
                value=text,
                right="one test per file, without other programs' output",
            )

    def begin(self, line: Line, match: re.Match[str]) -> None:
        if self.opened:
            self.source.fail("a second test starts here", line=line.number, right="one test per file: split it")
        self.opened = True
        self.server = match[1] == "Accepted"

    def command(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.facts["command"] = match[0].strip()
        try:
            words = shlex.split(match[0])
        except ValueError:
            return
        for flag in ("-C", "--congestion"):
            if flag in words[:-1]:
                self.cc = words[words.index(flag) + 1]

    def message(self, line: Line, match: re.Match[str]) -> None:
        self.warnings.append(f"line {line.number}: {match[0].strip()}")

    def header(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.summing = self.columns is not None and any(stream.intervals for stream in self.streams.values())
        self.columns = re.sub(" +", " ", match["columns"])

    def connected(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.streams.setdefault(match["id"], Stream(match["id"], sends=not (self.server or self.reverse))).seen[
            "socket"
        ] = f"{match['local']}:{match['port']} {match['peer']}:{match['peer_port']}"

    def version(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.facts["version"] = match[1]

    def time(self, line: Line, match: re.Match[str]) -> None:
        try:
            self.epoch_ns = round(parsedate_to_datetime(match[1]).timestamp()) * NS
        except (ValueError, TypeError, OverflowError):
            self.source.fail("invalid time of day", line=line.number, value=match[1])

    def reversed(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.reverse = True

    def mss(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.mss_bytes = self.mss_bytes or integer(match[1])

    def controller(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.cc = match[1]

    def starting(self, line: Line, match: re.Match[str]) -> None:  # noqa: ARG002
        self.facts["protocol"] = match[1]

    def row(self, line: Line, match: re.Match[str]) -> None:
        if self.columns is None:
            self.source.fail(
                "an interval before any header", line=line.number, right="iperf3 prints '[ ID] Interval …' first"
            )
        rest = match["rest"].rstrip()
        omitted = rest.endswith("(omitted)")
        more = self._rest(line, rest.removesuffix("(omitted)").rstrip(), total=match["id"] == "SUM")
        if match["id"] == "SUM":
            return
        stream = self._stream(line, match)
        if omitted:
            stream.omitted += 1
            if stream.omitted == 1:
                self.warnings.append(f"stream {stream.label}: skipped the intervals that iperf3 omitted (-O)")
            return
        start_ns, stop_ns = seconds_ns(match["start"]), seconds_ns(match["stop"])
        transfer = iperf_bytes(match["number"], match["letter"])
        if more.get("end") or self.summing:
            self._summary(stream, more, transfer)
            return
        columns = {"cwnd_bytes": more["cwnd"]} if "cwnd" in more else {}
        again = None if more.get("again") is None else integer(more["again"])
        stream.add(Interval(start_ns, stop_ns, transfer, line.number, again, columns), self.source)

    def _stream(self, line: Line, match: re.Match[str]) -> Stream:
        stream = self.streams.setdefault(match["id"], Stream(match["id"], sends=not (self.server or self.reverse)))
        if match["role"]:
            stream.sends = match["role"] == "TX"
        elif not self.opened and not (self.columns or "").startswith("Retr"):
            self.source.fail(
                "can't determine whether these bytes were sent or received", line=line.number,
                right="keep the first line, 'Connecting to host …' or 'Accepted connection from …'",
            )  # fmt: skip
        elif (self.columns or "").startswith("Retr") and not self.summing:
            stream.sends = True
        if "Datagrams" in (self.columns or ""):
            stream.kind = "udp"
        stream.mss_bytes = self.mss_bytes
        return stream

    def _rest(self, line: Line, rest: str, *, total: bool) -> dict[str, Any]:
        """The values after the rate, by the header's columns."""
        if rest.strip() == "receiver" or (total and rest.strip() in ("", "sender")):
            return {"end": rest.strip() or None}
        pattern = {
            "Retr Cwnd": _RETRANS if total or self.summing else _RETRANS_CWND,
            "Retr": _RETRANS,
            "Retransmits": _RETRANS,
            "": _PLAIN,
            "Jitter Lost/Total Datagrams": _DATAGRAMS,
            "Total Datagrams": _SENT_DATAGRAMS,
        }[self.columns or ""]
        match = pattern.match(rest)
        if not match:
            self.source.fail(
                f"expected '{self.columns}' here, as in the header", line=line.number, value=line.text.rstrip()
            )
        found: dict[str, Any] = match.groupdict()
        if pattern is _RETRANS_CWND:
            found["cwnd"] = iperf_bytes(match[2], match[3])
        return found

    def _summary(self, stream: Stream, more: dict[str, Any], transfer: int) -> None:
        side = more.get("end") or ("sender" if stream.sends else "receiver")
        stream.seen[f"{side}_bytes"] = transfer
        for key in ("again", "lost", "packets"):
            if more.get(key) is not None:
                stream.seen[f"{side}_{'retransmits' if key == 'again' else key}"] = _signed(more[key])


def _signed(text: str) -> int:
    """Duplicate datagrams make a server report a negative number of losses."""
    return -integer(text[1:]) if text.startswith("-") else integer(text)


_MEANINGS: tuple[tuple[re.Pattern[str], Callable[[_Reading, Line, re.Match[str]], None]], ...] = (
    (_ROW, _Reading.row),
    (_HEADER, _Reading.header),
    (_CONNECTED, _Reading.connected),
    (re.compile(_STAMP + r"(Connecting) to host .+, port \d+\Z"), _Reading.begin),
    (re.compile(_STAMP + r"(Accepted) connection from .+, port \d+\Z"), _Reading.begin),
    (re.compile(_STAMP + r"Reverse mode, remote host .+ is sending\Z"), _Reading.reversed),
    (re.compile(r"iperf (3\.\S+).*\Z"), _Reading.version),
    (re.compile(r" *Time: (.+)\Z"), _Reading.time),
    (re.compile(r" *TCP MSS: (\d{1,6}) \(default\)\Z", re.ASCII), _Reading.mss),
    (re.compile(r" *snd_tcp_congestion (\w+)\Z"), _Reading.controller),
    (re.compile(r" *rcv_tcp_congestion \w+\Z"), lambda *_: None),
    (re.compile(r"Starting Test: protocol: (\w+),.*\Z"), _Reading.starting),
    (_MESSAGE, _Reading.message),
    (_COMMAND, _Reading.command),
)
