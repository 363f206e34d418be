"""Escape CSV cells that a spreadsheet would evaluate as a formula.

A text cell that begins like a formula, or like an escaped cell, gets a leading `'`, the spreadsheet convention;
`restored` removes it. Numbers are not escaped: -1 stays -1.
"""

import polars as pl
import polars.selectors as cs

__all__ = ["harmless", "restored"]

ESCAPE = "'"
BEGINNINGS = r"^['=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""First characters of a formula, characters that some spreadsheets strip before one, and their full-width forms."""


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """The table, escaped for CSV, column names included."""
    escaped = table.with_columns(_prefixed(pl.col(name)) for name in cs.expand_selector(table, _TEXT))
    heads = pl.Series(table.columns, dtype=pl.String).to_frame("name").select(_prefixed(pl.col("name")))
    return escaped.rename(dict(zip(table.columns, heads["name"], strict=True)))


def restored(table: pl.DataFrame) -> pl.DataFrame:
    """The original table, from one that `harmless` escaped."""
    return table.with_columns(cs.string().str.strip_prefix(ESCAPE))


_TEXT = cs.string(include_categorical=True)


def _prefixed(cell: pl.Expr) -> pl.Expr:
    text = cell.cast(pl.String)
    return pl.when(text.str.contains(BEGINNINGS)).then(pl.lit(ESCAPE) + text).otherwise(text).name.keep()
