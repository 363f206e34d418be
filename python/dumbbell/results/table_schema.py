"""The tables of a result as polars schemas: column and type; `declared` has more about each column."""

import polars as pl

from dumbbell.results import declared

__all__ = ["COUNTERS", "FLOWS", "INSIDE", "PROBES", "QUEUES", "SCHEMAS", "SOCKETS", "TABLES", "TRACE", "Schema"]

Schema = dict[str, type[pl.DataType]]

SCHEMAS: dict[str, Schema] = {
    table: {column.name: getattr(pl, column.kind) for column in columns} for table, columns in declared.COLUMNS.items()
}
"""Every table's columns, in order, with their types."""
TABLES = {name: SCHEMAS[name] for name in declared.TABLES}
"""Those of every result."""
INSIDE = {name: SCHEMAS[name] for name in declared.INSIDE}
"""Those of a kernel's internals."""

FLOWS, QUEUES, PROBES = TABLES["flows"], TABLES["queues"], TABLES["probes"]
COUNTERS, SOCKETS, TRACE = INSIDE["counters"], INSIDE["sockets"], INSIDE["trace"]
