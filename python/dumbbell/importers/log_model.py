"""What every log reader makes: flows, queues and probes as tables of a result, and facts about their origin.

Columns and units are those of a result; values that a log lacks are null. A value that doesn't fit its column is an
error that names both; values are never wrapped or truncated. `merge` adds names, groups and a common clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.importers.log_source import Source
from dumbbell.importers.stamps import FORMS, Older, Stamp, timeline
from dumbbell.results.reader import TABLES

__all__ = [
    "DOWNLOAD",
    "EMPTY",
    "UPLOAD",
    "FlowLog",
    "Interval",
    "Log",
    "Options",
    "QueueLog",
    "Sampled",
    "Stream",
    "both_directions",
    "columns",
    "datagram_columns",
    "disagreements",
    "flow",
    "rows",
    "sample_times",
    "sampled_log",
]

EMPTY: dict[str, pl.DataFrame] = {name: pl.DataFrame(schema=schema) for name, schema in TABLES.items()}
"""Each table without rows."""


@dataclass(frozen=True)
class Options:
    """Facts from the user that logs lack."""

    names: tuple[str, ...] = ()
    ccs: tuple[str, ...] = ()
    interval_ns: int | None = None
    """Between two samples of a log without times; the bins of a capture."""
    mss_bytes: int | None = None
    size_bytes: int | None = None
    """Size of the download that `curl` or `time` timed."""
    format: str | None = None
    align: str | None = None
    """`clock` or `start`."""
    queue: str | None = None
    """Name of the bottleneck's queue."""
    title: str = ""


@dataclass(frozen=True)
class FlowLog:
    """One flow of a log; its table has the columns of `table_schema.FLOWS`, with `flow` and `group` null."""

    label: str
    """Its label in the log: a stream's number, a pair of addresses."""
    table: pl.DataFrame
    kind: str = "tcp"
    cc: str | None = None
    start_ns: int = 0
    stop_ns: int | None = None
    """None: until the log's end."""
    retransmits: int | None = None
    data_segs_out: int | None = None
    bytes_received: int | None = None
    bytes_asked: int | None = None
    fct_s: float | None = None
    seen: Mapping[str, Any] = field(default_factory=dict)
    """Other facts, as the log has them."""
    named: str | None = None
    """A name and group better than its controller's, such as its direction where a log has both."""


@dataclass(frozen=True)
class QueueLog:
    """One qdisc of a log; its table has the columns of `table_schema.QUEUES`, with `queue` null."""

    label: str
    kind: str
    qdisc: str
    table: pl.DataFrame
    rate_bps: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class Log:
    """Contents of one file."""

    format: str
    duration_ns: int
    flows: tuple[FlowLog, ...] = ()
    queues: tuple[QueueLog, ...] = ()
    probes: pl.DataFrame = field(default_factory=EMPTY["probes"].clone)
    epoch_ns: int | None = None
    """Time 0 since 1970; None if the log doesn't record it."""
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The program's version, its command, its host, as far as recorded."""
    rounding: str = ""
    """How the log rounds its numbers; empty if they are exact."""


def rows(table: str, found: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A table of these rows; missing keys are null."""
    keys = {key for row in found for key in row}
    return columns(table, {key: [row.get(key) for row in found] for key in keys}, len(found))


def columns(table: str, found: Mapping[str, Sequence[Any] | np.ndarray | pl.Series], count: int) -> pl.DataFrame:
    """A table of these columns, `count` rows long; the others are null.

    Raises `ImportProblem` for a value that doesn't fit.
    """
    schema = TABLES[table]
    unknown = set(found) - set(schema)
    assert not unknown, unknown
    filled = {
        name: _series(name, found[name], kind) if name in found else pl.Series(name, [None] * count, dtype=kind)
        for name, kind in schema.items()
    }
    return pl.DataFrame(filled, schema=schema)


def _series(name: str, values: Sequence[Any] | np.ndarray | pl.Series, kind: type[pl.DataType]) -> pl.Series:
    try:
        if isinstance(values, np.ndarray | pl.Series):
            return pl.Series(name, values).cast(kind, strict=True)
        return pl.Series(name, values, dtype=kind, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        wrong = next((value for value in values if not _fits(value, kind)), None)
        raise ImportProblem("a number that exceeds its column", place=name, value=wrong) from None


def _fits(value: Any, kind: type[pl.DataType]) -> bool:
    try:
        pl.Series([value], dtype=kind, strict=True)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        return False
    return True


SLACK_NS = 20_000_000
"""Printed times of one instant may differ by rounding to hundredths of a second."""


@dataclass(frozen=True)
class Interval:
    """One line of one stream."""

    start_ns: int
    stop_ns: int
    transfer_bytes: int
    line: int
    retransmits: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Values at its end, as columns of `flows`."""


UPLOAD, DOWNLOAD = "upload", "download"


@dataclass
class Stream:
    """One connection, seen from one end, while its lines are read."""

    label: str
    sends: bool
    """Are its bytes those handed to the sender's socket, not those that a receiver read?"""
    kind: str = "tcp"
    intervals: list[Interval] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    mss_bytes: int | None = None
    omitted: int = 0
    cc: str | None = None
    shift_ns: int = 0
    """From the log's start to the test's."""
    server: bool | None = None
    """Is this end the server's? None: unknown."""

    @property
    def direction(self) -> str | None:
        """From the client's point of view."""
        return None if self.server is None else UPLOAD if self.sends is not self.server else DOWNLOAD

    def add(self, interval: Interval, source: Source) -> None:
        """Append an interval. Raises `ImportProblem` if it doesn't follow the previous one."""
        before = self.intervals[-1].stop_ns if self.intervals else interval.start_ns
        if interval.stop_ns < interval.start_ns:
            source.fail("an interval that ends before it starts", line=interval.line)
        if abs(interval.start_ns - before) > SLACK_NS:
            source.fail(
                f"stream {self.label} continues at {interval.start_ns / 1e9:.2f} s",
                line=interval.line,
                right=f"the previous interval ends at {before / 1e9:.2f} s: a line is missing, or two tests are mixed",
            )
        if interval.stop_ns == interval.start_ns:
            # A rest of the test that rounds to no time, as servers print it at the end: its bytes count.
            if self.intervals:
                last = self.intervals[-1]
                again = (
                    interval.retransmits if last.retransmits is None else last.retransmits + (interval.retransmits or 0)
                )
                self.intervals[-1] = replace(
                    last, transfer_bytes=last.transfer_bytes + interval.transfer_bytes, retransmits=again
                )
            return
        self.intervals.append(interval)


def flow(stream: Stream, cc: str | None, other: Stream | None = None, *, both: bool = False) -> FlowLog:
    """The stream as a flow: a row at the end of every interval, with cumulative totals.

    `other` is the same connection seen from its other end. With `both`, the log has both directions.
    """
    ends = [end for end in (stream, other) if end is not None]
    by_time: dict[int, dict[str, Any]] = {}
    for end in ends:
        for row in _stream_rows(end):
            by_time.setdefault(row["time_ns"], {}).update(
                {key: value for key, value in row.items() if value is not None}
            )
    found = [by_time[time] for time in sorted(by_time)]
    sender = next((end for end in ends if end.sends), None)
    receiver = next((end for end in ends if not end.sends), None)
    counted = _retransmits(sender) if sender is not None else None
    if counted is None:
        # A receiver learns them from the sender's summary.
        counted = next((end.seen[key] for end in ends for key in ("sender_retransmits",) if key in end.seen), None)
    seen = {**stream.seen, **({"direction": stream.direction} if stream.direction else {})}
    if other is not None:
        seen |= {f"other_{key}" if key in seen else key: value for key, value in other.seen.items()}
    cc = next((end.cc for end in (sender, *ends) if end is not None and end.cc), cc)
    return FlowLog(
        label=stream.label,
        table=rows("flows", found),
        kind=stream.kind,
        cc=cc,
        start_ns=min(end.intervals[0].start_ns + end.shift_ns for end in ends),
        stop_ns=max(end.intervals[-1].stop_ns + end.shift_ns for end in ends),
        retransmits=counted,
        bytes_received=None if receiver is None else sum(each.transfer_bytes for each in receiver.intervals),
        seen=seen,
        named="-".join(filter(None, (cc, stream.direction))) if both and stream.direction else None,
    )


def _retransmits(stream: Stream) -> int | None:
    known = [each.retransmits for each in stream.intervals if each.retransmits is not None]
    return sum(known) if len(known) == len(stream.intervals) else None


def datagram_columns(jitter_ms: str | float | None, lost: int | None) -> dict[str, Any]:
    """What a receiver's interval says of UDP: its jitter, and datagrams lost in it."""
    known = jitter_ms is not None and float(jitter_ms) >= 0
    return {"jitter_ns": round(float(jitter_ms) * 1e6) if known else None, "datagrams_lost": lost}  # type: ignore[arg-type]


def _stream_rows(stream: Stream) -> list[dict[str, Any]]:
    found, total, retransmits, lost = [], 0, 0, 0
    counting = _retransmits(stream) is not None
    for interval in stream.intervals:
        total += interval.transfer_bytes
        retransmits += interval.retransmits or 0
        row = {"time_ns": interval.stop_ns + stream.shift_ns, "mss_bytes": stream.mss_bytes, **interval.columns}
        if stream.mss_bytes and row.get("cwnd_bytes") is not None:
            row["cwnd_packets"] = round(row["cwnd_bytes"] / stream.mss_bytes)
        row["bytes_sent" if stream.sends else "bytes_received"] = total
        row["retrans_packets"] = retransmits if counting else None
        if row.get("datagrams_lost") is not None:
            # Logs count by interval, the column in total. A late datagram may make an interval's count negative.
            lost += row["datagrams_lost"]
            row["datagrams_lost"] = max(lost, 0)
        found.append(row)
    return found


def both_directions(streams: Sequence[Stream]) -> bool:
    """Are there flows in both directions?"""
    return {stream.direction for stream in streams} >= {UPLOAD, DOWNLOAD}


def disagreements(streams: Sequence[Stream], least_bytes: int, share: float) -> list[str]:
    """Streams whose own summary differs from the sum of its intervals by more than their rounding."""
    warnings = []
    for stream in streams:
        summary_bytes = stream.seen.get("sender_bytes" if stream.sends else "receiver_bytes")
        total = sum(interval.transfer_bytes for interval in stream.intervals)
        if summary_bytes is not None and abs(summary_bytes - total) > max(share * total, least_bytes):
            warnings.append(
                f"stream {stream.label}: its intervals sum to {total} bytes, its summary has {summary_bytes}"
            )
    return warnings


@dataclass(frozen=True)
class Sampled:
    """One qdisc at one time."""

    name: str
    kind: str
    qdisc: str
    device: str | None
    line: int
    instant: int
    stamp: Stamp | None
    row: Mapping[str, Any]
    """Columns of `queues`."""
    rate_bps: int | None = None
    handle: str = ""
    parent: str | None = None


def sampled_log(format_: str, source: Source, found: Sequence[Sampled], options: Options, rounding: str) -> Log:
    """The log of these samples. Raises `ImportProblem` if their times are unknown."""
    if not found:
        source.fail("no qdisc", right="the output of tc -s qdisc")
    stamps = {sample.instant: sample.stamp for sample in found}
    lines = {sample.instant: sample.line for sample in reversed(found)}
    known, epoch_ns, notes = sample_times(source, list(stamps.values()), [lines[at] for at in stamps], options)
    times = dict(zip(stamps, known, strict=True))
    by_name: dict[str, list[Sampled]] = {}
    for sample in found:
        by_name.setdefault(sample.name, []).append(sample)
    queues = tuple(_queue(name, mine, times, source) for name, mine in by_name.items())
    return Log(format_, max(times.values()), queues=queues, epoch_ns=epoch_ns, warnings=tuple(notes), rounding=rounding)


TIMED = f"their interval, such as --interval 0.1s, or a time with every sample: {FORMS}"


def sample_times(
    source: Source, stamps: Sequence[Stamp | None], lines: Sequence[int], options: Options
) -> tuple[list[int], int | None, list[str]]:
    """Each sample's time since the first, the time of day of that, and warnings.

    Raises `ImportProblem` if some or all are unknown, and for one that is older than its predecessor.
    """
    known = [each for each in stamps if each is not None]
    if len(known) == len(stamps):
        try:
            found = timeline(known)
        except Older as older:
            right = "one log per file" if "older" in str(older) else "one form throughout"
            source.fail(str(older), line=lines[older.at], right=right)
        return found.times_ns, found.epoch_ns, [f"{source.path}: {note}" for note in found.notes]
    if known:
        right = "a time before every sample, or none and --interval"
        bare = list(stamps).index(None)
        source.fail("a sample without a time, although others have one", line=lines[bare], right=right)
    if len(stamps) > 1 and options.interval_ns is None:
        source.fail("samples without times", line=lines[1], right=f"give {TIMED}")
    return [position * (options.interval_ns or 0) for position in range(len(stamps))], None, []


def _queue(name: str, samples: Sequence[Sampled], times: Mapping[int, int], source: Source) -> QueueLog:
    last = samples[-1]
    for sample in samples:
        if sample.kind != last.kind:
            source.fail(
                f"'{name}' changed from {samples[0].kind} to {sample.kind}",
                line=sample.line,
                right="one configuration per file",
            )
    found = []
    for sample in samples:
        row = {"time_ns": times[sample.instant], "kind": sample.kind, "rate_bps": last.rate_bps, **sample.row}
        if last.rate_bps:
            row["delay_ns"] = row["backlog_bytes"] * 8 * 10**9 // last.rate_bps
        found.append(row)
    return QueueLog(name, last.kind, last.qdisc, rows("queues", found), last.rate_bps, last.device)
