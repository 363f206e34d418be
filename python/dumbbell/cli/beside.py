"""Results side by side: one row a metric, one column a run, and how far the last is from the first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from dumbbell.cli.cells import digits, grid
from dumbbell.result import Run

__all__ = ["show_beside"]

LEAST = 1e-9


def show_beside(out: Console, runs: Sequence[Run], numbers: Sequence[Mapping[str, Any]]) -> None:
    """What all of them have, as a table."""
    rows = [dict(_rows(each)) for each in numbers]
    table = grid(["metric"], [*_heads(runs), "difference"])
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        table.add_row(name, *map(digits, values), _difference(values[0], values[-1]))
    out.print(table)
    for run in runs:
        for reason in run.birth["invalid"]:
            out.print(Text(f"INVALID: {run.folder}: {reason}", style="bold red"))


def _heads(runs: Sequence[Run]) -> list[str]:
    """What sets the runs apart: their engines, their seeds, or else their folders."""
    for heads in (
        [str(run.birth["engine"]) for run in runs],
        [f"{run.birth['engine']}, seed {run.birth['seed']}" for run in runs],
    ):
        if len(set(heads)) == len(heads):
            return heads
    return [run.folder.name for run in runs]


def _rows(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """The numbers that a person compares, by name and unit."""
    for name, group in numbers["groups"].items():
        yield f"{name}, Mbit/s", group["throughput_mbps"]
    for flow in numbers["flows"]:
        if flow.get("fct_s") is not None:
            yield f"{flow['name']}, s", flow["fct_s"]
    for name in numbers["groups"]:
        mine = [flow for flow in numbers["flows"] if flow["group"] == name and flow["cc"] is not None]
        if mine:
            yield f"{name}, retransmits", sum(flow["retransmits"] or 0 for flow in mine)
            yield f"{name}, RTT ms", _mean([flow["rtt_ms"]["mean"] for flow in mine])
            yield f"{name}, cwnd packets", _mean([flow["cwnd_packets"]["mean"] for flow in mine])
    if queue := numbers["queue"]:
        yield "queue, packets", queue["packets"]["mean"]
        yield "queue, drops", queue["drops"]
    if ping := numbers["ping_ms"]:
        yield "ping, ms", ping["mean"]
    yield "utilisation, %", None if numbers["utilisation"] is None else 100 * numbers["utilisation"]
    if cycle := numbers["cycle"]:
        yield "cycle, s", cycle["period_s"]
    yield "wall time, s", numbers["wall_s"]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _difference(first: float | None, last: float | None) -> str:
    if first is None or last is None or abs(first) < LEAST:
        return ""
    return f"{100 * (last / first - 1):+.1f}%"
