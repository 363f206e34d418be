"""What every reader of a log gives: flows, queues and probes, and what is known of how they came about.

Closed and in our own columns and units; what a log can't say stays null. Names, groups and a common time are
given later, by `merge`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.tables import EMPTY

__all__ = ["FlowLog", "Log", "Options", "QueueLog"]


@dataclass(frozen=True)
class Options:
    """What a person says that logs don't."""

    names: tuple[str, ...] = ()
    ccs: tuple[str, ...] = ()
    interval_ns: int | None = None
    """Between two samples of a log without times; the bins of a capture."""
    mss_bytes: int | None = None
    size_bytes: int | None = None
    """Of the download that `curl` or `time` timed."""
    format: str | None = None
    align: str | None = None
    """`clock` or `start`."""
    queue: str | None = None
    """Name of the queue that is the bottleneck."""
    title: str = ""


@dataclass(frozen=True)
class FlowLog:
    """One flow of a log; its table has the columns of `result.FLOWS`, with `flow` and `group` null."""

    label: str
    """What the log calls it: a stream's number, a pair of addresses."""
    table: pl.DataFrame
    kind: str = "tcp"
    cc: str | None = None
    start_ns: int = 0
    stop_ns: int | None = None
    """None: to the log's end."""
    retransmits: int | None = None
    data_segs_out: int | None = None
    bytes_received: int | None = None
    bytes_asked: int | None = None
    fct_s: float | None = None
    seen: Mapping[str, Any] = field(default_factory=dict)
    """What the log says besides, as it says it."""


@dataclass(frozen=True)
class QueueLog:
    """One discipline of a log; its table has the columns of `result.QUEUES`, with `queue` null."""

    label: str
    kind: str
    qdisc: str
    table: pl.DataFrame
    rate_bps: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class Log:
    """Everything that one file says."""

    format: str
    duration_ns: int
    flows: tuple[FlowLog, ...] = ()
    queues: tuple[QueueLog, ...] = ()
    probes: pl.DataFrame = field(default_factory=EMPTY["probes"].clone)
    epoch_ns: int | None = None
    """When time 0 was, since 1970; None when the log doesn't say."""
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The program's version, its command, its host, as far as it says."""
    rounding: str = ""
    """How the log rounds its numbers; empty when they are exact."""
