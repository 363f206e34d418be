"""Intervals of a stream, as the iperfs print them, become counters that are read at the intervals' ends.

The sum of a stream's intervals is its total: nothing is scaled to what a summary line says, but a summary that
says something else than its intervals do is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.importers.model import FlowLog
from dumbbell.importers.source import Source
from dumbbell.importers.tables import rows

__all__ = ["Interval", "Stream", "disagreements", "flow"]

SLACK_NS = 20_000_000
"""Two printed times of one instant differ by rounding to hundredths of a second."""


@dataclass(frozen=True)
class Interval:
    """One line of one stream."""

    start_ns: int
    stop_ns: int
    transfer_bytes: int
    line: int
    retransmits: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What was true at its end, as columns of `flows`."""


@dataclass
class Stream:
    """One connection while its lines come in."""

    label: str
    sends: bool
    """Are its bytes those that were handed to the sender's socket, and not those that a receiver read?"""
    kind: str = "tcp"
    intervals: list[Interval] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    mss_bytes: int | None = None
    omitted: int = 0

    def add(self, interval: Interval, source: Source) -> None:
        """Put an interval behind the others. Raises `ImportProblem` when it doesn't follow them."""
        before = self.intervals[-1].stop_ns if self.intervals else interval.start_ns
        if interval.stop_ns <= interval.start_ns:
            source.fail("an interval that ends before it begins", line=interval.line)
        if abs(interval.start_ns - before) > SLACK_NS:
            source.fail(
                f"stream {self.label} goes on at {interval.start_ns / 1e9:.2f} s",
                line=interval.line,
                right=f"the interval before ended at {before / 1e9:.2f} s: a line is missing, or two tests are mixed",
            )
        self.intervals.append(interval)


def flow(stream: Stream, cc: str | None) -> FlowLog:
    """The stream as a flow: a row at the end of every interval, with totals so far."""
    found, total, again = [], 0, 0
    counting = all(interval.retransmits is not None for interval in stream.intervals)
    for interval in stream.intervals:
        total += interval.transfer_bytes
        again += interval.retransmits or 0
        row = {"time_ns": interval.stop_ns, "mss_bytes": stream.mss_bytes, **interval.columns}
        if stream.mss_bytes and row.get("cwnd_bytes") is not None:
            row["cwnd_packets"] = round(row["cwnd_bytes"] / stream.mss_bytes)
        row["bytes_sent" if stream.sends else "bytes_received"] = total
        row["retrans_packets"] = again if counting else None
        found.append(row)
    return FlowLog(
        label=stream.label,
        table=rows("flows", found),
        kind=stream.kind,
        cc=cc,
        start_ns=stream.intervals[0].start_ns,
        stop_ns=stream.intervals[-1].stop_ns,
        retransmits=again if counting else None,
        bytes_received=None if stream.sends else total,
        seen=stream.seen,
    )


def disagreements(streams: Sequence[Stream], least_bytes: int, share: float) -> list[str]:
    """Streams whose own side's summary differs from the sum of its intervals by more than their rounding."""
    said = []
    for stream in streams:
        whole = stream.seen.get("sender_bytes" if stream.sends else "receiver_bytes")
        total = sum(interval.transfer_bytes for interval in stream.intervals)
        if whole is not None and abs(whole - total) > max(share * total, least_bytes):
            said.append(f"stream {stream.label}: its intervals add up to {total} bytes, its summary says {whole}")
    return said
