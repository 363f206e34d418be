"""SQL over a sweep's table, which is called `runs`; columns with dots need no quotes.

By polars' own SQL, which is here already: `docs/sweeps.md` says what it can. Formulas of strangers' files go through
`dumbbell.analysis.formula` instead, which can read nothing but columns.
"""

import polars as pl

from dumbbell.analysis.formula import quoted
from dumbbell.errors import ResultError

__all__ = ["NAME", "query"]

NAME = "runs"


def query(runs: pl.DataFrame, text: str) -> pl.DataFrame:
    """What a query gives. Raises `ResultError` that says what is wrong and which columns there are."""
    try:
        with pl.SQLContext({NAME: runs}, eager=True) as context:
            found = context.execute(quoted(text, runs.columns))
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0].partition("; valid columns:")[0]
        columns = ", ".join(runs.columns)
        raise ResultError(f"SQL: {problem}; the table is called {NAME}, its columns: {columns}") from None
    if not isinstance(found, pl.DataFrame):
        raise ResultError(
            "SQL: no table came of it; write a query, such as: select status, count(*) from runs group by status"
        )
    return found
