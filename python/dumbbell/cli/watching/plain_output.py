"""The list without a screen: one table, or one object per sample."""

from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.analysis.filter import Filter
from dumbbell.analysis.live_sockets import Live
from dumbbell.cli.console import Console
from dumbbell.cli.watching.rows import chosen, totals
from dumbbell.cli.watching.watch_columns import SPARK, fitting
from dumbbell.control_characters import json_text
from dumbbell.host.stream import Frame

__all__ = ["as_json", "show"]

PIPED_WIDTH = 200
"""Line width without a terminal."""


def show(out: Console, live: Live, filter_: Filter, sort: str) -> None:
    """Print the newest sample as a table."""
    assert live.table is not None
    rows = chosen(live.table.filter(~pl.col("closed")), filter_, sort)
    width = out.width if out.is_terminal else PIPED_WIDTH
    columns = [(column, chars) for column, chars in fitting(width) if column.name != SPARK]
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column, chars in columns:
        table.add_column(column.title, justify="left" if column.left else "right", no_wrap=True, max_width=chars)
    for row in rows.iter_rows(named=True):
        table.add_row(*(column.text(row, chars) for column, chars in columns))
    if not out.is_terminal:
        out.width = PIPED_WIDTH
    out.print(table) if len(rows) else out.print("no connection")


def as_json(frame: Frame, live: Live, filter_: Filter, sort: str) -> str:
    """The newest sample as one object; names end in units."""
    assert live.table is not None
    rows = chosen(live.table.filter(~pl.col("closed")), filter_, sort).drop("closed")
    sums = [
        {"cc": cc, "connections": connections, "send_bps": send, "recv_bps": recv, "retrans_delta": retrans}
        for cc, connections, send, recv, retrans in totals(rows.with_columns(closed=pl.lit(value=False)))
    ]
    value: dict[str, Any] = {
        "time_s": frame.realtime_ns / 1e9, "monotonic_ns": frame.monotonic_ns, "filter": str(filter_), "totals": sums,
        "connections": rows.to_dicts(),
    }  # fmt: skip
    return json_text(value)
