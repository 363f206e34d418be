"""The result of every log reader: flows, queues and probes, and facts about their origin.

In our own columns and units; values that a log lacks are null. `merge` adds names, groups and a common clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.tables import EMPTY

__all__ = ["FlowLog", "Log", "Options", "QueueLog"]


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
