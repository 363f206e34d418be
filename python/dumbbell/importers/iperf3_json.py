"""iperf3's JSON (`-J`, and the lines of `--json-stream`), versions 3.0 to 3.18.

Bytes, retransmits and windows are exact. `rtt`, `rttvar` are in microseconds, `snd_cwnd`, `snd_wnd` in bytes. Older
versions have the time of day in whole seconds.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from dumbbell.importers.log_model import Interval, Log, Options, Stream, disagreements, flow
from dumbbell.importers.log_source import Count, Loose, Real, Source, checked
from dumbbell.importers.quantity import NS

__all__ = ["NAME", "detect", "read"]

NAME = "iperf3 JSON"
WHAT = "iperf3"


class _Piece(Loose):
    """One stream in one interval."""

    socket: Count
    start: Real
    end: Real
    bytes: Count
    retransmits: Count | None = None
    snd_cwnd: Count | None = None
    snd_wnd: Count | None = None
    rtt: Count | None = None
    rttvar: Count | None = None
    omitted: bool = False
    sender: bool | None = None


class _Interval(Loose):
    streams: list[_Piece]


class _Connected(Loose):
    socket: Count
    local_host: str = ""
    local_port: Count = 0
    remote_host: str = ""
    remote_port: Count = 0


class _Timestamp(Loose):
    timesecs: Count
    timemillisecs: Count | None = None


class _Test(Loose):
    protocol: str = "TCP"
    reverse: int = 0
    bidir: int = 0


class _Start(Loose):
    connected: list[_Connected] = Field(default=[])
    version: str = ""
    system_info: str = ""
    timestamp: _Timestamp | None = None
    test_start: _Test = _Test()
    tcp_mss: Count | None = None
    tcp_mss_default: Count | None = None
    connecting_to: dict[str, Any] | None = None
    accepted_connection: dict[str, Any] | None = None


class _Total(Loose):
    socket: Count | None = None
    bytes: Count
    retransmits: Count | None = None
    max_rtt: Count | None = None
    min_rtt: Count | None = None
    mean_rtt: Count | None = None
    jitter_ms: Real | None = None
    lost_packets: int | None = None
    packets: Count | None = None


class _Ends(Loose):
    sender: _Total | None = None
    receiver: _Total | None = None
    udp: _Total | None = None


class _End(Loose):
    streams: list[_Ends] = Field(default=[])
    sender_tcp_congestion: str | None = None
    receiver_tcp_congestion: str | None = None


class _Report(Loose):
    start: _Start
    intervals: list[_Interval]
    end: _End = _End()
    error: str | None = None


def detect(source: Source) -> bool:
    """Does it have iperf3's three parts, or the events of a stream?"""
    head = source.data[:4096]
    if not source.detect_json:
        return False
    if _is_stream(source):
        return True
    return bool(re.match(rb'\s*\{\s*"(start|title|extra_data)"\s*:', head)) and b'"intervals"' in source.data


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    report = checked(_Report, _events(source) if _is_stream(source) else source.document, source, WHAT)
    start = report.start
    mss = options.mss_bytes or start.tcp_mss or start.tcp_mss_default or None
    streams = {each.socket: _stream(each, start) for each in start.connected}
    warnings = [] if report.error is None else [f"iperf3 reported: {report.error}"]
    for position, interval in enumerate(report.intervals):
        for piece in interval.streams:
            stream = streams.setdefault(piece.socket, _stream(_Connected(socket=piece.socket), start))
            _take(stream, piece, mss, position, source)
    living = [stream for stream in streams.values() if stream.intervals]
    if not living:
        source.fail("no interval", right="iperf3 reports intervals unless run with -i 0")
    if any(stream.omitted for stream in living):
        warnings.append("skipped the intervals that iperf3 omitted (-O)")
    if _summaries(report.end, living):
        warnings.append("no summary: the test was stopped")
    warnings += disagreements(living, 1, 0.001)
    return Log(
        format=NAME,
        duration_ns=max(stream.intervals[-1].stop_ns for stream in living),
        flows=tuple(flow(stream, report.end.sender_tcp_congestion) for stream in living),
        epoch_ns=_epoch_ns(start),
        warnings=tuple(warnings),
        facts={"version": start.version, "system": start.system_info, "protocol": start.test_start.protocol},
        rounding="counts are exact; the time of day is in whole seconds" if start.timestamp else "",
    )


def _stream(connected: _Connected, start: _Start) -> Stream:
    # The client sends, unless in reverse mode; for a server it is the opposite.
    sends = (start.accepted_connection is None) != bool(start.test_start.reverse)
    stream = Stream(str(connected.socket), sends=sends)
    stream.kind = "udp" if start.test_start.protocol == "UDP" else "tcp"
    if connected.local_host:
        here, there = connected.local_host, connected.remote_host
        stream.seen["socket"] = f"{here}:{connected.local_port} {there}:{connected.remote_port}"
    return stream


def _take(stream: Stream, piece: _Piece, mss: int | None, position: int, source: Source) -> None:
    if piece.sender is not None:
        stream.sends = piece.sender
    if piece.omitted:
        stream.omitted += 1
        return
    columns = {
        "cwnd_bytes": piece.snd_cwnd,
        "snd_wnd_bytes": piece.snd_wnd,
        "rtt_ns": None if not piece.rtt else piece.rtt * 1000,
        "rttvar_ns": None if not piece.rtt or piece.rttvar is None else piece.rttvar * 1000,
    }
    stream.mss_bytes = mss if stream.kind == "tcp" else None
    start_ns, stop_ns = round(piece.start * NS), round(piece.end * NS)
    if stop_ns <= start_ns:
        source.fail("an interval that ends before it starts", place=f"intervals.{position}", value=piece.end)
    interval = Interval(start_ns, stop_ns, piece.bytes, position + 1, piece.retransmits, columns)
    before = stream.intervals[-1].stop_ns if stream.intervals else None
    if before is not None and start_ns < before - NS // 50:
        source.fail(
            "an interval that starts before the previous one ends", place=f"intervals.{position}", value=piece.start
        )
    stream.intervals.append(interval)


def _summaries(end: _End, streams: list[Stream]) -> bool:
    """Record each stream's summary; returns whether there is none."""
    for stream, ends in zip(streams, end.streams, strict=False):
        for side, total in (("sender", ends.sender), ("receiver", ends.receiver), ("receiver", ends.udp)):
            if total is None:
                continue
            stream.seen[f"{side}_bytes"] = total.bytes
            for key, value in total.model_dump(exclude={"socket", "bytes"}, exclude_none=True).items():
                stream.seen[f"{side}_{key}"] = value
    return not end.streams


def _epoch_ns(start: _Start) -> int | None:
    if start.timestamp is None or not start.timestamp.timesecs:
        return None
    if start.timestamp.timemillisecs is not None:
        # Milliseconds since 1970 in some versions, milliseconds of the second in others.
        milliseconds = start.timestamp.timemillisecs
        return (milliseconds if milliseconds >= 1000 else start.timestamp.timesecs * 1000 + milliseconds) * 1_000_000
    return start.timestamp.timesecs * NS


def _is_stream(source: Source) -> bool:
    return bool(re.match(rb'\s*\{\s*"event"\s*:\s*"', source.data[:256]))


def _events(source: Source) -> dict[str, Any]:
    """The lines of `--json-stream` as one object like `-J`'s."""
    report: dict[str, Any] = {"start": {}, "intervals": []}
    for line, event, data in _lines(source):
        if event == "interval":
            report["intervals"].append(data)
        elif event in ("start", "end", "error"):
            report[event] = data
        elif not event.startswith("server_output"):
            source.fail("unknown iperf3 event", line=line, value=event)
    return report


def _lines(source: Source) -> Iterator[tuple[int, str, Any]]:
    for line in source.lines:
        if not line.text.strip():
            continue
        value = source.parsed(line.text.encode(), line.number)
        if not isinstance(value, dict) or not isinstance(value.get("event"), str):
            source.fail("not an iperf3 event", line=line.number, value=line.text)
        yield line.number, value["event"], value.get("data")
