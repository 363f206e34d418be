"""Tables of kernel counters and sockets: `dumbbell stats RUN --counters`, `--sockets`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.analysis.kernel_stats import counted, sockets_at
from dumbbell.analysis.window import Window
from dumbbell.cli.console import Console
from dumbbell.cli.number_text import grid
from dumbbell.errors import ExperimentError
from dumbbell.results.result import Run

__all__ = ["Shown", "shown"]

TCP_PARTS = {
    "cwnd": "cwnd_packets", "ssthresh": "ssthresh_packets", "mss": "mss_bytes", "unacked": "unacked_packets",
    "lost": "lost_packets", "retrans": "retrans_packets", "notsent": "notsent_bytes", "rcv_space": "rcv_space_bytes",
    "rcv_ssthresh": "rcv_ssthresh_bytes", "rcv_wnd": "rcv_wnd_bytes",
}  # fmt: skip
TIMES = {"rtt": "rtt_ns", "minrtt": "min_rtt_ns", "rto": "rto_ns", "ato": "ato_ns", "rcv_rtt": "rcv_rtt_ns"}
MEMORY = {"r": "rmem_bytes", "rb": "rcvbuf_bytes", "t": "wmem_bytes", "tb": "sndbuf_bytes", "f": "forward_bytes",
          "w": "queued_bytes", "o": "options_bytes", "bl": "backlog_bytes", "d": "drops_packets"}  # fmt: skip
"""Abbreviations of ss(8)."""


@dataclass(frozen=True)
class Shown:
    """Counters and sockets of one run; None if not requested."""

    counters: pl.DataFrame | None
    sockets: pl.DataFrame | None

    def show(self, out: Console) -> None:
        """Print as tables."""
        if self.counters is not None:
            _show_counters(out, self.counters)
        if self.sockets is not None:
            _show_sockets(out, self.sockets)

    def as_json(self) -> dict[str, Any]:
        """As one object."""
        shown: dict[str, Any] = {}
        if self.counters is not None:
            shown["counters"] = _counters_json(self.counters)
        if self.sockets is not None:
            shown["sockets"] = _sockets_json(self.sockets)
        return shown


def shown(pairs: Sequence[tuple[Run, Window | None]], *, counters: bool, sockets: bool) -> Shown:
    """Read them. Raises `ExperimentError` for several runs, `ResultError` if the run has none."""
    if len(pairs) > 1:
        key = "--counters" if counters else "--sockets"
        raise ExperimentError(
            f"--counters and --sockets need one result, not {len(pairs)}", key=key, right="name one result"
        )
    return Shown(counted(*pairs[0]) if counters else None, sockets_at(*pairs[0]) if sockets else None)


def _show_counters(out: Console, counted: pl.DataFrame) -> None:
    """One row per counter, one column per host with a change."""
    hosts = counted["host"].unique(maintain_order=True).to_list()
    values = {(host, counter): value for host, counter, value in counted.iter_rows()}
    table = grid(["counter"], hosts)
    for counter in counted["counter"].unique(maintain_order=True):
        table.add_row(counter, *(f"{values[host, counter]:,}" if (host, counter) in values else "" for host in hosts))
    out.print(table)


def _counters_json(counted: pl.DataFrame) -> dict[str, dict[str, int]]:
    """By host, by counter."""
    hosts: dict[str, dict[str, int]] = {}
    for host, counter, value in counted.iter_rows():
        hosts.setdefault(host, {})[counter] = value
    return hosts


def _show_sockets(out: Console, sockets: pl.DataFrame) -> None:
    """Two lines per socket, as in ss(8)."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for column in ("host", "", "state", "recv-q", "send-q", "local", "peer"):
        table.add_column(column, justify="right" if column.endswith("-q") else "left", overflow="fold")
    if not sockets.is_empty():
        out.print(f"at {sockets['time_ns'][0] / 1e9:g} s", style="dim")
    for row in sockets.iter_rows(named=True):
        ends = [f"{row[f'{end}_address']}:{row[f'{end}_port'] or '*'}" for end in ("local", "peer")]
        table.add_row(
            row["host"], row["protocol"], row["state"], f"{row['recv_q_bytes']}", f"{row['send_q_bytes']}", *ends
        )
    out.print(table)
    out.print()
    for row in sockets.iter_rows(named=True):
        out.print(f"{row['host']} :{row['local_port']} {_details(row)}", soft_wrap=True)


def _sockets_json(sockets: pl.DataFrame) -> list[dict[str, Any]]:
    """Every socket with its columns, without nulls."""
    return [{key: value for key, value in row.items() if value is not None} for row in sockets.iter_rows(named=True)]


def _details(row: dict[str, Any]) -> str:
    parts = [row["cc"]] if row["cc"] else []
    if row["timer"]:
        parts.append(f"timer:({row['timer']},{row['timer_ns'] / 1e6:g}ms,{row['retransmits']})")
    if any(row[column] for column in MEMORY.values()):
        parts.append("skmem:(" + ",".join(f"{name}{row[column]}" for name, column in MEMORY.items()) + ")")
    parts += [f"{name}:{row[column] / 1e6:g}ms" for name, column in TIMES.items() if row[column]]
    parts += [f"{name}:{row[column]}" for name, column in TCP_PARTS.items() if row[column]]
    return " ".join(parts)
