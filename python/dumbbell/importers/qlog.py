"""qlog, draft 0.3 and later: a QUIC connection's recovery metrics, one flow for each connection.

`dumbbell.qlog` reads the file in pieces, whatever its size, and knows what the stacks' events mean.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dumbbell.importers.log_model import FlowLog, Log, Options, columns
from dumbbell.importers.log_source import Source, open_pieces
from dumbbell.qlog import EXTRA, Trace, facts_of, is_qlog, read_traces
from dumbbell.qlog.file import HEAD
from dumbbell.qlog.trace import NS

__all__ = ["EXTRA", "NAME", "detect", "open_qlog", "read"]

NAME = "qlog"


def detect(source: Source) -> bool:
    """Does it say that it is a qlog?"""
    return is_qlog(source.data[:HEAD], source.data[-HEAD:])


def open_qlog(file: Path) -> Source | None:
    """The file, to be read in pieces; None if it is no qlog. Raises `ImportProblem` when it can't be read."""
    return open_pieces(file, is_qlog)


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
    living = [trace for trace in traces if trace.times and (trace.has_metrics or trace.sent)]
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
    completion = trace.completion_ns
    return FlowLog(
        label=_label(trace, number), table=pl.concat([table, more], how="horizontal"), kind="quic", cc=trace.cc,
        start_ns=shift_ns, stop_ns=trace.last_ns - first + shift_ns,
        retransmits=trace.lost if trace.says_lost else None, data_segs_out=trace.out.packets or None,
        bytes_received=trace.into.highest_bytes if trace.is_sender is False else None,
        fct_s=None if completion is None else completion / NS,
        seen={key: value for key, value in facts_of(trace).items() if key != "completion_s"},
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
