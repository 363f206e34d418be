"""Select, sort and sum rows, column-wise."""

import polars as pl

from dumbbell.analysis.filter import FILTERED, Filter, matches
from dumbbell.cli.watching.watch_columns import ALWAYS, BY_NAME, COLUMNS

__all__ = ["LISTED", "chosen", "totals"]

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
