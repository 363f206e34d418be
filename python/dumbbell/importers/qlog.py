"""qlog, draft 0.3 and later: a QUIC connection's recovery metrics, one file or trace a flow.

One JSON document, JSON-SEQ (RFC 7464, records behind 0x1e) and NDJSON; events are read one by one. Values carry over to
the next row, as a stack logs only what changed; what it never logs is null. Times are milliseconds: since 1970
(aioquic), since a start or since the event before, as `time_format` says. RTTs are milliseconds, windows bytes, pacing
rates bit/s (draft-ietf-quic-qlog-quic-events). Until a first sample the RTT is RFC 9002's guess of 333 ms, which quinn
writes in seconds: such a row has none.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from dumbbell.importers.log_model import FlowLog, Log, Options, rows
from dumbbell.importers.log_source import Source

__all__ = ["EXTRA", "NAME", "detect", "read"]

NAME = "qlog"
RECORD = b"\x1e"
MS = 10**6
GUESSES_MS = (333.0, 0.333)
"""kInitialRtt of RFC 9002, in milliseconds and as quinn writes it."""
INFINITE = 2**53
"""Stacks write an infinite ssthresh as the largest 64-bit number, or as that of a double."""
EPOCH_MS = 10**11
"""Larger times are since 1970."""
MOST = 2**62
MOST_ROWS = 5_000_000

# aioquic writes `cwnd`.
METRICS = {
    "congestion_window": ("cwnd_bytes", 1),
    "cwnd": ("cwnd_bytes", 1),
    "bytes_in_flight": ("inflight_bytes", 1),
    "packets_in_flight": ("inflight_packets", 1),
    "smoothed_rtt": ("rtt_ns", MS),
    "min_rtt": ("min_rtt_ns", MS),
    "rtt_variance": ("rttvar_ns", MS),
    "pacing_rate": ("pacing_rate_bps", 1),
    "ssthresh": ("ssthresh_bytes", 1),
}
EXTRA: dict[str, type[pl.DataType]] = {"ssthresh_bytes": pl.Int64}
"""Columns of an imported qlog that no engine has."""
PHASES = re.compile(r"[a-z][a-z0-9_]{0,40}\Z")
_EVENTS = re.compile(rb'"events"\s*:\s*\[')
_BLANK = re.compile(r"[\s,\x1e]*")


def detect(source: Source) -> bool:
    """Does it say that it is a qlog?"""
    head = source.data[:8192]
    if any(mark in head for mark in (b'"qlog_version"', b'"qlog_format"', b"urn:ietf:params:qlog")):
        return re.match(rb"\s*\x1e?\s*\{", head) is not None
    # What surrounds the events may stand behind them.
    return head[:1] == b"{" and _EVENTS.search(head) is not None and b'"qlog_version"' in source.data[-65536:]


@dataclass
class _Trace:
    """One connection while its events are read."""

    head: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    phase: str | None = None
    cc: str | None = None
    lost: int = 0
    sent: int = 0
    events: int = 0
    first_ns: int | None = None
    last_ns: int = 0
    clock_ns: int = 0
    """Of times that count from the event before."""

    @property
    def common(self) -> dict[str, Any]:
        """Fields of all events."""
        found = self.head.get("common_fields")
        return found if isinstance(found, dict) else {}

    @property
    def format(self) -> str:
        """What times count from."""
        return str(self.common.get("time_format") or "")

    @property
    def unit_ns(self) -> int:
        """Nanoseconds of a time's unit."""
        configuration = self.head.get("configuration")
        units = configuration.get("time_units") if isinstance(configuration, dict) else None
        return 1000 if units == "us" else MS


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` for an older draft, and for a record that is no event."""
    warnings: list[str] = []
    traces = list(_traces(source, warnings))
    living = [trace for trace in traces if trace.rows]
    if not living:
        right = "a stack that logs recovery:metrics_updated"
        source.fail(f"no metrics in {sum(trace.events for trace in traces)} events", right=right)
    epochs = [_epoch_ns(trace) for trace in living]
    alike = all(epoch is not None for epoch in epochs)
    begin = min(epoch for epoch in epochs if epoch is not None) if alike else None
    flows = []
    for number, (trace, epoch) in enumerate(zip(living, epochs, strict=True), 1):
        shift = epoch - begin if begin is not None and epoch is not None else 0
        flows.append(_flow(trace, number if len(living) > 1 else 0, shift, options))
    if len(living) > 1 and not alike:
        warnings.append("its connections have no common clock: all start at 0")
    facts = {key: living[0].head.get(key) for key in ("qlog_version", "qlog_format", "title")}
    return Log(
        NAME, max(flow.stop_ns or 0 for flow in flows), tuple(flows), epoch_ns=begin, warnings=tuple(warnings),
        facts={key: value for key, value in facts.items() if isinstance(value, str)},
        rounding="times and RTTs as the stack wrote them, in milliseconds",
    )  # fmt: skip


def _traces(source: Source, warnings: list[str]) -> Iterator[_Trace]:
    first = source.data[:4096].lstrip()[:1]
    if first == RECORD or not _EVENTS.search(source.data[:65536]):
        yield _sequence(source, warnings)
    else:
        yield from _document(source, warnings)


def _sequence(source: Source, warnings: list[str]) -> _Trace:
    """Records behind 0x1e, or a line each: a header, then events."""
    data = source.data
    mark = RECORD if RECORD in data[:4096] else b"\n"
    trace: _Trace | None = None
    at, line = 0, 1
    while at < len(data):
        end = data.find(mark, at)
        end = len(data) if end < 0 else end
        piece = data[at:end].strip()
        here = line + data.count(b"\n", at, at + len(data[at:end]) - len(data[at:end].lstrip()))
        if piece:
            value = _record(source, piece, here, last=not data[end:].strip(b"\x1e\r\n\t "), warnings=warnings)
            if value is not None and trace is None:
                trace = _Trace(_header(source, value, here))
            elif value is not None and trace is not None:
                _event(source, trace, value, here)
        line += data.count(b"\n", at, end + 1)
        at = end + 1
    if trace is None:
        source.fail("no header", line=1, right="a record with qlog_version")
    return trace


def _record(source: Source, piece: bytes, line: int, *, last: bool, warnings: list[str]) -> dict[str, Any] | None:
    try:
        value = json.loads(piece)
    except (ValueError, RecursionError):
        if last:
            # A program that a signal ends writes no whole record.
            warnings.append(f"{source.path}: skipped the last record (line {line}): it is cut")
            return None
        source.fail("not a record of qlog", line=line, value=piece[:60].decode("utf-8", "replace"))
    if not isinstance(value, dict):
        source.fail("not a record of qlog", line=line, value=piece[:60].decode("utf-8", "replace"))
    return value


def _header(source: Source, value: dict[str, Any], line: int) -> dict[str, Any]:
    _check_version(source, value)
    trace = value.get("trace")
    if "name" in value and "time" in value:
        source.fail("an event before the header", line=line, right="a record with qlog_version")
    return {**value, **(trace if isinstance(trace, dict) else {})}


def _check_version(source: Source, value: dict[str, Any]) -> None:
    version = value.get("qlog_version")
    if isinstance(version, str) and re.match(r"(?:draft-0[0-2]|0\.[0-2])\b", version):
        source.fail("an older draft", place="qlog_version", value=version, right="0.3 or later")


def _document(source: Source, warnings: list[str]) -> Iterator[_Trace]:
    """One JSON document: the events of each trace one by one, then what is around them."""
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError:
        source.fail("not UTF-8")
    decoder, around, at = json.JSONDecoder(), [], 0
    found: list[tuple[_Trace, list[tuple[dict[str, Any], int]]]] = []
    cut = False
    while (match := re.compile(r'"events"\s*:\s*\[').search(text, at)) is not None:
        around.append(text[at : match.end()])
        at = match.end()
        line = text.count("\n", 0, at) + 1
        events: list[tuple[dict[str, Any], int]] = []
        while True:
            blank = _BLANK.match(text, at)
            begin = blank.end() if blank else at
            line += text.count("\n", at, begin)
            at = begin
            if at >= len(text) or text[at] == "]":
                cut = cut or at >= len(text)
                break
            try:
                value, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                if _closed(text, at):
                    source.fail("not an event of qlog", line=line, value=text[at : at + 60])
                cut, at = True, len(text)
                break
            if not isinstance(value, dict):
                source.fail("not an event of qlog", line=line, value=text[at : at + 60])
            if len(events) >= MOST_ROWS:
                source.fail(f"more than {MOST_ROWS:,} events in one trace", right="a file for each connection")
            events.append((value, line))
            line += text.count("\n", at, end)
            at = end
        found.append((_Trace({}), events))
    around.append(text[at:])
    heads = _heads(source, "".join(around), len(found), cut=cut)
    if cut:
        warnings.append(f"{source.path}: the document is cut: its last event may be missing")
    for (trace, events), head in zip(found, heads, strict=True):
        trace.head = head
        for value, line in events:
            _event(source, trace, value, line)
        yield trace


def _closed(text: str, at: int) -> bool:
    """Does the object that begins here end, rather than the text?"""
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"?|[{}]').finditer(text, at):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth <= 0:
            return True
    return False


def _heads(source: Source, around: str, count: int, *, cut: bool) -> list[dict[str, Any]]:
    try:
        whole = json.loads(around)
    except (ValueError, RecursionError):
        if not cut:
            source.fail("invalid JSON around the events", right="complete JSON: was the program stopped?")
        return [{}] * count
    if not isinstance(whole, dict):
        source.fail("not a qlog: no object")
    _check_version(source, whole)
    traces = whole.get("traces", [whole.get("trace", whole)])
    traces = [each for each in traces if isinstance(each, dict)] if isinstance(traces, list) else []
    top = {key: value for key, value in whole.items() if isinstance(value, str)}
    heads = [{**top, **each} for each in traces if "events" in each]
    return heads if len(heads) == count else [top] * count


def _event(source: Source, trace: _Trace, value: dict[str, Any], line: int) -> None:
    time, name, data = value.get("time"), value.get("name"), value.get("data")
    if isinstance(time, bool) or not isinstance(time, int | float) or not isinstance(name, str):
        source.fail("not an event of qlog", line=line, place="time, name", value=str(value)[:60])
    time_ns = _time_ns(source, trace, time, line)
    trace.events += 1
    what = name.rpartition(":")[2]
    data = data if isinstance(data, dict) else {}
    if what in ("metrics_updated", "recovery_metrics_updated"):
        _metrics(source, trace, data, time_ns, line)
    elif what == "congestion_state_updated":
        new = data.get("new")
        if isinstance(new, str):
            phase = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", new).lower().replace(" ", "_").replace("-", "_")
            trace.phase = phase if PHASES.match(phase) else None
            if trace.rows:
                _row(trace, time_ns)
    elif what == "packet_lost":
        trace.lost += 1
    elif what == "packet_sent":
        trace.sent += 1
    elif what in ("parameters_set", "recovery_parameters_set"):
        for key in ("congestion_control", "congestion_control_algorithm", "cc_algorithm", "congestion_controller"):
            if isinstance(data.get(key), str) and PHASES.match(data[key].lower()):
                trace.cc = data[key].lower()


def _time_ns(source: Source, trace: _Trace, time: float, line: int) -> int:
    if not 0 <= time < MOST / MS:
        source.fail("an impossible time", line=line, place="time", value=time)
    # Milliseconds since 1970 have no room for nanoseconds in a double: whole and fraction apart.
    whole = int(time)
    time_ns = whole * trace.unit_ns + round((time - whole) * trace.unit_ns)
    if trace.format in ("delta", "relative_to_previous_event"):
        trace.clock_ns += time_ns
        time_ns = trace.clock_ns
    if trace.first_ns is None:
        trace.first_ns = time_ns
    elif time_ns < trace.last_ns - 1000 * MS:
        source.fail("an event that is a second older than the previous one", line=line, place="time", value=time)
    time_ns = max(time_ns, trace.first_ns)
    trace.last_ns = max(trace.last_ns, time_ns)
    return time_ns


def _metrics(source: Source, trace: _Trace, data: dict[str, Any], time_ns: int, line: int) -> None:
    for key, (column, factor) in METRICS.items():
        value = data.get(key)
        if value is None:
            continue
        if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value):
            value = int(value)  # 64-bit numbers may be text.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            source.fail("not a number from 0", line=line, place=f"data.{key}", value=value)
        if key == "ssthresh" and value >= INFINITE:
            trace.state[column] = None
            continue
        if key in ("smoothed_rtt", "min_rtt") and trace.state.get(column) is None:
            guess = any(abs(value - guess) < guess * 1e-3 for guess in GUESSES_MS)
            # A stack that has no smallest RTT yet writes 0, or an endless one.
            if guess or value == 0 or value > 10**8:
                continue
        number = round(value * factor)
        if number > MOST:
            source.fail(f"exceeds {MOST}", line=line, place=f"data.{key}", value=value)
        trace.state[column] = number
    _row(trace, time_ns)


def _row(trace: _Trace, time_ns: int) -> None:
    row = {**trace.state, "cc_phase": trace.phase, "retrans_packets": trace.lost, "time_ns": time_ns}
    if trace.rows and trace.rows[-1]["time_ns"] == time_ns:
        trace.rows[-1] = row
    else:
        trace.rows.append(row)


def _epoch_ns(trace: _Trace) -> int | None:
    """The time of the trace's first event since 1970; None if the file does not say it."""
    first = trace.first_ns or 0
    if first >= EPOCH_MS * MS:
        return first
    reference = trace.common.get("reference_time")
    if isinstance(reference, dict):
        reference = reference.get("wall_clock_time") or reference.get("epoch")
    if isinstance(reference, str):
        try:
            moment = datetime.fromisoformat(reference.replace("Z", "+00:00"))
        except ValueError:
            return None
        return round(moment.timestamp() * 1000) * MS + first if moment.tzinfo and moment.year > 1970 else None
    if isinstance(reference, int | float) and not isinstance(reference, bool) and EPOCH_MS <= reference < MOST / MS:
        return round(reference * MS) + first
    return None


def _flow(trace: _Trace, number: int, shift_ns: int, options: Options) -> FlowLog:
    first = trace.first_ns or 0
    mss = options.mss_bytes
    found = []
    lost = trace.lost > 0 or any(row["retrans_packets"] for row in trace.rows)
    for row in trace.rows:
        cells = {key: value for key, value in row.items() if key not in EXTRA}
        cells["time_ns"] = row["time_ns"] - first + shift_ns
        if mss:
            cells["mss_bytes"] = mss
            for column in ("cwnd", "ssthresh"):
                if row.get(f"{column}_bytes") is not None:
                    cells[f"{column}_packets"] = round(row[f"{column}_bytes"] / mss)
        found.append(cells)
    more = pl.DataFrame({name: [row.get(name) for row in trace.rows] for name in EXTRA}, schema=EXTRA)
    point = trace.head.get("vantage_point")
    side = point.get("type") if isinstance(point, dict) else None
    group = trace.common.get("ODCID") or trace.common.get("group_id") or (f"trace {number}" if number else "")
    seen = {
        "side": side if isinstance(side, str) else None, "packets_sent": trace.sent or None,
        "packets_lost": trace.lost if lost or trace.sent else None,
    }  # fmt: skip
    return FlowLog(
        label=str(group)[:80] or "connection", table=pl.concat([rows("flows", found), more], how="horizontal"),
        kind="quic", cc=trace.cc, start_ns=shift_ns, stop_ns=trace.last_ns - first + shift_ns,
        retransmits=trace.lost if lost or trace.sent else None,
        seen={key: value for key, value in seen.items() if value is not None},
    )  # fmt: skip
