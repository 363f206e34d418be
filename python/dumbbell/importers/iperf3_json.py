"""iperf3's JSON (`-J`, and the lines of `--json-stream`), versions 3.0 to 3.18, one test or several.

With `--bidir`, `sender_tcp_congestion` is the controller of the other end and `receiver_tcp_congestion` that of this
one (`iperf_print_results`). `server_output_json` is the other end of the same connections. Bytes, retransmits and
windows are exact. `rtt`, `rttvar` are in microseconds, `snd_cwnd`, `snd_wnd` in bytes. Older versions have the time
of day in whole seconds.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

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
    bits_per_second: Real | None = None
    retransmits: Count | None = None
    snd_cwnd: Count | None = None
    snd_wnd: Count | None = None
    rtt: Count | None = None
    rttvar: Count | None = None
    jitter_ms: Real | None = None
    lost_packets: int | None = None
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
    end: Real | None = None
    bits_per_second: Real | None = None
    sender: bool | None = None
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
    title: str | None = None
    server_output_json: dict[str, Any] | None = None


def detect(source: Source) -> bool:
    """Does it have iperf3's three parts, or the events of a stream?"""
    head = source.data[:4096]
    if not source.detect_json:
        return False
    if _is_stream(source):
        return True
    return bool(re.match(rb'\s*\{\s*"(start|title|extra_data)"\s*:', head)) and b'"intervals"' in source.data


def read(source: Source, options: Options) -> Log:
    """Read the log; several tests in it each start at their own time."""
    values = [(1, _events(source))] if _is_stream(source) else list(source.values())
    reports = [checked(_Report, value, source, WHAT, None if len(values) == 1 else line) for line, value in values]
    if not reports:
        source.fail("no test")
    kept = [at for at, report in enumerate(reports) if report.start.connected or report.intervals]
    if len(reports) > 1 and kept:
        # A server that is stopped writes one more, in which nobody connected.
        reports, values = [reports[at] for at in kept], [values[at] for at in kept]
    epochs = [_epoch_ns(report.start) for report in reports]
    if len(reports) > 1 and None in epochs:
        right = "one test per file: split it"
        source.fail("several tests without start times", line=values[epochs.index(None)][0], right=right)
    begin = min((epoch for epoch in epochs if epoch is not None), default=None)
    warnings: list[str] = []
    pairs: list[tuple[Stream, Stream | None]] = []
    for number, (report, epoch) in enumerate(zip(reports, epochs, strict=True), 1):
        shift = 0 if epoch is None or begin is None else epoch - begin
        pairs += _test(report, "" if len(reports) == 1 else f" of test {number}", shift, options, source, warnings)
    if not pairs:
        source.fail("no interval", right="iperf3 reports intervals, and a summary at its end")
    alone = [stream for stream, _ in pairs]
    both = both_directions(alone)
    warnings += disagreements(alone, 1, 0.001)
    found = tuple(flow(stream, None, other, both=both) for stream, other in pairs)
    start = reports[0].start
    facts = {"version": start.version, "system": start.system_info, "protocol": start.test_start.protocol}
    return Log(
        format=NAME,
        duration_ns=max(each.stop_ns or 0 for each in found),
        flows=found,
        epoch_ns=begin,
        warnings=tuple(warnings),
        facts=facts | ({"title": reports[0].title} if reports[0].title else {}),
        rounding="counts are exact; the time of day is in whole seconds" if start.timestamp else "",
    )


def _test(
    report: _Report, suffix: str, shift_ns: int, options: Options, source: Source, warnings: list[str]
) -> list[tuple[Stream, Stream | None]]:
    """The connections of one test, each with its other end if the server's output is in the file."""
    living = _streams(report, options, source, warnings)
    for stream in living:
        stream.label, stream.shift_ns = stream.label + suffix, shift_ns
    if report.server_output_json is None:
        return [(stream, None) for stream in living]
    server = checked(_Report, report.server_output_json, source, WHAT)
    others = _streams(server, options, source, [])
    ends = {tuple(str(other.seen.get("socket", "")).split(" ")): other for other in others}
    pairs: list[tuple[Stream, Stream | None]] = []
    for stream in living:
        other = ends.get(tuple(str(stream.seen.get("socket", "")).split(" ")[::-1]))
        pairs.append((stream, other if other is not None and other.sends is not stream.sends else None))
        if pairs[-1][1] is not None:
            other.shift_ns = shift_ns  # type: ignore[union-attr]
    return pairs


def _streams(report: _Report, options: Options, source: Source, warnings: list[str]) -> list[Stream]:
    """All streams of one end that have an interval, or at least a summary."""
    start = report.start
    mss = options.mss_bytes or start.tcp_mss or start.tcp_mss_default or None
    streams = {each.socket: _stream(each, start) for each in start.connected}
    if report.error is not None:
        warnings.append(f"iperf3 reported: {report.error}")
    for position, interval in enumerate(report.intervals):
        for piece in interval.streams:
            stream = streams.setdefault(piece.socket, _stream(_Connected(socket=piece.socket), start))
            _take(stream, piece, mss, position, source)
    if _summaries(report.end, list(streams.values())):
        warnings.append("no summary: the test was stopped")
    if not any(stream.intervals for stream in streams.values()):
        _from_summaries(report.end, list(streams.values()), mss, warnings)
    living = [stream for stream in streams.values() if stream.intervals]
    if any(stream.omitted for stream in living):
        warnings.append("skipped the intervals that iperf3 omitted (-O)")
    local, remote = report.end.sender_tcp_congestion, report.end.receiver_tcp_congestion
    two = {stream.sends for stream in living} == {True, False}
    for stream in living:
        if two:
            stream.cc = remote if stream.sends else local
        else:
            stream.cc = local
    return living


def _matched(end: _End, streams: list[Stream]) -> Iterator[tuple[Stream, _Ends]]:
    """Each stream with its summary: by its socket, or by its position where the summary names none."""
    by_label = {stream.label: stream for stream in streams}
    for position, ends in enumerate(end.streams):
        total = ends.sender or ends.receiver or ends.udp
        named = None if total is None or total.socket is None else by_label.get(str(total.socket))
        if named is not None:
            yield named, ends
        elif position < len(streams) and (total is None or total.socket is None):
            yield streams[position], ends


def _from_summaries(end: _End, streams: list[Stream], mss: int | None, warnings: list[str]) -> None:
    """Without intervals (`-i 0`): one for the whole test."""
    for stream, ends in _matched(end, streams):
        total = (ends.sender if stream.sends else ends.receiver) or ends.udp
        if total is None or not total.end:
            continue
        stream.mss_bytes = mss if stream.kind == "tcp" else None
        stream.intervals = [
            Interval(0, round(total.end * NS), total.bytes, 1, total.retransmits if stream.sends else None)
        ]
    if any(stream.intervals for stream in streams):
        warnings.append("only summaries of streams, no intervals: one row for each")


def _stream(connected: _Connected, start: _Start) -> Stream:
    # The client sends, unless in reverse mode; for a server it is the opposite.
    server = start.accepted_connection is not None
    stream = Stream(str(connected.socket), sends=server is bool(start.test_start.reverse), server=server)
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
    if piece.jitter_ms is not None:
        columns |= datagram_columns(piece.jitter_ms, piece.lost_packets)
    stream.mss_bytes = mss if stream.kind == "tcp" else None
    start_ns, stop_ns = round(piece.start * NS), round(piece.end * NS)
    if stop_ns < start_ns:
        source.fail("an interval that ends before it starts", place=f"intervals.{position}", value=piece.end)
    interval = Interval(start_ns, stop_ns, piece.bytes, position + 1, piece.retransmits, columns)
    before = stream.intervals[-1].stop_ns if stream.intervals else None
    if before is not None and start_ns < before - NS // 50:
        source.fail(
            "an interval that starts before the previous one ends", place=f"intervals.{position}", value=piece.start
        )
    if stop_ns == start_ns:
        stream.add(
            Interval(before or start_ns, before or start_ns, piece.bytes, position + 1, piece.retransmits), source
        )
        return
    stream.intervals.append(interval)


def _summaries(end: _End, streams: list[Stream]) -> bool:
    """Record each stream's summary; returns whether there is none."""
    for stream, ends in _matched(end, streams):
        known = next((total for total in (ends.sender, ends.receiver) if total and total.sender is not None), None)
        if known is not None and not stream.intervals and not stream.omitted:
            stream.sends = bool(known.sender)  # Otherwise its intervals say it.
        for side, total in (("sender", ends.sender), ("receiver", ends.receiver), ("receiver", ends.udp)):
            if total is None:
                continue
            stream.seen[f"{side}_bytes"] = total.bytes
            for key, value in total.model_dump(
                exclude={"socket", "bytes", "end", "bits_per_second", "sender"}, exclude_none=True
            ).items():
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
        elif event in ("start", "end", "error", "server_output_json"):
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
