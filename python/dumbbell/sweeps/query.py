"""Query a sweep's `runs` table with polars' SQL; columns with dots need no quotes.

`docs/sweeps.md` documents the dialect. Formulas in untrusted files use `dumbbell.analysis.formula`, which can read only
columns.
"""

import polars as pl

from dumbbell.analysis.formula import quoted
from dumbbell.errors import ResultError

__all__ = ["NAME", "query"]

NAME = "runs"


def query(runs: pl.DataFrame, text: str) -> pl.DataFrame:
    """The result of a query. Raises `ResultError` with the problem and the columns."""
    try:
        with pl.SQLContext({NAME: runs}, eager=True) as context:
            found = context.execute(quoted(text, runs.columns))
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0].partition("; valid columns:")[0]
        columns = ", ".join(runs.columns)
        raise ResultError(f"SQL: {problem}; the table is {NAME}, its columns: {columns}") from None
    if not isinstance(found, pl.DataFrame):
        raise ResultError(
            "SQL: the statement returns no table; write a query, such as: "
            "select status, count(*) from runs group by status"
        )
    return found
