"""One QUIC connection of a qlog, event by event: a row where its recovery metrics change, and its facts.

Values carry over to the next row, as a stack logs only what changed; what it never logs is null. Times are
milliseconds: since 1970 (aioquic), since a start or since the event before, as `time_format` says. RTTs are
milliseconds, windows bytes, pacing rates bit/s (draft-ietf-quic-qlog-quic-events). Dialects, from the stacks' sources:

- Until a first sample the RTT is RFC 9002's guess of 333 ms: such a row has none.
- quinn, whose logs name no side, writes every RTT in seconds; its guess says so. Its `group_id` changes once, as the
  client learns the server's connection ID; an endpoint's file may have several connections.
- quiche writes rates in bytes a second; its own keys `cf_…` say so. It counts lost packets there.
- aioquic writes `cwnd`.
"""

import re
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from dumbbell import limits
from dumbbell.qlog.file import QlogSource

__all__ = ["EXTRA", "INFINITE", "MS", "OURS", "SAYS_LOST", "Connections", "Head", "Trace"]

MS = 10**6
NS = 10**9
EXTRA: dict[str, type[pl.DataType]] = {"ssthresh_bytes": pl.Int64}
"""Columns that no engine has."""
OURS = "dumbbell"
"""The stack's name in logs that `dumbbell export` writes: their RTTs are none of a guess."""
SAYS_LOST = "packet_lost"
"""Key of the configuration of such logs: every lost packet is logged."""
GUESS_NS = 333 * MS
"""kInitialRtt, RFC 9002 section 6.2.2."""
SHORTEST_GUESS = 3.0
"""An initial RTT below this many milliseconds would be shorter than any stack's: it is in seconds."""
ENDLESS = 10**8
"""Stacks write a smallest RTT that they do not have as 0 or as the largest number."""
INFINITE = 2**53
"""Stacks write an infinite ssthresh as the largest 64-bit number, or as that of a double."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_MS = 10**11
"""Larger times are since 1970."""
MOST = 2**62
COUNTED_NS = 10 * MS
"""Counters of packets alone make a row at most this often."""
MOST_UNACKED = 1_000_000
"""More packets than any connection has in flight."""
MOST_STREAMS = 1_000_000
OLDER_NS = 1000 * MS
LARGEST = 0.01
"""Share of the bytes from which a stream counts for the completion: HTTP/3 has short streams that never end."""

METRICS = {
    "congestion_window": "cwnd_bytes",
    "cwnd": "cwnd_bytes",
    "bytes_in_flight": "inflight_bytes",
    "packets_in_flight": "inflight_packets",
    "smoothed_rtt": "rtt_ns",
    "min_rtt": "min_rtt_ns",
    "rtt_variance": "rttvar_ns",
    "pacing_rate": "pacing_rate_bps",
    "cf_delivery_rate": "delivery_rate_bps",
    "ssthresh": "ssthresh_bytes",
}
RTTS = ("smoothed_rtt", "min_rtt", "rtt_variance")
RATES = ("pacing_rate", "cf_delivery_rate")
CONTROLLERS = ("congestion_control", "congestion_control_algorithm", "cc_algorithm", "congestion_controller")
ONE_RTT = {"1rtt", "onertt", "short"}
COMPLETE = {"handshake_complete", "handshake_completed", "handshake_confirmed"}
PHASES = re.compile(r"[a-z][a-z0-9_]{0,40}\Z")
NOTHING: dict[str, Any] = {}


@dataclass(frozen=True)
class Head:
    """What a log says of all its events."""

    fields: Mapping[str, Any]

    @staticmethod
    def of(value: Mapping[str, Any]) -> "Head":
        """The header of a sequence, or a trace of a document without its events."""
        trace = value.get("trace")
        return Head({**value, **(trace if isinstance(trace, dict) else {})})

    @cached_property
    def common(self) -> Mapping[str, Any]:
        """Fields of all events."""
        found = self.fields.get("common_fields")
        return found if isinstance(found, dict) else {}

    @cached_property
    def clock(self) -> tuple[bool, int]:
        """Do times count from the event before, and nanoseconds of their unit."""
        configuration = self.fields.get("configuration")
        units = configuration.get("time_units") if isinstance(configuration, dict) else None
        is_delta = self.common.get("time_format") in ("delta", "relative_to_previous_event")
        return is_delta, 1000 if units == "us" else MS

    @cached_property
    def reference_ns(self) -> int | None:
        """What times count from, since 1970; None if the log doesn't say it."""
        reference = self.common.get("reference_time")
        if isinstance(reference, dict):
            reference = reference.get("wall_clock_time") or reference.get("epoch")
        if isinstance(reference, str):
            try:
                moment = datetime.fromisoformat(reference.replace("Z", "+00:00"))
            except ValueError:
                return None
            return (moment - EPOCH) // timedelta(microseconds=1) * 1000 if moment.tzinfo and moment > EPOCH else None
        number = _number(reference)
        return round(number * MS) if number is not None and EPOCH_MS <= number < MOST / MS else None

    def text(self, *keys: str) -> str | None:
        """A text below these keys."""
        value: Any = self.fields
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else None

    @cached_property
    def side(self) -> str | None:
        """`client` or `server`."""
        side = self.text("vantage_point", "type")
        return side if side in ("client", "server") else None


class Connections:
    """The connections below one header, told apart by the `group_id` of their events."""

    def __init__(self, source: QlogSource, head: Head) -> None:
        self.head = head
        self._source = source
        self._clock_ns = 0
        self._of: dict[str | None, Trace] = {}
        self._last: Trace | None = None

    def take(self, value: dict[str, Any], line: int) -> None:
        """Read an event. Raises `ImportProblem` if it is none."""
        time, name, data = value.get("time"), value.get("name"), value.get("data")
        if isinstance(time, bool) or not isinstance(time, int | float) or not isinstance(name, str):
            self._source.fail("not an event of qlog", line=line, place="time, name", value=str(value)[:60])
        time_ns = self._time_ns(time, line)
        what = name.rpartition(":")[2].removeprefix("recovery_")
        data = data if isinstance(data, dict) else NOTHING
        group = value.get("group_id")
        trace = self._trace(group if isinstance(group, str) else None, what, data)
        trace.take(what, data, trace.moment(time_ns, line), line)

    def finished(self, head: Head | None = None) -> "list[Trace]":
        """All connections; `head` is what the whole log says."""
        found = list(dict.fromkeys(self._of.values()))
        for trace in found:
            trace.head = head or trace.head
            trace.finish()
        return found

    def _time_ns(self, time: float, line: int) -> int:
        if not 0 <= time < MOST / MS:
            self._source.fail("an impossible time", line=line, place="time", value=time)
        is_delta, unit_ns = self.head.clock
        # Milliseconds since 1970 have no room for nanoseconds in a double: whole and fraction apart.
        whole = int(time)
        time_ns = whole * unit_ns + round((time - whole) * unit_ns)
        if is_delta:
            time_ns = self._clock_ns = self._clock_ns + time_ns
        if time_ns > MOST:
            self._source.fail("an impossible time", line=line, place="time", value=time)
        return time_ns

    def _trace(self, group: str | None, what: str, data: dict[str, Any]) -> "Trace":
        trace = self._of.get(group)
        if trace is None:
            # A connection begins with an Initial packet (RFC 9000 section 7); another new group is one that goes on.
            begins = what in ("packet_sent", "packet_received") and _packet_type(data) == "initial"
            trace = self._last if self._last is not None and not begins else Trace(self._source, self.head, group)
            self._of[group] = trace
        self._last = trace
        return trace


@dataclass
class _Streams:
    """Stream data in one direction."""

    data_bytes: int = 0
    """Of all frames, retransmissions included."""
    packets: int = 0
    highest_bytes: int = 0
    """Sum of the streams' highest offsets."""
    last_ns: int | None = None
    """When the last new data moved."""
    ends: dict[int, list[int]] = field(default_factory=dict)
    """Of each stream its highest offset, and 1 after its end."""

    def take(self, frame: Mapping[str, Any], time_ns: int) -> int:
        """Count a STREAM frame; returns its bytes."""
        raw = frame.get("raw")
        lengths = (frame.get("length"), *((raw.get(key) for key in ("payload_length", "length")) if _is(raw) else ()))
        length = next((found for each in lengths if (found := _whole(each)) is not None), 0)
        stream = self.ends.setdefault(_whole(frame.get("stream_id")) or 0, [0, 0])
        highest = (_whole(frame.get("offset")) or 0) + length
        self.data_bytes += length
        if highest > stream[0]:
            self.highest_bytes += highest - stream[0]
            stream[0] = highest
            self.last_ns = time_ns
        if frame.get("fin") is True:
            stream[1] = 1
        return length

    @property
    def are_complete(self) -> bool:
        """Have all streams ended that have a share of the data?"""
        large = [ended for highest, ended in self.ends.values() if highest >= LARGEST * self.highest_bytes]
        return self.highest_bytes > 0 and len(self.ends) < MOST_STREAMS and all(large)


class Trace:
    """One connection."""

    def __init__(self, source: QlogSource, head: Head, group: str | None) -> None:
        self.head, self.group = head, group
        self.phase: str | None = None
        self.cc: str | None = None
        self.lost = self.sent = self.received = self.events = 0
        self.has_metrics = False
        self.first_ns: int | None = None
        self.last_ns = 0
        self.sent_ns: int | None = None
        """Time of the first packet that this end sent."""
        self.closed_ns: int | None = None
        self.handshake_ns: int | None = None
        """From the connection's first event to the end of the handshake, in nanoseconds."""
        self.times = array("q")
        self.out, self.into = _Streams(), _Streams()
        self._source = source
        self._most_rows = limits.most("qlog-rows")
        self._columns: dict[str, array[int]] = {}
        self._state: dict[str, int] = {}
        self._phases: dict[str, int] = {}
        self._is_client: bool | None = {"client": True, "server": False}.get(head.side or "")
        self._begins: bool | None = None
        """Does the log begin with the connection's first packets?"""
        self._rtt_unit: int | None = None
        self._rate_factor = 1
        self._unacked: OrderedDict[int, int] | None = OrderedDict()
        """Stream bytes of each packet in flight; None: not known."""
        self._acked = 0
        self._acked_ns: int | None = None
        self._counted = False
        """Did counters change since the last row?"""
        configuration = head.fields.get("configuration")
        self._is_ours = head.text("vantage_point", "name") == OURS
        self._says_lost = self._is_ours and _is(configuration) and configuration.get(SAYS_LOST) is True

    # Reading

    def moment(self, time_ns: int, line: int) -> int:
        """The event's time. Raises `ImportProblem` for one that is too old."""
        if self.first_ns is None:
            self.first_ns = time_ns
        elif time_ns < self.last_ns - OLDER_NS:
            unit = self.head.clock[1]
            self._source.fail(
                "an event that is a second older than the previous one", line=line, place="time", value=time_ns / unit
            )
        time_ns = max(time_ns, self.first_ns)
        self.last_ns = max(self.last_ns, time_ns)
        self.events += 1
        return time_ns

    def take(self, what: str, data: dict[str, Any], time_ns: int, line: int) -> None:
        """Read an event. Raises `ImportProblem` for a value that makes no sense."""
        if what == "metrics_updated":
            self._metrics(data, time_ns, line)
        elif (reader := READERS.get(what)) is not None:
            reader(self, data, time_ns)
        if self._counted and (not self.times or time_ns - self.times[-1] >= COUNTED_NS):
            self._row(time_ns)

    def finish(self) -> None:
        """Nothing follows."""
        if self._counted:
            self._row(self.last_ns)

    def _metrics(self, data: dict[str, Any], time_ns: int, line: int) -> None:
        self.has_metrics = True
        if "cf_app_limited" in data:
            self._rate_factor = 8
            if isinstance(data["cf_app_limited"], bool):
                self._state["app_limited"] = int(data["cf_app_limited"])
        counted = data.get("cf_lost_packets")
        if _is(counted) and (total := _whole(counted.get("total"))) is not None:
            self.lost, self._says_lost = max(self.lost, total), True
            self._state["retrans_packets"] = self.lost
        rtt = _number(data.get("smoothed_rtt"))
        if rtt is not None and self._rtt_unit is None:
            self._rtt_unit = self._unit_of(rtt)
        unit = self._rtt_unit or MS
        # Its variance and the smallest of none are guessed, too.
        is_guessed = "rtt_ns" not in self._state and rtt is not None and not self._is_ours and (
            abs(rtt * unit - GUESS_NS) < GUESS_NS * 1e-3 or not 0 < rtt <= ENDLESS or (unit == NS and not self.times)
        )  # fmt: skip
        for key, column in METRICS.items():
            value = data.get(key)
            if value is None or (is_guessed and key in RTTS):
                continue
            number = _number(value)
            if number is None:
                self._source.fail("not a number from 0", line=line, place=f"data.{key}", value=value)
            if (key == "ssthresh" and number >= INFINITE) or (key in RATES and number == 0):
                self._state.pop(column, None)  # Not set: quinn's BBR has a pacing rate of 0 before its first sample.
                continue
            if key == "min_rtt" and column not in self._state and not 0 < number <= ENDLESS:
                continue
            scaled = round(number * (unit if key in RTTS else self._rate_factor if key in RATES else 1))
            if scaled > MOST:
                self._source.fail(f"exceeds {MOST}", line=line, place=f"data.{key}", value=value)
            self._state[column] = scaled
        self._row(time_ns)

    def _unit_of(self, rtt: float) -> int:
        """Nanoseconds of the unit of RTTs; `rtt` is the first."""
        is_quinn = self.head.side is None and self.head.text("vantage_point", "name") is None
        return NS if is_quinn and 0 < rtt < SHORTEST_GUESS else MS

    def _congestion_state(self, data: dict[str, Any], time_ns: int) -> None:
        new = data.get("new")
        if not isinstance(new, str):
            return
        phase = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", new).lower().replace(" ", "_").replace("-", "_")
        self.phase = phase if PHASES.match(phase) else None
        if self.phase is None:
            self._state.pop("cc_phase", None)
        else:
            self._state["cc_phase"] = self._phases.setdefault(self.phase, len(self._phases))
        self._row(time_ns)

    def _packet_sent(self, data: dict[str, Any], time_ns: int) -> None:
        self._packet(data, time_ns, is_sent=True)

    def _packet_received(self, data: dict[str, Any], time_ns: int) -> None:
        self._packet(data, time_ns, is_sent=False)

    def _packet(self, data: dict[str, Any], time_ns: int, *, is_sent: bool) -> None:
        kind = _packet_type(data)
        if self._begins is None:
            self._begins = kind not in ONE_RTT
            self._is_client = is_sent if self._is_client is None else self._is_client
        if is_sent:
            self.sent += 1
            self._state["segs_out"] = self.sent
            self._counted = True
            self.sent_ns = time_ns if self.sent_ns is None else self.sent_ns
        else:
            self.received += 1
        # A client sends, a server processes 1-RTT packets when the handshake is complete (RFC 9001 section 5.7).
        if kind in ONE_RTT and is_sent is self._is_client:
            self._complete(time_ns)
        frames = data.get("frames")
        if isinstance(frames, list) and frames:
            self._frames(frames, kind, _packet_number(data), time_ns, is_sent=is_sent)

    def _frames(self, frames: list[Any], kind: str, number: int | None, time_ns: int, *, is_sent: bool) -> None:
        carried, streams = 0, self.out if is_sent else self.into
        for frame in frames:
            what = frame.get("frame_type") if isinstance(frame, dict) else None
            if what == "stream" and len(streams.ends) < MOST_STREAMS:
                carried += streams.take(frame, time_ns)
            elif what == "ack" and not is_sent and kind in ONE_RTT:
                ranges = frame.get("acked_ranges")
                self._ack(ranges if isinstance(ranges, list) else [], time_ns)
                if (marked := _whole(frame.get("ce"))) is not None:
                    self._state["delivered_ce_packets"] = max(marked, self._state.get("delivered_ce_packets", 0))
            elif what == "handshake_done" and is_sent:
                self._complete(time_ns)
            elif what == "connection_close":
                self._closed(time_ns)
        if carried == 0:
            return
        streams.packets += 1
        self._counted = True
        if is_sent:
            self._state["bytes_sent"] = self.out.data_bytes
            self._state["data_segs_out"] = self.out.packets
            self._state.setdefault("bytes_acked", 0)
            if self._unacked is not None and number is not None:
                self._unacked[number] = carried
                if len(self._unacked) > MOST_UNACKED:
                    self._unacked = None
        else:
            self._state["bytes_received"] = self.into.highest_bytes

    def _ack(self, ranges: list[Any], time_ns: int) -> None:
        """Take acknowledged packets: pairs of the first and the last number, or one number."""
        if not self._unacked:
            return
        before = self._acked
        for each in ranges:
            ends = [_whole(number) for number in each[:2]] if isinstance(each, list) else []
            known = [number for number in ends if number is not None]
            if not known or not self._unacked:
                continue
            first, last = max(min(known), next(iter(self._unacked))), max(known)
            within: Iterator[int] = iter(range(first, last + 1))
            if last - first > 2 * len(self._unacked):
                within = iter([number for number in self._unacked if first <= number <= last])
            for number in within:
                self._acked += self._unacked.pop(number, 0)
        if self._acked > before:
            self._acked_ns = time_ns
            self._state["bytes_acked"] = self._acked
            self._counted = True

    def _packets_acked(self, data: dict[str, Any], time_ns: int) -> None:
        numbers = data.get("packet_numbers")
        self._ack([[number] for number in numbers] if isinstance(numbers, list) else [], time_ns)

    def _mtu(self, data: dict[str, Any], _time_ns: int) -> None:
        mtu = _whole(data.get("mtu", data.get("new")))
        if mtu is not None and mtu < 2**16:
            self._state["mss_bytes"] = mtu

    def _ecn_state(self, data: dict[str, Any], _time_ns: int) -> None:
        if (new := data.get("new")) in ("capable", "failed"):
            self._state["ecn"] = int(new == "capable")

    def _parameters(self, data: dict[str, Any], _time_ns: int) -> None:
        for key in CONTROLLERS:
            if isinstance(data.get(key), str) and PHASES.match(data[key].lower()):
                self.cc = data[key].lower()

    def _connection_state(self, data: dict[str, Any], time_ns: int) -> None:
        if data.get("new") in COMPLETE:
            self._complete(time_ns)
        elif data.get("new") in ("closed", "draining"):
            self._closed(time_ns)

    def _connection_closed(self, _data: dict[str, Any], time_ns: int) -> None:
        self._closed(time_ns)

    def _lost(self, data: dict[str, Any], time_ns: int) -> None:
        self.lost += 1
        self._state["retrans_packets"] = self.lost
        self._row(time_ns)
        number = _packet_number(data)
        if self._unacked is not None and number is not None and _packet_type(data) in ONE_RTT:
            self._unacked.pop(number, None)

    def _complete(self, time_ns: int) -> None:
        if self.handshake_ns is None and self._begins is not False:
            self.handshake_ns = time_ns - (self.first_ns or 0)

    def _closed(self, time_ns: int) -> None:
        self.closed_ns = time_ns if self.closed_ns is None else self.closed_ns

    def _row(self, time_ns: int) -> None:
        self._counted = False
        count = len(self.times)
        if count and self.times[-1] == time_ns:
            count -= 1
            for column in self._columns.values():
                column.pop()
        else:
            if count >= self._most_rows:
                allowed = limits.raised("qlog-rows", 2 * count)
                self._source.fail(f"more than {limits.shown('qlog-rows')} rows of one connection", right=allowed)
            self.times.append(time_ns)
        for name in self._state:
            if name not in self._columns:
                self._columns[name] = array("q", [-1]) * count
        for name, column in self._columns.items():
            value = self._state.get(name, -1)
            if value > MOST:
                self._source.fail(f"exceeds {MOST}", place=name, value=value)
            column.append(value)

    # What it says

    @property
    def is_sender(self) -> bool | None:
        """Does this end send most of the data? None: the stack doesn't say."""
        sent, received = self.out.highest_bytes, self.into.highest_bytes
        return sent >= received if sent or received else None

    @property
    def epoch_ns(self) -> int | None:
        """The time of the first event since 1970; None if the log doesn't say it."""
        first = self.first_ns or 0
        if first >= EPOCH_MS * MS:
            return first
        reference = self.head.reference_ns
        return None if reference is None else reference + first

    @property
    def says_lost(self) -> bool:
        """Does it log lost packets, or all that its recovery does, so that none lost means none?"""
        return self._says_lost or self.lost > 0 or (self.sent > 0 and self.has_metrics)

    @property
    def completion_ns(self) -> int | None:
        """From the first event until all stream data arrived; None if it did not, or is not logged.

        At a sender until the last is acknowledged, or until the receiver closes.
        """
        streams = self.out if self.is_sender else self.into
        if self.is_sender is None or not streams.are_complete or streams.last_ns is None:
            return None
        end = streams.last_ns
        if self.is_sender:
            last = self.closed_ns if self._unacked or self._unacked is None else self._acked_ns
            if last is None:
                return None
            end = max(end, last)
        return end - (self.first_ns or 0)

    def table(self) -> pl.DataFrame:
        """The rows, with the columns of `flows` and of `EXTRA` that have a value, null where it is unknown."""
        left_out = {"bytes_received"} if self.is_sender else {"bytes_sent", "bytes_acked"}
        if self._unacked is None:
            left_out.add("bytes_acked")
        found = [pl.Series("time_ns", np.array(self.times))]
        for name, column in self._columns.items():
            numbers = np.array(column)
            known = pl.Series(numbers >= 0)
            if name in left_out or not known.any():
                continue
            if name == "cc_phase":
                numbers = np.where(numbers >= 0, numbers, len(self._phases))
                found.append(pl.Series(name, [*self._phases, None], dtype=pl.String).gather(pl.Series(numbers)))
            elif name == "retrans_packets":
                found.append(pl.Series(name, np.maximum(numbers, 0)))
            else:
                found.append(pl.Series(name, numbers).set(~known, None))
        if self.says_lost and "retrans_packets" not in self._columns:
            found.append(pl.zeros(len(self.times), pl.Int64, eager=True).alias("retrans_packets"))
        return pl.DataFrame(found)


READERS = {
    "packet_sent": Trace._packet_sent,
    "packet_received": Trace._packet_received,
    "packet_lost": Trace._lost,
    "packets_acked": Trace._packets_acked,
    "congestion_state_updated": Trace._congestion_state,
    "mtu_updated": Trace._mtu,
    "ecn_state_updated": Trace._ecn_state,
    "parameters_set": Trace._parameters,
    "connection_state_updated": Trace._connection_state,
    "connection_closed": Trace._connection_closed,
}
"""By the event's name, without its schema."""


def _is(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _whole(value: Any) -> int | None:
    """A whole number from 0; 64-bit numbers may be text."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def _number(value: Any) -> float | None:
    """A number from 0; 64-bit numbers may be text."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return value


def _packet_type(data: Mapping[str, Any]) -> str:
    header = data.get("header")
    kind = header.get("packet_type") if isinstance(header, dict) else data.get("packet_type", data.get("type"))
    return kind.lower().replace("-", "").replace("_", "") if isinstance(kind, str) else ""


def _packet_number(data: Mapping[str, Any]) -> int | None:
    header = data.get("header")
    return _whole((header if isinstance(header, dict) else data).get("packet_number"))
