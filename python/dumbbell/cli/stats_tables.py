"""Tables of `dumbbell stats`: results side by side, intervals of flows, kernel counters and sockets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table

from dumbbell import limits
from dumbbell.analysis.kernel_stats import counted, sockets_at
from dumbbell.analysis.native import Window
from dumbbell.analysis.summary import summary
from dumbbell.analysis.time_series import interval_count, intervals, no_data_shares
from dumbbell.cli.console import Console, digits, distinct_names, grid, percent
from dumbbell.errors import ExperimentError
from dumbbell.results.result import Run
from dumbbell.spec.units import Wrong, duration_ns, suggest

__all__ = ["Every", "Shown", "every", "show_side_by_side", "shown"]


LEAST = 1e-9


def show_side_by_side(out: Console, runs: Sequence[Run], rows: Sequence[Mapping[str, float]]) -> None:
    """Print the metrics of all runs (`measures`) as a table."""
    table = grid(["metric"], [*_heads(runs), "difference"])
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        table.add_row(name, *map(digits, values), _difference(values[0], values[-1]))
    seconds = [run.manifest.wall_s for run in runs]
    if any(second is not None for second in seconds):  # Imports have none.
        table.add_row("wall_s", *map(digits, seconds), _difference(seconds[0], seconds[-1]))
    out.print(table)
    for run in runs:
        for reason in run.manifest.invalid:
            out.print(f"INVALID: {run.folder}: {reason}", style="bold red")


def _heads(runs: Sequence[Run]) -> list[str]:
    """Distinct headings: engines, seeds, or folders."""
    engines = [str(run.manifest.engine) for run in runs]
    seeded = [
        engine if (seed := run.manifest.seed) is None else f"{engine}, seed {seed}"
        for engine, run in zip(engines, runs, strict=True)
    ]
    return distinct_names([engines, seeded, [run.folder.name for run in runs]])


def _difference(first: float | None, last: float | None) -> str:
    if first is None or last is None or abs(first) < LEAST:
        return ""
    return f"{100 * (last / first - 1):+.1f}%"


NS = 1e9
MAX_DECIMALS = 9


@dataclass(frozen=True)
class Every:
    """The intervals of the selected flows, and totals over the window."""

    step_ns: int
    rows: pl.DataFrame
    flows: Sequence[Mapping[str, Any]]
    """Selected entries of the summary; `no_data_share` refers to these intervals."""

    def show(self, out: Console) -> None:
        """Print one table per flow, with totals over the window."""
        for position, flow in enumerate(self.flows):
            if position:
                out.print()
            out.print(f"{flow['name']} ({flow['cc']})" if flow["cc"] else flow["name"], style="bold")
            rows = self.rows.filter(pl.col("flow") == flow["name"])
            if rows.is_empty():
                out.print("no interval: the flow was not active in this window")
                continue
            out.print(_table(rows, flow, self._decimals()))
            if flow["no_data_share"]:
                no_data = rows.filter(pl.col("bytes") == 0).height
                out.print(f"no data in {no_data} of {rows.height} intervals ({percent(flow['no_data_share'])})")

    def as_json(self, run: Run) -> dict[str, Any]:
        """One object: `intervals` per flow, with totals as in `stats --json`."""
        rows = self.rows.partition_by("flow", as_dict=True, include_key=False)
        empty = self.rows.clear().drop("flow")
        return {
            "run": str(run.folder),
            "every_s": self.step_ns / NS,
            "flows": [
                {**flow, "intervals": [_as_json(row) for row in rows.get((flow["name"],), empty).iter_rows(named=True)]}
                for flow in self.flows
            ],
        }

    def _decimals(self) -> int:
        """Decimals needed to show the step, at least two."""
        exact = (
            decimals for decimals in range(MAX_DECIMALS + 1) if self.step_ns % 10 ** (MAX_DECIMALS - decimals) == 0
        )
        return max(2, next(exact))


def every(pairs: Sequence[tuple[Run, Window | None]], text: str, names: Sequence[str]) -> Every:
    """The intervals of one run; `names` selects flows and groups, default all.

    Raises `ExperimentError` for several runs, an invalid time, more intervals than the limit, and unknown names.
    """
    if len(pairs) > 1:
        raise ExperimentError(f"--every needs one result, not {len(pairs)}", key="--every", right="name one result")
    run, window = pairs[0]
    step_ns = _step_ns(text)
    if (count := interval_count(run, step_ns, window)) > limits.most("intervals"):
        right = f"a longer one, a window (--from, --to), {limits.raised('intervals', count)}"
        problem = f"up to {count:,} intervals exceed the limit of {limits.shown('intervals')}"
        raise ExperimentError(problem, key="--every", value=text, right=right)
    no_data = no_data_shares(run, window, step_ns)
    flows = [{**flow, "no_data_share": no_data[flow["name"]]} for flow in _chosen(summary(run, window)["flows"], names)]
    chosen = [flow["name"] for flow in flows]
    return Every(step_ns, intervals(run, step_ns, window).filter(pl.col("flow").is_in(chosen)), flows)


def _step_ns(text: str) -> int:
    try:
        step_ns = duration_ns(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--every", value=text, right=wrong.right) from None
    if step_ns == 0:
        raise ExperimentError("the interval is zero", key="--every", value=text, right="a time such as 1s or 100ms")
    return step_ns


def _chosen(flows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    known = dict.fromkeys(name for flow in flows for name in (flow["name"], flow["group"]))
    for name in names:
        if name not in known:
            raise ExperimentError("unknown flow or group", key="--flow", value=name, right=suggest(name, [*known]))
    return [flow for flow in flows if not names or flow["name"] in names or flow["group"] in names]


def _table(rows: pl.DataFrame, flow: Mapping[str, Any], decimals: int) -> Table:
    """The table of one flow, without columns that the run doesn't have."""
    shown: dict[str, str] = {"MB": "bytes", "Mbit/s": "throughput_bps", "retrans": "retransmits"}
    shown |= {"lost": "lost_datagrams", "jitter ms": "jitter_ns"}
    shown |= {"cwnd": "cwnd_packets", "cwnd kB": "cwnd_bytes", "RTT ms": "rtt_ns"}
    known = {head: column for head, column in shown.items() if rows[column].count()}
    table = grid(["seconds"], list(known))
    for row in rows.iter_rows(named=True):
        table.add_row(
            _span(row["from_ns"], row["to_ns"], decimals), *(_cell(row[column], column) for column in known.values())
        )
    total = {"bytes": flow["bytes"], "retransmits": flow["retransmits"]}
    if rows["lost_datagrams"].count():
        total["lost_datagrams"] = rows["lost_datagrams"].sum()
    if flow["throughput_mbps"] is not None:
        total["throughput_bps"] = flow["throughput_mbps"] * 1e6
    cells = (_cell(total.get(column), column) for column in known.values())
    table.add_row(_span(rows["from_ns"][0], rows["to_ns"][-1], decimals), *cells, style="bold")
    return table


def _span(from_ns: int, to_ns: int, decimals: int) -> str:
    return f"{from_ns / NS:.{decimals}f}-{to_ns / NS:.{decimals}f}"


def _cell(value: float | None, column: str) -> str:
    if value is None:
        return ""
    if value == 0 or column in {"retransmits", "cwnd_packets", "lost_datagrams"}:
        return f"{value:.0f}"
    return digits(value / {"bytes": 1e6, "throughput_bps": 1e6, "cwnd_bytes": 1e3}.get(column, 1e6))


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the units of `--json`."""
    return {
        "from_s": row["from_ns"] / NS,
        "to_s": row["to_ns"] / NS,
        "bytes": row["bytes"],
        "throughput_mbps": None if row["throughput_bps"] is None else row["throughput_bps"] / 1e6,
        "retransmits": row["retransmits"],
        "lost_datagrams": row["lost_datagrams"],
        "jitter_ms": None if row["jitter_ns"] is None else row["jitter_ns"] / 1e6,
        "cwnd_packets": row["cwnd_packets"],
        "cwnd_bytes": row["cwnd_bytes"],
        "rtt_ms": None if row["rtt_ns"] is None else row["rtt_ns"] / 1e6,
    }


TCP_PARTS = {
    "cwnd": "cwnd_packets", "ssthresh": "ssthresh_packets", "mss": "mss_bytes", "unacked": "unacked_packets",
    "lost": "lost_packets", "retrans": "retrans_packets", "notsent": "notsent_bytes", "rcv_space": "rcv_space_bytes",
    "rcv_ssthresh": "rcv_ssthresh_bytes", "rcv_wnd": "rcv_wnd_bytes",
}  # fmt: skip
TIMES = {"rtt": "rtt_ns", "minrtt": "min_rtt_ns", "rto": "rto_ns", "ato": "ato_ns", "rcv_rtt": "rcv_rtt_ns"}
MEMORY = {"r": "rmem_bytes", "rb": "rcvbuf_bytes", "t": "wmem_bytes", "tb": "sndbuf_bytes", "f": "fwd_alloc_bytes",
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
        parts.append(f"timer:({row['timer']},{row['timer_ns'] / 1e6:g}ms,{row['retrans_timer']})")
    if any(row[column] for column in MEMORY.values()):
        parts.append("skmem:(" + ",".join(f"{name}{row[column]}" for name, column in MEMORY.items()) + ")")
    parts += [f"{name}:{row[column] / 1e6:g}ms" for name, column in TIMES.items() if row[column]]
    parts += [f"{name}:{row[column]}" for name, column in TCP_PARTS.items() if row[column]]
    return " ".join(parts)
