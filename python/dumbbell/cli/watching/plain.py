"""The list without a screen: one table, or an object a look."""

from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.analysis.filter import Filter
from dumbbell.analysis.live import Live
from dumbbell.cli.console import Console
from dumbbell.cli.watching.columns import SPARK, fitting
from dumbbell.cli.watching.rows import chosen, totals
from dumbbell.machine.stream import Frame
from dumbbell.visible import json_text

__all__ = ["as_json", "show"]

PIPED_WIDTH = 200
"""Where there is no terminal, lines are as long as all that is to tell."""


def show(out: Console, live: Live, filter_: Filter, sort: str) -> None:
    """One table of the newest look."""
    assert live.table is not None
    rows = chosen(live.table.filter(~pl.col("gone")), filter_, sort)
    width = out.width if out.is_terminal else PIPED_WIDTH
    columns = [(column, room) for column, room in fitting(width) if column.name != SPARK]
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column, room in columns:
        table.add_column(column.title, justify="left" if column.left else "right", no_wrap=True, max_width=room)
    for row in rows.iter_rows(named=True):
        table.add_row(*(column.text(row, room) for column, room in columns))
    if not out.is_terminal:
        out.width = PIPED_WIDTH
    out.print(table) if len(rows) else out.print("no connection")


def as_json(frame: Frame, live: Live, filter_: Filter, sort: str) -> str:
    """One object of the newest look; numbers with their units in their names."""
    assert live.table is not None
    rows = chosen(live.table.filter(~pl.col("gone")), filter_, sort).drop("gone")
    sums = [
        {"cc": cc, "connections": many, "send_bps": send, "recv_bps": recv, "retrans_delta": again}
        for cc, many, send, recv, again in totals(rows.with_columns(gone=pl.lit(value=False)))
    ]
    value: dict[str, Any] = {
        "time_s": frame.realtime_ns / 1e9, "monotonic_ns": frame.monotonic_ns, "filter": str(filter_), "totals": sums,
        "connections": rows.to_dicts(),
    }  # fmt: skip
    return json_text(value)
