"""Text in the cells of a CSV file, which a spreadsheet must not take for a formula.

A cell of text that begins as a formula does, or as an escaped cell, gets a `'` in front, as spreadsheets have it;
`restored` takes exactly that away. Numbers are no text: -1 stays -1.
"""

import polars as pl
import polars.selectors as cs

__all__ = ["harmless", "restored"]

ESCAPE = "'"
BEGINNINGS = r"^['=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""Of a formula, or of what some spreadsheets strip before they look for one; the wide forms where those are usual."""


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """The table for a CSV file; the names of its columns are cells too."""
    escaped = table.with_columns(_prefixed(pl.col(name)) for name in cs.expand_selector(table, _TEXT))
    heads = pl.Series(table.columns, dtype=pl.String).to_frame("name").select(_prefixed(pl.col("name")))
    return escaped.rename(dict(zip(table.columns, heads["name"], strict=True)))


def restored(table: pl.DataFrame) -> pl.DataFrame:
    """The table that `harmless` was given, by what was read of the file."""
    return table.with_columns(cs.string().str.strip_prefix(ESCAPE))


_TEXT = cs.string(include_categorical=True)


def _prefixed(cell: pl.Expr) -> pl.Expr:
    text = cell.cast(pl.String)
    return pl.when(text.str.contains(BEGINNINGS)).then(pl.lit(ESCAPE) + text).otherwise(text).name.keep()
