"""The columns of every table of a result, as declared, and the simulator's tables, whose memory is shared.

`crates/metrics/src/columns.rs` declares the columns; `reader` has the same as polars schemas. A data frame or array of
a simulator's table is made on demand: metrics are computed and files are written without polars and numpy, whose import
takes longer than most runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.late import np, pl
from dumbbell.results.late import columns

__all__ = [
    "COLUMNS",
    "KNOWN",
    "REQUESTED_NAMES",
    "TABLE_NAMES",
    "NativeTable",
]


@dataclass(frozen=True)
class DeclaredColumn:
    """One column."""

    name: str
    kind: str
    """Its type, as polars calls it."""
    unit: str
    about: str
    """Where a kernel has it, and what it means; Markdown."""


COLUMNS = {table: [DeclaredColumn(*column) for column in columns] for table, columns, *_ in _sim.TABLES}
"""All columns in order, by table."""
TABLE_NAMES = tuple(table for table, _, _, is_always in _sim.TABLES if is_always)
"""Tables of every result."""
REQUESTED_NAMES = tuple(table for table, _, _, is_always in _sim.TABLES if not is_always)
"""Tables of a kernel's internals, written if the experiment requests them."""
KNOWN = {table: tuple(known) for table, _, known, _ in _sim.TABLES if known}
"""The columns that identify a row's flow, queue or probe; never null."""


class NativeTable:
    """See `dumbbell.results.columns.Table`."""

    def __init__(self, name: str, arrow: _sim.Arrow) -> None:
        """`name`: which of a result's tables it is."""
        self._declared = {column.name: column.kind for column in COLUMNS[name]}
        self._arrow = arrow

    def column(self, name: str) -> "columns.Column":
        """See `Table`."""
        try:
            values, known = self._arrow.column(name)
        except KeyError:
            self._declared[name]
            return columns.Column(np.zeros(len(self._arrow)), np.zeros(len(self._arrow), dtype=np.bool_))
        return columns.Column(np.asarray(values), None if known is None else np.asarray(known))

    def names(self, name: str) -> "columns.Names":
        """See `Table`."""
        codes, known, texts = self._arrow.names(name)
        return columns.Names(np.asarray(codes), texts, None if known is None else np.asarray(known))

    def positions(self, name: str, names: Sequence[str]) -> "columns.Places":
        """See `Table`."""
        return self.names(name).positions(names)

    def last(self, name: str) -> Mapping[str, int]:
        """See `Table`."""
        return self._arrow.last(name)

    def cell(self, name: str, row: int) -> Any:
        """See `Table`."""
        return self._arrow.cell(name, row)

    def frame(self) -> "pl.DataFrame":
        """See `Table`."""
        return self._frame

    def native(self) -> _sim.Arrow:
        """See `Table`."""
        return self._arrow

    def write(self, file: Path) -> None:
        """See `Table`."""
        self._arrow.write_parquet(list(self._declared.items()), file)

    @cached_property
    def _frame(self) -> "pl.DataFrame":
        source = pl.DataFrame(self._arrow)
        kinds = {name: getattr(pl, kind) for name, kind in self._declared.items() if name not in source.columns}
        nulls = (pl.lit(None, kind).alias(name) for name, kind in kinds.items())
        return source.with_columns(nulls).select(*self._declared)
