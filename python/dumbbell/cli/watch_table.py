"""Select, sort and sum connections, and print them without a screen: one table, or one object per sample."""

from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.analysis.filter import FILTERED, Filter, matches
from dumbbell.analysis.live_sockets import Live
from dumbbell.cli.console import Console
from dumbbell.cli.watch_fields import ALWAYS, BY_NAME, COLUMNS, SPARK, fitting
from dumbbell.control_characters import json_text
from dumbbell.host.tcp_connections import Frame

__all__ = [
    "LISTED",
    "as_json",
    "chosen",
    "show",
    "totals",
]


LISTED = tuple(
    dict.fromkeys(
        [*ALWAYS, *(need for column in COLUMNS for need in column.needs), *FILTERED, "retrans_delta", "recv_bps"]
    )
)
"""Columns that the list, its sums and the filters need: a third of all, so that sorting copies less."""


def chosen(table: pl.DataFrame, filter_: Filter, sort: str, *, reverse: bool = False) -> pl.DataFrame:
    """The matching rows, sorted by a column of the list; nulls last."""
    column = BY_NAME[sort]
    falling = column.falling != reverse
    rows = table.filter(matches(filter_, table))
    # By address, then port; ties keep their order.
    order = rows.select(column.needs).with_row_index("place")
    order = order.sort(*column.needs, descending=falling, nulls_last=True, maintain_order=True)
    return rows[order["place"]]


def totals(rows: pl.DataFrame) -> list[tuple[str | None, int, float, float, int]]:
    """By controller, the most connections first: controller, connections, bit/s out and in, retransmissions."""
    open_ = rows.filter(~pl.col("closed")).group_by("cc", maintain_order=True)
    sums = open_.agg(pl.len(), pl.col("send_bps").sum(), pl.col("recv_bps").sum(), pl.col("retrans_delta").sum())
    return sums.sort("len", descending=True, maintain_order=True).rows()


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


OLDER = {"retransmits": "retrans_timer", "forward_bytes": "fwd_alloc_bytes"}
"""Keys of 0.1.0 in `--json`, and today's."""


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
        "connections": rows.with_columns(**{old: pl.col(new) for old, new in OLDER.items()}).to_dicts(),
    }  # fmt: skip
    return json_text(value)
