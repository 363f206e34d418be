"""Convert the intervals of a stream, as the iperfs print them, to counters at the intervals' ends.

A stream's total is the sum of its intervals. It is not scaled to the summary line; a different summary is a warning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.importers.log_model import FlowLog
from dumbbell.importers.log_source import Source
from dumbbell.importers.tables import rows

__all__ = ["Interval", "Stream", "disagreements", "flow"]

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


@dataclass
class Stream:
    """One connection while its lines are read."""

    label: str
    sends: bool
    """Are its bytes those handed to the sender's socket, not those that a receiver read?"""
    kind: str = "tcp"
    intervals: list[Interval] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    mss_bytes: int | None = None
    omitted: int = 0

    def add(self, interval: Interval, source: Source) -> None:
        """Append an interval. Raises `ImportProblem` if it doesn't follow the previous one."""
        before = self.intervals[-1].stop_ns if self.intervals else interval.start_ns
        if interval.stop_ns <= interval.start_ns:
            source.fail("an interval that ends before it starts", line=interval.line)
        if abs(interval.start_ns - before) > SLACK_NS:
            source.fail(
                f"stream {self.label} continues at {interval.start_ns / 1e9:.2f} s",
                line=interval.line,
                right=f"the previous interval ends at {before / 1e9:.2f} s: a line is missing, or two tests are mixed",
            )
        self.intervals.append(interval)


def flow(stream: Stream, cc: str | None) -> FlowLog:
    """The stream as a flow: a row at the end of every interval, with cumulative totals."""
    found, total, retransmits = [], 0, 0
    counting = all(interval.retransmits is not None for interval in stream.intervals)
    for interval in stream.intervals:
        total += interval.transfer_bytes
        retransmits += interval.retransmits or 0
        row = {"time_ns": interval.stop_ns, "mss_bytes": stream.mss_bytes, **interval.columns}
        if stream.mss_bytes and row.get("cwnd_bytes") is not None:
            row["cwnd_packets"] = round(row["cwnd_bytes"] / stream.mss_bytes)
        row["bytes_sent" if stream.sends else "bytes_received"] = total
        row["retrans_packets"] = retransmits if counting else None
        found.append(row)
    return FlowLog(
        label=stream.label,
        table=rows("flows", found),
        kind=stream.kind,
        cc=cc,
        start_ns=stream.intervals[0].start_ns,
        stop_ns=stream.intervals[-1].stop_ns,
        retransmits=retransmits if counting else None,
        bytes_received=None if stream.sends else total,
        seen=stream.seen,
    )


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
