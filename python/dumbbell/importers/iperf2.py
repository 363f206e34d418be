"""iperf2's text, versions 2.0 and 2.1, with and without `-e`.

An interval has the bytes that the program handed to its socket (client) or read (server), with three digits of powers
of 1024; `-e` adds writes, retransmits, the window in K of 1024 and the RTT in microseconds.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from dumbbell.importers.log_model import SLACK_NS, Interval, Log, Options, Stream, flow
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import integer, iperf_bytes, seconds_ns

__all__ = ["NAME", "detect", "read"]

NAME = "iperf2"
ROUNDING = "three digits per size (0.05 to 0.5 %), the window in K, tenths of a second unless -e"

_STAMP = r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? )?"
_ROW = re.compile(
    _STAMP + r"\[ *(?P<id>\d+|SUM(?:-\d+)?)\] +(?P<start>\d+\.\d+) *- *(?P<stop>\d+\.\d+) +sec +"
    r"(?P<number>\d+(?:\.\d+)?) (?P<letter>[KMGT]?)Bytes +\d+(?:\.\d+)? [KMGT]?(?:bits|Bytes)/sec(?P<rest>.*)\Z",
    re.ASCII,
)
_ENHANCED = re.compile(
    r" +\d+/\d+ +(?P<again>\d+) +(?P<cwnd>\d+)(?P<unit>[KMG]?)/(?P<rtt>\d+)(?:\((?P<var>\d+)\))? us(?: +\S+)?\Z",
    re.ASCII,
)
_DATAGRAMS = re.compile(r" +\d+\.\d+ ms +(?P<lost>\d+)/ *(?P<packets>\d+) \([-+\w.]+%\).*\Z", re.ASCII)
_HEADER = re.compile(_STAMP + r"\[ *ID\] Interval +Transfer +Bandwidth(?P<more>.*)\Z")
_CONNECTED = re.compile(
    _STAMP + r"\[ *(?P<id>\d+)\] local (?P<local>\S+) port (?P<port>\d+) connected with "
    r"(?P<peer>\S+) port (?P<peer_port>\d+)(?P<more>.*)\Z",
    re.ASCII,
)
_CONNECTING = re.compile(
    _STAMP + r"(Client connecting to .+, (TCP|UDP) port \d+.*|Server listening on (TCP|UDP) port \d+.*)\Z"
)
_CONTROLLER = re.compile(_STAMP + r"TCP congestion control (?:set to|using) (\w+).*\Z", re.I)
_QUIET = re.compile(
    _STAMP + r"(?:|-+|=+|(?:Read|Write) buffer size: .*|TCP window size: .*|UDP buffer size: .*|TOS .*"
    r"|Binding to .*|Sending \d+ byte datagrams.*|Receiving \d+ byte datagrams.*"
    r"|IPG target: .*|\[ *\d+\] Sent \d+ datagrams|\[ *\d+\] Server Report:"
    r"|\[ *\d+\].*datagrams received out-of-order|Event based writes.*|Clock sync.*)\Z"
)
_MESSAGE = re.compile(_STAMP + r"(?:WARNING|WARN|warning|ERROR|error|write failed|read failed|connect failed)\b.*\Z")
_COMMAND = re.compile(r"(?:\S*[$#] )?(?:\S*/)?iperf2? .*-[a-zA-Z].*\Z")
_MSS = re.compile(r"icwnd/mss/irtt=\d+/(\d{1,6})/")


def detect(source: Source) -> bool:
    """Does it have a line that only iperf2 prints?"""
    return any(_CONNECTING.match(line.text.rstrip()) or _CONNECTED.match(line.text.rstrip()) for line in source.head)


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` at the first line that is not iperf2's."""
    reading = _Reading(source, options.mss_bytes)
    source.through(reading.take)
    streams = [stream for stream in reading.streams.values() if stream.intervals]
    if not streams:
        source.fail("no interval", right="iperf -i 1 prints a line per second")
    warnings = list(reading.warnings)
    if any("whole_bytes" not in stream.seen for stream in streams):
        warnings.append("no line for the whole test: it was stopped, or the file truncated")
    return Log(
        format=NAME,
        duration_ns=max(stream.intervals[-1].stop_ns for stream in streams),
        flows=tuple(flow(stream, reading.cc) for stream in streams),
        warnings=tuple(warnings),
        facts=reading.facts,
        rounding=ROUNDING,
    )


@dataclass
class _Reading:
    source: Source
    mss_bytes: int | None = None
    streams: dict[str, Stream] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cc: str | None = None
    client: bool | None = None
    kind: str = "tcp"
    header: str | None = None

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        if match := _ROW.match(text):
            self.row(line, match)
        elif match := _HEADER.match(text):
            self.header = match["more"].strip()
        elif match := _CONNECTED.match(text):
            self.connected(line, match)
        elif match := _CONNECTING.match(text):
            self.connecting(line, match)
        elif match := _CONTROLLER.match(text):
            self.cc = match[1]
        elif _MESSAGE.match(text):
            self.warnings.append(f"line {line.number}: {text}")
        elif _COMMAND.match(text):
            self.facts["command"] = text
        elif not _QUIET.match(text.strip()):
            right = "one test per file, without other programs' output"
            self.source.fail("not a line of iperf2", line=line.number, value=text, right=right)

    def connecting(self, line: Line, match: re.Match[str]) -> None:
        if self.client is not None:
            self.source.fail("a second test starts here", line=line.number, right="one test per file: split it")
        self.client = match[1].startswith("Client")
        self.kind = (match[2] or match[3]).lower()

    def connected(self, line: Line, match: re.Match[str]) -> None:
        if self.client is None:
            right = "keep the first lines, 'Client connecting to …' or 'Server listening on …'"
            self.source.fail("can't determine whether these bytes were sent or received", line=line.number, right=right)
        stream = Stream(match["id"], sends=self.client, kind=self.kind, mss_bytes=self.mss_bytes)
        stream.seen["socket"] = f"{match['local']}:{match['port']} {match['peer']}:{match['peer_port']}"
        if (mss := _MSS.search(match["more"])) and stream.mss_bytes is None:
            stream.mss_bytes = integer(mss[1])
        self.streams[match["id"]] = stream

    def row(self, line: Line, match: re.Match[str]) -> None:
        more = self._rest(line, match["rest"].rstrip(), total=match["id"].startswith("SUM"))
        if match["id"].startswith("SUM"):
            return
        stream = self.streams.get(match["id"])
        if stream is None:
            right = "iperf prints '[…] local … connected with …' before it"
            self.source.fail("an interval of a stream that never connected", line=line.number, right=right)
        start_ns, stop_ns = seconds_ns(match["start"]), seconds_ns(match["stop"])
        transfer = iperf_bytes(match["number"], match["letter"])
        columns, retransmits = _columns(more)
        last = stream.intervals[-1].stop_ns if stream.intervals else None
        if last is not None and start_ns == stream.intervals[0].start_ns and stop_ns >= last - 5 * SLACK_NS:
            stream.seen["whole_bytes"] = transfer
            return
        stream.add(Interval(start_ns, stop_ns, transfer, line.number, retransmits, columns), self.source)

    def _rest(self, line: Line, rest: str, *, total: bool) -> dict[str, Any]:
        header = self.header or ""
        if not rest.strip() or (total and not header):
            return {}
        pattern = _ENHANCED if "Cwnd" in header else _DATAGRAMS if self.kind == "udp" or "Jitter" in header else None
        match = pattern.match(rest) if pattern else None
        if match is None and not (total or "Reads" in header):
            self.source.fail("can't parse the text after the rate", line=line.number, value=rest.strip())
        return match.groupdict() if match else {}


def _columns(more: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    if "cwnd" not in more:
        return {}, None
    columns = {"cwnd_bytes": iperf_bytes(more["cwnd"], more["unit"]), "rtt_ns": integer(more["rtt"]) * 1000 or None}
    if more["var"]:
        columns["rttvar_ns"] = integer(more["var"]) * 1000
    return columns, integer(more["again"])
