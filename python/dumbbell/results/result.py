"""The result folder: a manifest (`run.json`) and Parquet tables, written atomically.

`docs/result.md` lists every key and column. `crates/dumbbell/src/manifest/keys.rs` declares the keys, `tables` the
columns; `dumbbell.analysis` computes what the numbers mean.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dumbbell import _sim
from dumbbell.errors import ResultError
from dumbbell.late import pl
from dumbbell.results import corrections
from dumbbell.results.late import columns, parquet, reader
from dumbbell.results.members import several_members
from dumbbell.results.tables import KNOWN, TABLE_NAMES, NativeTable

if TYPE_CHECKING:
    from dumbbell.results.columns import Table
    from dumbbell.results.keys import RunManifest

__all__ = [
    "Run",
    "framed",
    "is_import",
    "load",
    "load_manifest",
    "write",
    "write_run",
    "write_tables",
]


def framed(given: "pl.DataFrame | Table") -> "Table":
    """A data frame as a table of a run."""
    return columns.Framed(given) if isinstance(given, pl.DataFrame) else given


class Run:
    """One result folder in memory."""

    def __init__(
        self, folder: Path, manifest: Mapping[str, Any],
        flows: "pl.DataFrame | Table", queues: "pl.DataFrame | Table", probes: "pl.DataFrame | Table",
    ) -> None:  # fmt: skip
        """Raises `ResultError` for a dict that is no manifest."""
        self.folder = folder
        self.manifest = cast("RunManifest", manifest if isinstance(manifest, _sim.Record) else _sim.manifest(manifest))
        """The content of `run.json`: keys are attributes, too."""
        given = {"flows": flows, "queues": queues, "probes": probes}
        self._tables = {
            name: table if isinstance(table, NativeTable) else framed(table) for name, table in given.items()
        }
        self.remembered: dict[Any, Any] = {}
        """Cache of `analysis` results for these tables."""

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def replaced(self, *, manifest: Mapping[str, Any] | None = None, **tables: "pl.DataFrame | Table") -> "Run":
        """The run with another manifest or other tables, and an empty cache."""
        return Run(self.folder, self.manifest if manifest is None else manifest, **{**self._tables, **tables})

    def table(self, name: str) -> "Table":
        """A table of every result, for access to single columns."""
        return self._tables[name]

    @property
    def flows(self) -> "pl.DataFrame":
        """One row per sample and flow; the frame is built on first use."""
        return self.table("flows").frame()

    @property
    def queues(self) -> "pl.DataFrame":
        """One row per sample and queue."""
        return self.table("queues").frame()

    @property
    def probes(self) -> "pl.DataFrame":
        """One row per ping or UDP probe."""
        return self.table("probes").frame()

    @property
    def frames(self) -> "dict[str, pl.DataFrame]":
        """The tables of every result as frames."""
        return {name: self.table(name).frame() for name in TABLE_NAMES}

    def requested(self, name: str) -> "pl.DataFrame | None":
        """A table of a kernel's internals, or None if the run has none. Raises `ResultError` as `load` does."""
        path = self.folder / f"{name}.parquet"
        return reader.read_table(path, reader.REQUESTED[name]) if path.exists() else None


def load(folder: Path) -> Run:
    """Read a result folder.

    Raises `ResultError` when a file is missing, unreadable, or of a newer format.
    """
    manifest = load_manifest(folder)
    return Run(folder, manifest, **{name: _table(folder, name) for name in TABLE_NAMES})


def load_manifest(folder: Path) -> "RunManifest":
    """The manifest of a result folder, without its tables. Raises `ResultError` as `load` does."""
    path = folder / "run.json"
    try:
        missing = not path.exists()
    except OSError as error:
        raise ResultError(f"{folder}: can't be read: {error.strerror}") from None
    if missing:
        raise ResultError(f"{folder}: not a result folder: it has no run.json{several_members(folder)}")
    manifest = reader.read_manifest(path, "a run's manifest", "RunManifest")
    more = corrections.warnings(manifest)
    return manifest.with_keys({"warnings": [*manifest.warnings, *more]}) if more else manifest


def is_import(manifest: Mapping[str, Any]) -> bool:
    """Does the run come from logs or downloads? Then it has no experiment, and conditions may be unknown."""
    return manifest.get("engine") in ("import", "fetch")


def write(
    folder: Path,
    manifest: Mapping[str, Any],
    tables: "Mapping[str, pl.DataFrame | pl.LazyFrame]",
    more: "Mapping[str, reader.Schema] | None" = None,
) -> None:
    """Write manifest and tables into an existing, private `folder`; the caller renames it to its final path.

    Each table must have exactly its declared columns, followed at most by those of `more`, which only imported logs
    have. A lazy table is streamed to disk, so its length is not limited by memory.
    """
    kernel_only = {name: schema for name, schema in reader.REQUESTED.items() if name in tables}
    for name, declared in {**reader.TABLES, **kernel_only}.items():
        table = tables[name]
        schema = table.collect_schema()
        besides = {column: kind for column, kind in (more or {}).get(name, {}).items() if column in schema}
        if schema != pl.Schema({**declared, **besides}):
            raise AssertionError(f"{name}: columns {schema} differ from {declared}")
        parquet.write_table(table, folder / f"{name}.parquet")
    _sim.write_manifest(manifest, folder / "run.json")


def write_run(folder: Path, run: Run) -> None:
    """The same for a run in memory."""
    write_tables(folder, run.manifest, {name: run.table(name) for name in TABLE_NAMES})


def write_tables(folder: Path, manifest: Mapping[str, Any], tables: "Mapping[str, Table]") -> None:
    """The same for tables of an engine, which are written without a data frame."""
    for name, table in tables.items():
        table.write(folder / f"{name}.parquet")
    _sim.write_manifest(manifest, folder / "run.json")


def _table(folder: Path, name: str) -> "pl.DataFrame":
    return reader.read_table(folder / f"{name}.parquet", reader.TABLES[name], KNOWN[name])
