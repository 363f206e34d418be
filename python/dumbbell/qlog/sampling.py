"""What a stack's qlog says of a flow at the times of the flow's samples, on the clock of the experiment.

The clock: times of day, where the log has them and they fit the flow; otherwise the first packet that the log's end
sent is the first datagram that the flow's sender sent. Logs in whole milliseconds (ngtcp2) are that exact.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.qlog.file import QlogFile
from dumbbell.qlog.records import read_traces
from dumbbell.qlog.trace import EXTRA, NS, Trace
from dumbbell.results.reader import FLOWS

__all__ = ["facts_of", "fill", "on_clock", "read_qlog", "sampled", "sender_of"]

FITS_NS = NS
"""Times of day fit if the first packet is that near to the flow's first datagram: stacks take them at any moment of
their start, and a host's clock may be set."""


def read_qlog(file: Path) -> tuple[list[Trace], list[str]]:
    """The connections of a file, and warnings. Raises `ImportProblem` with the file, the line, and what is wrong."""
    warnings: list[str] = []
    return [trace for trace in read_traces(QlogFile(file), warnings) if trace.times], warnings


def sender_of(
    traces: Sequence[Trace], first_sent_ns: int | None = None, start_epoch_ns: int | None = None
) -> Trace | None:
    """The trace of a flow's sender among those of a program's files; None if there is none.

    An end that receives most of the data is not it. Of several the one that began nearest to the flow's first datagram
    if their clocks say so, or the one that sent most packets.
    """
    possible = [trace for trace in traces if trace.is_sender is not False and (trace.has_metrics or trace.sent)]

    def distance(trace: Trace) -> tuple[bool, float, int]:
        at = _by_clock(trace, start_epoch_ns)
        away = None if at is None or first_sent_ns is None else abs(at - first_sent_ns)
        fits = away is not None and away <= FITS_NS
        return not trace.has_metrics, away if fits and away is not None else float("inf"), -trace.sent

    return min(possible, key=distance, default=None)


def on_clock(trace: Trace, first_sent_ns: int, start_epoch_ns: int | None = None) -> int:
    """Nanoseconds from the trace's own times to those of the experiment.

    `first_sent_ns`: when the flow's sender sent its first datagram, on the experiment's clock; `start_epoch_ns`: the
    experiment's start since 1970, if it is known.
    """
    own = trace.sent_ns if trace.sent_ns is not None else trace.first_ns or 0
    at = _by_clock(trace, start_epoch_ns)
    return (at if at is not None and abs(at - first_sent_ns) <= FITS_NS else first_sent_ns) - own


def sampled(trace: Trace, times_ns: pl.Series, first_sent_ns: int, start_epoch_ns: int | None = None) -> pl.DataFrame:
    """What the log says at these times of the experiment: the last value at or before, null before the first.

    Names and types are those of `flows` and of `EXTRA`; a column that the log lacks is left out. Other arguments are
    those of `on_clock`.
    """
    shift = on_clock(trace, first_sent_ns, start_epoch_ns)
    table = trace.table().sort("time_ns", maintain_order=True)
    found = np.searchsorted(table["time_ns"].to_numpy() + shift, times_ns.to_numpy(), side="right") - 1
    rows = pl.Series(found, dtype=pl.Int64).set(pl.Series(found < 0), None)
    kinds = {name: kind for name, kind in {**FLOWS, **EXTRA}.items() if name in table.columns and name != "time_ns"}
    return table.select(pl.col(name).cast(kind, strict=False).gather(rows) for name, kind in kinds.items())


def fill(flows: pl.DataFrame, flow: str, columns: pl.DataFrame) -> pl.DataFrame:
    """The table `flows` with these columns in the rows of one flow, in their order, where it has no value yet."""
    mine = flows["flow"] == flow
    places = mine.arg_true()
    added = [
        pl.lit(None, kind).alias(name) for name, kind in columns.schema.items() if name not in flows.columns
    ]  # fmt: skip
    whole = flows.with_columns(added)
    filled = []
    for name in columns.columns:
        known = whole[name].gather(places)
        filled.append(whole[name].scatter(places, known.zip_with(known.is_not_null(), columns[name].cast(known.dtype))))
    return whole.with_columns(filled)


def facts_of(trace: Trace) -> dict[str, Any]:
    """What the log says of the connection, without what it does not say.

    `side`, `stack`, `packets_sent`, `packets_lost`, `handshake_s`, `completion_s`, `closed_s`; seconds are those since
    its first event.
    """
    first = trace.first_ns or 0
    times = {
        "handshake_s": trace.handshake_ns,
        "completion_s": trace.completion_ns,
        "closed_s": None if trace.closed_ns is None else trace.closed_ns - first,
    }
    found = {
        "side": trace.head.side,
        "stack": trace.head.text("vantage_point", "name"),
        "packets_sent": trace.sent or None,
        "packets_lost": trace.lost if trace.says_lost else None,
        **{name: None if time is None else time / NS for name, time in times.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def _by_clock(trace: Trace, start_epoch_ns: int | None) -> int | None:
    """When this end sent its first packet on the experiment's clock, by the time of day."""
    if trace.epoch_ns is None or start_epoch_ns is None:
        return None
    first = trace.first_ns or 0
    return trace.epoch_ns - start_epoch_ns + (first if trace.sent_ns is None else trace.sent_ns) - first
