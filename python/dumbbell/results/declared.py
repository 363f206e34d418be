"""The columns of every table of a result, as `crates/metrics/src/columns.rs` declares them.

`table_schema` has the same as polars schemas; this module doesn't need polars.
"""

from dataclasses import dataclass

from dumbbell import _sim

__all__ = ["COLUMNS", "INSIDE", "KNOWN", "TABLES", "DeclaredColumn"]


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
TABLES = tuple(table for table, _, _, is_always in _sim.TABLES if is_always)
"""Tables of every result."""
INSIDE = tuple(table for table, _, _, is_always in _sim.TABLES if not is_always)
"""Tables of a kernel's internals, written if the experiment requests them."""
KNOWN = {table: tuple(known) for table, _, known, _ in _sim.TABLES if known}
"""The columns that identify a row's flow, queue or probe; never null."""
