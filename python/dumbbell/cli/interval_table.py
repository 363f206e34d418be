"""`dumbbell stats RUN --every TIME`: one table per flow, one row per interval, as iperf3 prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table

from dumbbell import limits
from dumbbell.analysis.flow_intervals import interval_count, intervals, no_data_shares
from dumbbell.analysis.summary import summary
from dumbbell.analysis.window import Window
from dumbbell.cli.console import Console
from dumbbell.cli.number_text import digits, grid, percent
from dumbbell.errors import ExperimentError
from dumbbell.results.result import Run
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.units import Wrong, duration_ns

__all__ = ["Every", "every"]

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
    shown |= {"cwnd": "cwnd_packets", "cwnd kB": "cwnd_bytes", "RTT ms": "rtt_ns"}
    known = {head: column for head, column in shown.items() if rows[column].count()}
    table = grid(["seconds"], list(known))
    for row in rows.iter_rows(named=True):
        table.add_row(
            _span(row["from_ns"], row["to_ns"], decimals), *(_cell(row[column], column) for column in known.values())
        )
    total = {"bytes": flow["bytes"], "retransmits": flow["retransmits"]}
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
    if value == 0 or column in {"retransmits", "cwnd_packets"}:
        return f"{value:.0f}"
    return digits(value / {"bytes": 1e6, "throughput_bps": 1e6, "cwnd_bytes": 1e3, "rtt_ns": 1e6}[column])


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the units of `--json`."""
    return {
        "from_s": row["from_ns"] / NS,
        "to_s": row["to_ns"] / NS,
        "bytes": row["bytes"],
        "throughput_mbps": None if row["throughput_bps"] is None else row["throughput_bps"] / 1e6,
        "retransmits": row["retransmits"],
        "cwnd_packets": row["cwnd_packets"],
        "cwnd_bytes": row["cwnd_bytes"],
        "rtt_ms": None if row["rtt_ns"] is None else row["rtt_ns"] / 1e6,
    }
