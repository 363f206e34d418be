"""iperf2's text and CSV, versions 2.0 to 2.2, client's or server's, in one or both directions, with and without `-e`.

An interval has the bytes that the program handed to its socket or read, with three digits of powers of 1024; `-e` adds
writes, retransmits, the window in K of 1024 and the RTT in microseconds. `[ *1]` is the traffic against the usual
direction (`-R`, `--full-duplex`). Connections one after another need their start times, which `-e` prints.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dumbbell.importers.log_model import (
    SLACK_NS,
    Interval,
    Log,
    Options,
    Stream,
    both_directions,
    datagram_columns,
    flow,
)
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.pasted import command_of, option, words_of
from dumbbell.importers.quantity import NS, decimal, integer, iperf_bytes, seconds_ns
from dumbbell.importers.stamps import Kind, Stamp, stamp

__all__ = ["NAME", "detect", "read"]

NAME = "iperf2"
ROUNDING = "three digits per size (0.05 to 0.5 %), the window in K, tenths of a second unless -e"

_ID = r"\[ *(?P<other>\*?)(?P<id>\d+)\]"
_TRANSFER = (
    r"(?P<number>\d+(?:\.\d+)?) (?P<letter>[KMGT]?)Bytes +(?:\d+(?:\.\d+)?|-?nan|-?inf) [KMGT]?(?:bits|Bytes)/sec"
)
_TIMES = r" +(?P<start>\d+\.\d+) *- *(?P<stop>\d+\.\d+) sec +"
_ROW = re.compile(rf"{_ID}{_TIMES}{_TRANSFER}(?P<rest>.*)\Z", re.ASCII)
_SUM = re.compile(rf"\[ *(?:SUM(?:-\d+)?|FD\d+)\]{_TIMES}\d.*\Z", re.ASCII)
_ENHANCED = re.compile(
    r" +\d+/\d+(?:/\d+)? +(?P<again>\d+) +(?P<cwnd>-?\d+)(?P<unit>[KMG]?)/(?P<rtt>-?\d+)"
    r"(?:\((?P<var>-?\d+)\))?(?: us)?(?: +.*)?\Z",
    re.ASCII,
)
_WRITES = re.compile(r" +\d+/\d+(?:/\d+)?(?: +(?P<again>\d+))?(?: +\d+ pps)?\Z", re.ASCII)
_READS = re.compile(r".* *\d+=\d+(?::\d+)+\Z", re.ASCII)
_BOUNCED = re.compile(
    r" +(?P<count>\d+)=(?P<mean>[\d.]+)/(?P<least>[\d.]+)/(?P<most>[\d.]+)/(?P<deviation>[\d.]+) ms"
    r"(?: +(?P<again>\d+) +(?P<cwnd>-?\d+)(?P<unit>[KMG]?)/(?P<rtt>-?\d+)(?:\((?P<var>-?\d+)\))? us)?.*\Z",
    re.ASCII,
)
_DATAGRAMS = re.compile(r" +(?P<jitter>\d+\.\d+) ms +(?P<lost>-?\d+)/ *(?P<packets>-?\d+) \([-+\w.]+%\).*\Z", re.ASCII)
_HEADER = re.compile(r"\[ *ID\] Interval +Transfer +Bandwidth(?P<more>.*)\Z")
_CONNECTED = re.compile(
    r"\[ *(?P<other>\*?)(?P<id>\d+)\] local (?P<local>\S+) port (?P<port>\d+) connected with "
    r"(?P<peer>\S+) port (?P<peer_port>\d+)(?P<more>.*)\Z",
    re.ASCII,
)
_DATE = re.compile(r" on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \(\w+\))")
_CONNECTING = re.compile(
    r"(?:Client connecting to (?P<host>.+), (?P<of>TCP|UDP) port (?P<target>\d+).*"
    r"|Server listening on (?P<on>TCP|UDP) port (?P<listens>\d+).*)\Z"
)
_CONTROLLER = re.compile(r"TCP congestion control (?:set to|using|is) (\w+).*\Z", re.I)
_QUIET = re.compile(
    r"(?:|-+|=+|(?:Read|Write) buffer size: .*|TCP window size: .*|UDP buffer size: .*|TOS .*|Bursting: .*"
    r"|Bounce-back test .*|Binding to .*|Sending \d+ byte datagrams.*|Receiving \d+ byte datagrams.*|Joining .*"
    r"|IPG target: .*|\[ *\d+\] Sent \d+ datagrams|\[ *\*?\d+\] Server Report:|\[ *CT\] .*|Isochronous .*|Multicast .*"
    r"|\[ *\*?\d+\].*datagrams received out-of-order|Event based writes.*|Clock sync.*|MSS .*|Set .*|Setting .*"
    r"|\[ *(?:\*?\d+|SUM)\].*-PDF: .*|\[ *\*?\d+\] MSS size .*|Waiting for server threads .*|\^C.*|Peer .*)\Z"
)
_MESSAGE = re.compile(
    r"(?:\[ *\d+\] )?(?:WARNING|WARN|warning|ERROR|error|write failed|read failed|connect failed|listener bind failed"
    r"|tcp connect|bind failed)\b.*\Z"
)
_MSS = re.compile(r"icwnd/mss/irtt=\d+/(\d{1,6})/")
_CSV = re.compile(
    r"(?:(?P<zone>[+-]\d{4}):)?(?P<time>\d{14})(?:\.(?P<part>\d{1,6}))?,(?P<local>[^,]+),(?P<port>\d+),(?P<peer>[^,]+),"
    r"(?P<peer_port>\d+),(?P<id>-?\d+),(?P<start>\d+\.\d+)-(?P<stop>\d+\.\d+),(?P<bytes>\d+),(?P<rate>-?\d+)"
    r"(?:,(?P<jitter>-?[\d.]+),(?P<lost>-?\d+),(?P<packets>-?\d+),(?P<share>-?[\d.]+|-?nan),(?P<order>-?\d+))?\Z",
    re.ASCII,
)
EPHEMERAL = 32_768
"""The first port that Linux takes for a client (net.ipv4.ip_local_port_range)."""


def detect(source: Source) -> bool:
    """Does it have a line that only iperf2 prints?"""
    if source.detect_json:
        return False
    texts = [line.text.rstrip() for line in source.head]
    return any(
        _CONNECTING.match(text) or _CONNECTED.match(text) or _CSV.match(text) or _telling(text) for text in texts
    )


def _telling(text: str) -> bool:
    """Is it a row that shows by itself that it is iperf2's?"""
    match = _ROW.match(text)
    if match is None or re.search(r"\b(?:sender|receiver|omitted)\b", match["rest"]):
        return False
    places = len(match["start"].partition(".")[2])
    told = _ENHANCED.match(match["rest"]) or _READS.match(match["rest"])
    return bool(places in (1, 4) or match["other"] or told)


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` at the first line that is not iperf2's."""
    reading = _Reading(source, options)
    source.through(reading.take)
    streams = reading.finish()
    if not streams:
        source.fail("no interval", right="iperf -i 1 prints a line per second")
    warnings = list(reading.warnings)
    # Without -i the only row is that of the whole test, which ends at no round time.
    if any(
        "whole_bytes" not in stream.seen and (len(stream.intervals) > 1 or stream.intervals[0].stop_ns % 10**7 == 0)
        for stream in streams
    ):
        warnings.append("no line for the whole test: it was stopped, or the file truncated")
    silent = sum(not each.streams for each in reading.connections)
    if silent:
        warnings.append(f"{silent} connections without an interval")
    both = both_directions(streams)
    flows = tuple(flow(stream, reading.cc, both=both) for stream in streams)
    return Log(
        format=NAME,
        duration_ns=max(each.stop_ns or 0 for each in flows),
        flows=flows,
        epoch_ns=reading.epoch_ns,
        warnings=tuple(warnings),
        facts=reading.facts,
        rounding=ROUNDING,
    )


@dataclass
class _Connection:
    """One connection, with at most one stream in each direction."""

    label: str
    line: int
    kind: str
    ends: str = ""
    port: int = 0
    peer_port: int = 0
    reverse: bool = False
    duplex: bool = False
    begun: Stamp | None = None
    mss_bytes: int | None = None
    streams: dict[str, Stream] = field(default_factory=dict)
    """Its own direction at `""`, the other at `*`."""
    sends: dict[str, bool] = field(default_factory=dict)
    """What the rows themselves show."""


@dataclass
class _Reading:
    source: Source
    options: Options
    connections: list[_Connection] = field(default_factory=list)
    by_id: dict[str, _Connection] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cc: str | None = None
    client: bool | None = None
    target: int | None = None
    listens: int | None = None
    kind: str = "tcp"
    header: str = ""
    epoch_ns: int | None = None
    rows: int = 0
    """Rows since the last connection."""
    reports: int = 0

    def __post_init__(self) -> None:
        for command in self.source.commands:
            self._command(command)

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        if match := _ROW.match(text):
            self.row(line, match)
        elif match := _CSV.match(text):
            self.csv(line, match)
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
        elif (command := command_of(text)) is not None:
            self._command(command)
        elif text.endswith("Server Report:"):
            self.reports += 1
        elif not (_QUIET.match(text.strip()) or _SUM.match(text)):
            right = "one test per file, without other programs' output"
            self.source.fail("not a line of iperf2", line=line.number, value=text, right=right)

    def _command(self, command: str) -> None:
        words = words_of(command)
        if not any(word.rpartition("/")[2] == "iperf" for word in words):
            return
        self.facts["command"] = command
        self.cc = option(words, "-Z", "--linux-congestion") or self.cc
        if self.client is None and ("-c" in words or "-s" in words):
            self.client = "-c" in words

    def connecting(self, line: Line, match: re.Match[str]) -> None:
        client = match["host"] is not None
        self.kind = (match["of"] or match["on"]).lower()
        if self.rows and (client if self.client else not client) and not any(each.begun for each in self.connections):
            right = "one test per file: split it, or iperf -e, which prints start times"
            self.source.fail("a second test starts here", line=line.number, right=right)
        if client:
            self.target = integer(match["target"])
        else:
            self.listens = integer(match["listens"])
        if self.client is None or self.listens is None:
            self.client = client

    def connected(self, line: Line, match: re.Match[str]) -> None:
        date = _DATE.search(match["more"])
        begun = stamp(date[1].replace("(", "").replace(")", "")) if date else line.stamp
        before = self.connections[-1] if self.connections else None
        if begun is None and before is not None and self.rows:
            right = "one test per file: split it, or iperf -e, which prints start times"
            self.source.fail("a connection that starts later, at an unknown time", line=line.number, right=right)
        if begun is None and before is not None:
            begun = before.begun
        if before is not None and before.begun is None and begun is not None and self.connections:
            for each in self.connections:
                each.begun = each.begun or begun
        more = match["more"]
        mss = _MSS.search(more)
        connection = _Connection(
            self._label(match["id"]), line.number, self.kind,
            ends=f"{match['local']}:{match['port']} {match['peer']}:{match['peer_port']}",
            port=integer(match["port"]), peer_port=integer(match["peer_port"]), begun=begun,
            reverse="(reverse)" in more, duplex="(full-duplex)" in more,
            mss_bytes=self.options.mss_bytes or (integer(mss[1]) if mss else None),
        )  # fmt: skip
        if "(bb " in more or "(bb)" in more:
            self._bounced()
        self.connections.append(connection)
        self.by_id[match["id"]] = connection
        if match["other"]:
            self.by_id[f"*{match['id']}"] = connection
        self.rows = 0

    def _label(self, number: str) -> str:
        used = sum(each.label.partition(" ")[0] == number for each in self.connections)
        return number if not used else f"{number} of connection {used + 1}"

    def _bounced(self) -> None:
        note = "bounceback: its sizes count what went there and came back"
        if note not in self.warnings:
            self.warnings.append(note)

    def row(self, line: Line, match: re.Match[str]) -> None:
        connection = self.by_id.get(match["id"])
        if connection is None:
            # A paste that begins below the connections.
            connection = self.by_id[match["id"]] = _Connection(match["id"], line.number, self.kind)
            self.connections.append(connection)
        rest = match["rest"].rstrip()
        columns, retransmits, more = self._rest(line, rest, connection, match["other"])
        start_ns, stop_ns = seconds_ns(match["start"]), seconds_ns(match["stop"])
        transfer = iperf_bytes(match["number"], match["letter"])
        self.rows += 1
        if self.reports:
            # Below `Server Report:` is what the other end received of the same datagrams.
            own = connection.streams.get("")
            if own is not None:
                own.seen |= {"receiver_bytes": transfer, **{f"receiver_{key}": value for key, value in more.items()}}
            self.reports -= 1
            return
        label = f"{match['other']}{connection.label}"
        stream = connection.streams.setdefault(match["other"], Stream(label, sends=True, kind=connection.kind))
        self._interval(stream, Interval(start_ns, stop_ns, transfer, line.number, retransmits, columns), more)

    def _interval(self, stream: Stream, interval: Interval, more: dict[str, Any]) -> None:
        last = stream.intervals[-1].stop_ns if stream.intervals else None
        if (
            last is not None
            and interval.start_ns == stream.intervals[0].start_ns
            and interval.stop_ns >= last - 5 * SLACK_NS
        ):
            stream.seen["whole_bytes"] = interval.transfer_bytes
            stream.seen |= {f"whole_{key}": value for key, value in more.items()}
            return
        stream.add(interval, self.source)

    def _rest(  # noqa: PLR0911 — a kind of row each
        self, line: Line, rest: str, connection: _Connection, other: str
    ) -> tuple[dict[str, Any], int | None, dict[str, Any]]:
        """Columns, retransmits and other figures of the text after the rate; notes what it shows about its side."""
        if not rest.strip():
            return {}, None, {}
        if match := _DATAGRAMS.match(rest):
            connection.kind = "udp"
            if not self.reports:
                connection.sends.setdefault(other, False)
            figures = {"lost": _signed(match["lost"]), "packets": _signed(match["packets"])}
            return datagram_columns(match["jitter"], figures["lost"]), None, figures
        if match := _BOUNCED.match(rest):
            self._bounced()
            more = {f"response_{key}_ms": float(decimal(match[key])) for key in ("mean", "least", "most", "deviation")}
            columns, retransmits = _columns(match) if match["cwnd"] else ({}, None)
            return columns, retransmits, {"responses": integer(match["count"]), **more}
        if _READS.match(rest):
            connection.sends.setdefault(other, False)
            return {}, None, {}
        if match := _ENHANCED.match(rest):
            connection.sends.setdefault(other, True)
            return (*_columns(match), {})
        if match := _WRITES.match(rest):
            connection.sends.setdefault(other, True)
            return {}, integer(match["again"]) if match["again"] else None, {}
        known = ("Write/Err", "Jitter", "Reads", "BB cnt", "")
        if self.header in known or any(self.header.startswith(word) for word in known if word):
            self.source.fail("can't parse the text after the rate", line=line.number, value=rest.strip())
        note = f"columns that are not read: {self.header}"
        if note not in self.warnings:
            self.warnings.append(note)
        return {}, None, {}

    def csv(self, line: Line, match: re.Match[str]) -> None:
        if match["rate"].startswith("-"):
            self.source.fail("a negative rate", line=line.number, place="bits per second", value=match["rate"])
        if match["id"].startswith("-") or match["port"] == "0":
            return  # A sum.
        key = f"{match['local']}:{match['port']} {match['peer']}:{match['peer_port']}"
        connection = self.by_id.get(key)
        start_ns, stop_ns = seconds_ns(match["start"]), seconds_ns(match["stop"])
        if connection is None:
            there = self.by_id.get(" ".join(reversed(key.split(" "))))
            if there is not None and there.streams.get(""):
                # What the server reported of a client's datagrams, with the ends exchanged.
                there.streams[""].seen |= {"receiver_bytes": integer(match["bytes"])}
                return
            connection = _Connection(
                match["id"], line.number, "udp" if match["jitter"] else "tcp", ends=key, port=integer(match["port"]),
                peer_port=integer(match["peer_port"]), begun=_csv_stamp(match, stop_ns),
                mss_bytes=self.options.mss_bytes,
            )  # fmt: skip
            if connection.begun is None:
                self.source.fail("an invalid time", line=line.number, value=match["time"])
            self.by_id[key] = connection
            self.connections.append(connection)
        stream = connection.streams.setdefault("", Stream(connection.label, sends=True, kind=connection.kind))
        more = {"lost": _signed(match["lost"]), "packets": _signed(match["packets"])} if match["jitter"] else {}
        columns = datagram_columns(match["jitter"], more["lost"]) if more else {}
        self._interval(stream, Interval(start_ns, stop_ns, integer(match["bytes"]), line.number, None, columns), more)

    def finish(self) -> list[Stream]:
        """All streams, with their sides and start times."""
        found = []
        known = [each.begun for each in self.connections if each.begun is not None]
        alike = len({each.kind for each in known}) == 1
        first = min((each.ns for each in known), default=0) if alike else 0
        self.epoch_ns = first if alike and known[0].kind is Kind.EPOCH else None
        for each in self.connections:
            for other, stream in each.streams.items():
                if not stream.intervals:
                    continue
                self._side(each, other, stream)
                shift = each.begun.ns - first if each.begun is not None and alike else 0
                # Dates have whole seconds: connections of one moment may show neighbouring ones.
                stream.shift_ns = shift if shift > NS or len(self.connections) == 1 or not _together(each, self) else 0
                stream.mss_bytes = each.mss_bytes if each.kind == "tcp" else None
                if each.ends:
                    stream.seen["socket"] = each.ends
                stream.kind = each.kind
                found.append(stream)
        return found

    def _side(self, each: _Connection, other: str, stream: Stream) -> None:
        client = self.client
        if self.listens is not None and self.target is not None and each.ends:
            # `-d` and `-r`: the client also listens.
            client = each.port != self.listens
        elif client is None and each.port and (each.port >= EPHEMERAL) != (each.peer_port >= EPHEMERAL):
            client = each.port >= EPHEMERAL if other or self.source.data[:1].isdigit() else None
        if client is not None:
            sends = client is not ((each.reverse and not each.duplex) or bool(other))
        elif other in each.sends:
            sends = each.sends[other]
        else:
            right = "keep the first lines, 'Client connecting to …' or 'Server listening on …'"
            self.source.fail("can't determine whether these bytes were sent or received", line=each.line, right=right)
        # A row that shows writes or reads is right in any case.
        stream.sends = each.sends.get(other, sends)
        if self.listens is not None and self.target is not None and each.ends:
            client = self.connections[0].port != self.listens  # Who began the test, not this connection.
        stream.server = None if client is None else not client


def _together(each: _Connection, reading: _Reading) -> bool:
    """Did others connect within a second of it, so that the dates can't tell them apart?"""
    return any(
        other is not each and other.begun is not None and each.begun is not None
        and abs(other.begun.ns - each.begun.ns) <= NS
        for other in reading.connections
    )  # fmt: skip


def _csv_stamp(match: re.Match[str], stop_ns: int) -> Stamp | None:
    try:
        moment = datetime.strptime(match["time"], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    ns = int(moment.timestamp()) * NS + integer((match["part"] or "0").ljust(9, "0")) - stop_ns
    if not match["zone"]:
        return Stamp(ns, Kind.LOCAL)
    hours, minutes = integer(match["zone"][1:3]), integer(match["zone"][3:])
    offset = (hours * 60 + minutes) * 60 * NS
    return Stamp(ns - offset if match["zone"][0] == "+" else ns + offset, Kind.EPOCH)


def _columns(match: re.Match[str]) -> tuple[dict[str, Any], int | None]:
    columns: dict[str, Any] = {}
    # Systems without tcp_info print -1.
    if not match["cwnd"].startswith("-"):
        columns["cwnd_bytes"] = iperf_bytes(match["cwnd"], match["unit"])
    if not match["rtt"].startswith("-"):
        columns["rtt_ns"] = integer(match["rtt"]) * 1000 or None
    if match["var"] and not match["var"].startswith("-"):
        columns["rttvar_ns"] = integer(match["var"]) * 1000
    return columns, integer(match["again"])


def _signed(text: str) -> int:
    """Duplicate datagrams make a server report a negative number of losses."""
    return -integer(text[1:]) if text.startswith("-") else integer(text)
