"""The result folder: a manifest (`run.json`) and Parquet tables, written atomically.

`docs/result.md` lists every column. This module knows names, types and files;
`dumbbell.analysis` computes what the numbers mean.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import polars as pl

from dumbbell.control_characters import json_text
from dumbbell.errors import ResultError
from dumbbell.results.columns import Framed, Table
from dumbbell.results.manifest_schema import FORMAT, RUN
from dumbbell.results.reader import read_json, read_table

__all__ = ["FORMAT", "INSIDE", "TABLES", "Run", "load", "load_manifest", "system_errors", "write"]

FLOWS: dict[str, type[pl.DataType]] = {
    "time_ns": pl.Int64,
    "flow": pl.String,
    "group": pl.String,
    "state": pl.UInt8,
    "ca_state": pl.String,
    "cc_phase": pl.String,
    "cwnd_packets": pl.UInt32,
    "cwnd_bytes": pl.Int64,
    "ssthresh_packets": pl.UInt32,
    "rtt_ns": pl.Int64,
    "rttvar_ns": pl.Int64,
    "min_rtt_ns": pl.Int64,
    "rto_ns": pl.Int64,
    "inflight_packets": pl.UInt32,
    "inflight_bytes": pl.Int64,
    "unacked_packets": pl.UInt32,
    "sacked_packets": pl.UInt32,
    "lost_packets": pl.UInt32,
    "retrans_out_packets": pl.UInt32,
    "retrans_packets": pl.UInt32,
    "mss_bytes": pl.UInt32,
    "pacing_rate_bps": pl.Int64,
    "delivery_rate_bps": pl.Int64,
    "app_limited": pl.Boolean,
    "bytes_sent": pl.Int64,
    "bytes_acked": pl.Int64,
    "bytes_retrans": pl.Int64,
    "segs_out": pl.UInt32,
    "data_segs_out": pl.UInt32,
    "delivered_packets": pl.UInt32,
    "delivered_ce_packets": pl.UInt32,
    "reordering_packets": pl.UInt32,
    "reord_seen": pl.UInt32,
    "snd_wnd_bytes": pl.UInt32,
    "notsent_bytes": pl.UInt32,
    "busy_ns": pl.Int64,
    "rwnd_limited_ns": pl.Int64,
    "sndbuf_limited_ns": pl.Int64,
    "backoff": pl.UInt8,
    "ecn": pl.Boolean,
    "dsack_dups": pl.UInt32,
    "bytes_received": pl.Int64,
    "rcv_space_bytes": pl.UInt32,
    "bbr_bw_bps": pl.Int64,
    "bbr_min_rtt_ns": pl.Int64,
    "bbr_pacing_gain": pl.Float64,
    "bbr_cwnd_gain": pl.Float64,
    "vegas_enabled": pl.Boolean,
    "vegas_rttcnt": pl.UInt32,
    "vegas_rtt_ns": pl.Int64,
    "vegas_minrtt_ns": pl.Int64,
    "dctcp_enabled": pl.Boolean,
    "dctcp_ce_state": pl.UInt16,
    "dctcp_alpha": pl.Float64,
    "dctcp_ab_ecn_bytes": pl.Int64,
    "dctcp_ab_tot_bytes": pl.Int64,
}

QUEUES: dict[str, type[pl.DataType]] = {
    "time_ns": pl.Int64,
    "queue": pl.String,
    "kind": pl.String,
    "under_test": pl.Boolean,
    "backlog_bytes": pl.Int64,
    "backlog_packets": pl.UInt32,
    "sent_bytes": pl.Int64,
    "sent_packets": pl.Int64,
    "drops_packets": pl.Int64,
    "marks_packets": pl.Int64,
    "overlimits": pl.Int64,
    "rate_bps": pl.Int64,
    "delay_ns": pl.Int64,
}

PROBES: dict[str, type[pl.DataType]] = {
    "sent_ns": pl.Int64,
    "probe": pl.String,
    "kind": pl.String,
    "seq": pl.Int64,
    "rtt_ns": pl.Int64,
    "forward_ns": pl.Int64,
    "backward_ns": pl.Int64,
}

TABLES: dict[str, dict[str, type[pl.DataType]]] = {"flows": FLOWS, "queues": QUEUES, "probes": PROBES}
"""Every table's columns, in order, with their types."""

COUNTERS: dict[str, type[pl.DataType]] = {
    "time_ns": pl.Int64,
    "host": pl.String,
    "counter": pl.String,
    "value": pl.Int64,
}

SOCKETS: dict[str, type[pl.DataType]] = {
    "time_ns": pl.Int64,
    "host": pl.String,
    "protocol": pl.String,
    "family": pl.String,
    "state": pl.String,
    "local_address": pl.String,
    "local_port": pl.UInt16,
    "peer_address": pl.String,
    "peer_port": pl.UInt16,
    "recv_q_bytes": pl.Int64,
    "send_q_bytes": pl.Int64,
    "timer": pl.String,
    "timer_ns": pl.Int64,
    "retransmits": pl.UInt8,
    "uid": pl.UInt32,
    "inode": pl.Int64,
    "cookie": pl.Int64,
    "rmem_bytes": pl.Int64,
    "rcvbuf_bytes": pl.Int64,
    "wmem_bytes": pl.Int64,
    "sndbuf_bytes": pl.Int64,
    "forward_bytes": pl.Int64,
    "queued_bytes": pl.Int64,
    "options_bytes": pl.Int64,
    "backlog_bytes": pl.Int64,
    "drops_packets": pl.Int64,
    "cc": pl.String,
    "cwnd_packets": pl.UInt32,
    "ssthresh_packets": pl.UInt32,
    "rtt_ns": pl.Int64,
    "rttvar_ns": pl.Int64,
    "min_rtt_ns": pl.Int64,
    "rto_ns": pl.Int64,
    "ato_ns": pl.Int64,
    "rcv_rtt_ns": pl.Int64,
    "unacked_packets": pl.UInt32,
    "sacked_packets": pl.UInt32,
    "lost_packets": pl.UInt32,
    "retrans_packets": pl.UInt32,
    "mss_bytes": pl.UInt32,
    "rcv_mss_bytes": pl.UInt32,
    "advmss_bytes": pl.UInt32,
    "pmtu_bytes": pl.UInt32,
    "rcv_space_bytes": pl.UInt32,
    "rcv_ssthresh_bytes": pl.UInt32,
    "rcv_wnd_bytes": pl.UInt32,
    "snd_wnd_bytes": pl.UInt32,
    "notsent_bytes": pl.UInt32,
    "bytes_sent": pl.Int64,
    "bytes_acked": pl.Int64,
    "bytes_received": pl.Int64,
    "segs_out": pl.UInt32,
    "segs_in": pl.UInt32,
    "data_segs_out": pl.UInt32,
    "data_segs_in": pl.UInt32,
    "rcv_ooo_packets": pl.UInt32,
    "dsack_dups": pl.UInt32,
    "total_rto": pl.UInt32,
}

TRACE: dict[str, type[pl.DataType]] = {
    "time_ns": pl.Int64,
    "event": pl.String,
    "task": pl.String,
    "text": pl.String,
}

KNOWN = {"flows": ("flow", "group"), "queues": ("queue", "kind"), "probes": ("probe", "kind")}
"""The columns that identify a row's flow, queue or probe; never null."""

INSIDE: dict[str, dict[str, type[pl.DataType]]] = {"counters": COUNTERS, "sockets": SOCKETS, "trace": TRACE}
"""Optional tables of a kernel's internals, written if the experiment requests them."""


class _Frame:
    """A field of `Run`: set to a frame or a `Table`, read as a frame, which is built on first use."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> "_Frame": ...
    @overload
    def __get__(self, run: "Run", owner: type) -> pl.DataFrame: ...
    def __get__(self, run: "Run | None", owner: type) -> "_Frame | pl.DataFrame":
        if run is None:
            raise AttributeError(self._name)  # For `dataclass`: it has no default.
        return run.table(self._name).frame()

    def __set__(self, run: "Run", given: pl.DataFrame | Table) -> None:
        run.__dict__[self._name] = Framed(given) if isinstance(given, pl.DataFrame) else given


@dataclass(frozen=True)
class Run:
    """One result folder in memory."""

    folder: Path
    manifest: dict[str, Any]
    """The content of `run.json`."""
    flows: _Frame = _Frame()
    queues: _Frame = _Frame()
    probes: _Frame = _Frame()
    remembered: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache of `analysis` results for these tables; a copy with other tables starts with an empty one."""

    def table(self, name: str) -> Table:
        """One of `TABLES`, for access to single columns."""
        table: Table = self.__dict__[name]
        return table

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """All `TABLES` as frames."""
        return {name: self.table(name).frame() for name in TABLES}

    def inside(self, name: str) -> pl.DataFrame | None:
        """A table of `INSIDE`, or None if the run has none. Raises `ResultError` as `load` does."""
        path = self.folder / f"{name}.parquet"
        return read_table(path, INSIDE[name]) if path.exists() else None


def load(folder: Path) -> Run:
    """Read a result folder.

    Raises `ResultError` when a file is missing, unreadable, or of a newer format.
    """
    manifest = load_manifest(folder)
    return Run(folder, manifest, **{name: _table(folder, name) for name in TABLES})


def load_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a result folder, without its tables. Raises `ResultError` as `load` does."""
    path = folder / "run.json"
    if not path.exists():
        raise ResultError(f"{folder}: not a result folder: it has no run.json")
    return read_json(path, "a run's manifest", RUN)


def is_import(manifest: Mapping[str, Any]) -> bool:
    """Does the run come from logs or downloads? Then it has no experiment, and conditions may be unknown."""
    return manifest.get("engine") in ("import", "fetch")


def write(
    folder: Path,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pl.DataFrame | pl.LazyFrame],
    more: Mapping[str, Mapping[str, type[pl.DataType]]] | None = None,
) -> None:
    """Write manifest and tables into an existing, private `folder`; the caller renames it to its final path.

    Each table must have exactly the columns of `TABLES` or `INSIDE`, followed at most by those of `more`, which only
    imported logs have. A lazy table is streamed to disk, so its length is not limited by memory.
    """
    for name, columns in [*TABLES.items(), *((name, INSIDE[name]) for name in INSIDE if name in tables)]:
        table = tables[name]
        schema = table.collect_schema()
        besides = {column: kind for column, kind in (more or {}).get(name, {}).items() if column in schema}
        if schema != pl.Schema({**columns, **besides}):
            raise AssertionError(f"{name}: columns {schema} differ from {columns}")
        write_table(table, folder / f"{name}.parquet")
    (folder / "run.json").write_text(json_text(manifest, allow_nan=True, indent=1) + "\n", encoding="utf-8")


def write_table(table: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a table as Parquet. Raises `OSError`, for instance when the disk is full."""
    with system_errors():
        if isinstance(table, pl.LazyFrame):
            table.sink_parquet(file, compression="zstd", statistics=True)
        else:
            table.write_parquet(file, compression="zstd", statistics=True)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise polars' errors that come from the system as `OSError`."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        # polars wraps system errors in its own types; the message has the errno.
        if number := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        raise


def _table(folder: Path, name: str) -> pl.DataFrame:
    return read_table(folder / f"{name}.parquet", TABLES[name], KNOWN[name])
