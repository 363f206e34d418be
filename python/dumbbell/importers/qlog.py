"""qlog, draft 0.3 and later: a QUIC connection's recovery metrics, one flow for each connection.

`qlog_records` reads the file in pieces, whatever its size; `qlog_trace` says what the stacks' events mean.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.importers.log_model import FlowLog, Log, Options, columns
from dumbbell.importers.log_source import Source, open_pieces, open_source
from dumbbell.importers.qlog_records import EVENTS, read_traces
from dumbbell.importers.qlog_trace import EXTRA, NS, Trace

__all__ = ["EXTRA", "NAME", "connections", "detect", "open_qlog", "read"]

NAME = "qlog"
OURS = b'"dumbbell":'
"""A key of every manifest: a run that `dumbbell export` wrote may have been a qlog."""
MARKS = (b'"qlog_version"', b'"qlog_format"', b"urn:ietf:params:qlog")


def detect(source: Source) -> bool:
    """Does it say that it is a qlog?"""
    return _fits(source.data[:8192], source.data[-65536:])


def _fits(head: bytes, tail: bytes) -> bool:
    head = head[:8192]
    if OURS in head:
        return False
    if any(mark in head for mark in MARKS):
        return re.match(rb"\s*\x1e?\s*\{", head) is not None
    # What surrounds the events may stand behind them.
    return head[:1] == b"{" and EVENTS.search(head) is not None and MARKS[0] in tail


def open_qlog(file: Path) -> Source | None:
    """The file, to be read in pieces; None if it is no qlog. Raises `ImportProblem` when it can't be read."""
    return open_pieces(file, _fits)


def connections(file: Path) -> list[Trace]:
    """The connections of a qlog with rows or packets, for programs of a run. Raises `ImportProblem`."""
    source = open_qlog(file) or open_source(file)
    try:
        return _living(source, [])
    except ImportProblem as problem:
        raise problem.within(str(file)) from None


def read(source: Source, options: Options) -> Log:
    """Read the log. Raises `ImportProblem` for an older draft, and for a record that is no event."""
    warnings: list[str] = []
    living = _living(source, warnings)
    epochs = [trace.epoch_ns for trace in living]
    known = [epoch for epoch in epochs if epoch is not None]
    begin = min(known) if len(known) == len(epochs) else None
    flows = []
    for number, (trace, epoch) in enumerate(zip(living, epochs, strict=True), 1):
        shift = epoch - begin if begin is not None and epoch is not None else 0
        flows.append(_flow(trace, number if len(living) > 1 else 0, shift, options))
    if len(living) > 1 and begin is None:
        warnings.append("its connections have no common clock: all start at 0")
    head = living[0].head
    facts = {key: head.text(key) for key in ("qlog_version", "qlog_format", "title", "code_version")}
    return Log(
        NAME, max(flow.stop_ns or 0 for flow in flows), tuple(flows), epoch_ns=begin, warnings=tuple(warnings),
        facts={key: value for key, value in facts.items() if value is not None},
        rounding="times and RTTs as the stack wrote them, in milliseconds",
    )  # fmt: skip


def _living(source: Source, warnings: list[str]) -> list[Trace]:
    traces = read_traces(source, warnings)
    living = [trace for trace in traces if trace.times]
    if not living:
        right = "a stack that logs recovery:metrics_updated or packets"
        source.fail(f"no metrics and no packets in {sum(trace.events for trace in traces)} events", right=right)
    if silent := [trace for trace in living if not trace.has_metrics]:
        what = "it has" if len(living) == 1 else f"{len(silent)} of {len(living)} connections have"
        warnings.append(f"{source.path}: {what} no metrics (recovery:metrics_updated), only packets")
    return living


def _flow(trace: Trace, number: int, shift_ns: int, options: Options) -> FlowLog:
    first = trace.first_ns or 0
    found = trace.table().with_columns(pl.col("time_ns") - first + shift_ns)
    if options.mss_bytes:
        found = _in_packets(found.with_columns(pl.lit(options.mss_bytes, pl.Int64).alias("mss_bytes")))
    unknown = [pl.lit(None, kind).alias(name) for name, kind in EXTRA.items() if name not in found.columns]
    more = found.with_columns(unknown).select(pl.col(name).cast(kind) for name, kind in EXTRA.items())
    table = columns("flows", {name: found[name] for name in found.columns if name not in EXTRA}, len(found))
    times = {"handshake": trace.handshake_ns, "closed": None if trace.closed_ns is None else trace.closed_ns - first}
    seen = {
        "side": trace.head.side, "stack": trace.head.text("vantage_point", "name"),
        "packets_sent": trace.sent or None, "packets_lost": trace.lost if trace.says_lost else None,
        **{f"{name}_s": None if time is None else time / NS for name, time in times.items()},
    }  # fmt: skip
    completion = trace.completion_ns
    return FlowLog(
        label=_label(trace, number), table=pl.concat([table, more], how="horizontal"), kind="quic", cc=trace.cc,
        start_ns=shift_ns, stop_ns=trace.last_ns - first + shift_ns,
        retransmits=trace.lost if trace.says_lost else None, data_segs_out=trace.out.packets or None,
        bytes_received=trace.into.highest_bytes if trace.is_sender is False else None,
        fct_s=None if completion is None else completion / NS,
        seen={key: value for key, value in seen.items() if value is not None},
    )  # fmt: skip


def _in_packets(table: pl.DataFrame) -> pl.DataFrame:
    """Windows in packets of `mss_bytes`, too."""
    there = [name for name in ("cwnd", "ssthresh") if f"{name}_bytes" in table.columns]
    return table.with_columns(
        (pl.col(f"{name}_bytes") / pl.col("mss_bytes")).round().cast(pl.Int64).alias(f"{name}_packets")
        for name in there
    )


def _label(trace: Trace, number: int) -> str:
    common: Sequence[object] = (trace.head.common.get("ODCID"), trace.head.common.get("group_id"), trace.group)
    group = next((each for each in common if isinstance(each, str) and each), f"trace {number}" if number else "")
    return group[:80] or "connection"
