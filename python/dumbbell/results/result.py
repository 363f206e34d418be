"""The result folder: a manifest (`run.json`) and Parquet tables, written atomically; every key that a reader relies on.

`docs/result.md` lists every key and column. This module knows names, types and files; `dumbbell.analysis` computes what
the numbers mean. `reader`, `sweeps.folder` and the importers of our own exports check every file against the schemas of
`run.json` and `sweep.json`. Keys that are only displayed or copied may hold any value.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dumbbell.control_characters import json_text
from dumbbell.errors import ResultError
from dumbbell.results import corrections
from dumbbell.results.schema import ANY, LARGEST, Bool, Listed, Mapped, Number, Object, Row, Text
from dumbbell.results.tables import KNOWN, TABLE_NAMES, NativeTable

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results.columns import Table
    from dumbbell.results.reader import Schema

__all__ = [
    "FORMAT",
    "LONGEST_S",
    "RUN",
    "SWEEP",
    "Run",
    "load",
    "load_manifest",
    "system_errors",
    "write",
]


FORMAT = 1
"""Version of both folder formats; increased when an old reader would misread a new folder."""
LONGEST_S = 1e9
"""Thirty years; a recording may last as long as a host is up."""

TEXT, TEXT_OR_NULL, BOOL, TEXTS = Text(), Text(null=True), Bool(), Listed(Text())
TIME_S = Number("seconds", 0, LONGEST_S)
TIME_S_OR_NULL = Number("seconds", 0, LONGEST_S, null=True)
CLOCK_S = Number("seconds", -1e11, 1e11, null=True)
COUNT = Number("", 0, 2**62, whole=True)
COUNT_OR_NULL = Number("", 0, 2**62, whole=True, null=True)
TOOK_S = Number("seconds", -1, LONGEST_S, null=True)
"""May be slightly negative: the clocks of two real hosts differ."""
SEED = Number("", 0, 2**64, whole=True, null=True)
RATE_OR_NULL = Number("bits per second", 0, 1e15, null=True)
RATIO = Number("", 1e-9, 1e9, null=True)
VERSION = Number("", 1, FORMAT, whole=True)
FIGURE_OR_NULL = Number("", -LARGEST, LARGEST, null=True)

_FLOW = Object(
    {"name": TEXT, "group": TEXT, "kind": TEXT, "cc": TEXT_OR_NULL, "fct_s": TOOK_S},
    {
        "cc_asked": TEXT_OR_NULL, "start_s": TIME_S_OR_NULL, "stop_s": TIME_S_OR_NULL, "bytes_asked": COUNT_OR_NULL,
        "bytes_received": COUNT_OR_NULL, "retransmits": COUNT_OR_NULL, "data_segs_out": COUNT_OR_NULL,
        "connected": BOOL, "completed": BOOL, "intermittent": BOOL, "error": TEXT_OR_NULL,
        "exchanges_s": Listed(TIME_S_OR_NULL), "block": COUNT, "url": TEXT, "address": TEXT,
    },
)  # fmt: skip
_QUEUE = Object(
    {"name": TEXT, "kind": TEXT_OR_NULL, "qdisc": TEXT_OR_NULL},
    {
        "under_test": BOOL, "host": TEXT_OR_NULL,
        "device": TEXT_OR_NULL, "rates": Listed(Row((TIME_S, RATE_OR_NULL)), null=True), "drops": COUNT_OR_NULL,
        "marks": COUNT_OR_NULL, "sent_bytes": COUNT_OR_NULL, "sent_packets": COUNT_OR_NULL,
    },
)  # fmt: skip
_PROGRAM = Object(
    {
        "name": TEXT, "host": TEXT, "started_s": TIME_S_OR_NULL, "ended_s": TIME_S_OR_NULL,
        "status": Number("", -256, 256, whole=True, null=True), "signal": COUNT_OR_NULL, "stopped": BOOL,
        "fault": TEXT_OR_NULL,
    },
    {},
)  # fmt: skip
_SEEN = Object(
    {"what": TEXT},
    {
        "value": ANY, "low": FIGURE_OR_NULL, "high": FIGURE_OR_NULL, "unit": TEXT, "metric": TEXT_OR_NULL,
        "case": TEXT_OR_NULL,
    },
)  # fmt: skip
_SOURCE = Object({"title": TEXT, "seen": Listed(_SEEN)}, {"url": TEXT_OR_NULL, "note": TEXT_OR_NULL}, null=True)
_EXPERIMENT = Object(
    {},
    {
        "path": Object({}, {"mtu": Number("bytes", 1, 1e6, whole=True, null=True)}, null=True),
        "flows": Listed(Mapped(ANY), null=True),
    },
    null=True,
)
_KERNEL = Object(
    {},
    {
        "name": TEXT_OR_NULL, "release": TEXT_OR_NULL, "version": TEXT_OR_NULL, "config_sha256": TEXT_OR_NULL,
        "binary_sha256": TEXT_OR_NULL, "unseeded": BOOL,
    },
    null=True,
)  # fmt: skip
_PROGRAM_OF_OURS = Object({}, {"version": TEXT_OR_NULL, "sha256": TEXT_OR_NULL}, null=True)
_LOG = Object({"format": TEXT, "sha256": TEXT}, {"epoch_s": CLOCK_S, "begins_s": TIME_S})
_RATIO = Object(
    {"first": TEXT_OR_NULL, "second": TEXT_OR_NULL},
    {"ratio": RATIO, "interval": Row((RATIO, RATIO), null=True), "confidence": Number("", 0, 1)},
)

RUN = Object(
    {
        "format": VERSION, "name": TEXT_OR_NULL, "title": TEXT, "engine": TEXT, "seed": SEED,
        "duration_s": TIME_S, "wall_s": TIME_S_OR_NULL, "valid": BOOL, "invalid": TEXTS, "warnings": TEXTS,
        "source": _SOURCE, "flows": Listed(_FLOW, unique="name"), "queues": Listed(_QUEUE, unique="name"),
    },
    {
        "dumbbell": TEXT, "corrections": TEXTS, "case": TEXT_OR_NULL, "command": TEXT_OR_NULL,
        "asked_duration_s": TIME_S_OR_NULL,
        "phases_s": Mapped(TIME_S), "experiment": _EXPERIMENT, "expect": TEXTS, "host": ANY,
        "commands": Listed(TEXT, null=True), "generator": TEXT_OR_NULL, "bottleneck": TEXT_OR_NULL,
        "probes": Listed(Mapped(ANY)), "programs": Listed(_PROGRAM), "kernel": _KERNEL,
        "agent": _PROGRAM_OF_OURS, "simulator": _PROGRAM_OF_OURS, "import": Object({"files": Listed(_LOG)}, {}),
        "fetch": Object({"comparisons": Listed(_RATIO), "verdicts": TEXTS}, {}),
    },
)  # fmt: skip
"""`run.json`: required keys, then optional keys."""

_AXIS = Object({"key": TEXT, "scale": TEXT, "values": Listed(ANY)}, {"column": TEXT, "unit": TEXT_OR_NULL})
_COUNTS = Object({"ok": COUNT, "invalid": COUNT, "failed": COUNT}, {"wanted": COUNT})

SWEEP = Object(
    {"format": VERSION, "axes": Listed(_AXIS, unique="key"), "counts": _COUNTS},
    {
        "dumbbell": TEXT, "name": TEXT_OR_NULL, "title": TEXT_OR_NULL, "command": TEXT_OR_NULL, "seeds": Listed(COUNT),
        "metrics": TEXTS, "keep": TEXT_OR_NULL, "window": Row((COUNT, COUNT_OR_NULL), null=True),
        "engines": Mapped(ANY), "maps": Listed(Mapped(ANY)), "experiment": TEXT, "source": Mapped(ANY, null=True),
    },
)  # fmt: skip
"""`sweep.json`."""


class _Frame:
    """A field of `Run`: set to a frame or a `Table`, read as a frame, which is built on first use."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> "_Frame": ...
    @overload
    def __get__(self, run: "Run", owner: type) -> "pl.DataFrame": ...
    def __get__(self, run: "Run | None", owner: type) -> "_Frame | pl.DataFrame":
        if run is None:
            raise AttributeError(self._name)  # For `dataclass`: it has no default.
        return run.table(self._name).frame()

    def __set__(self, run: "Run", given: "pl.DataFrame | Table") -> None:
        run.__dict__[self._name] = given if isinstance(given, NativeTable) else _framed(given)


def _framed(given: "pl.DataFrame | Table") -> "Table":
    import polars as pl  # noqa: PLC0415 — the simulator's tables need none

    from dumbbell.results.columns import Framed  # noqa: PLC0415

    return Framed(given) if isinstance(given, pl.DataFrame) else given


@dataclass(frozen=True)
class Run:
    """One result folder in memory."""

    folder: Path
    manifest: dict[str, Any]
    """The content of `run.json`."""
    flows: _Frame = _Frame()
    queues: _Frame = _Frame()
    probes: _Frame = _Frame()
    remembered: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache of `analysis` results for these tables; a copy with other tables starts with an empty one."""

    def table(self, name: str) -> "Table":
        """A table of every result, for access to single columns."""
        table: Table = self.__dict__[name]
        return table

    @property
    def frames(self) -> "dict[str, pl.DataFrame]":
        """The tables of every result as frames."""
        return {name: self.table(name).frame() for name in TABLE_NAMES}

    def inside(self, name: str) -> "pl.DataFrame | None":
        """A table of a kernel's internals, or None if the run has none. Raises `ResultError` as `load` does."""
        from dumbbell.results.reader import INSIDE, read_table  # noqa: PLC0415 — needs polars

        path = self.folder / f"{name}.parquet"
        return read_table(path, INSIDE[name]) if path.exists() else None


def load(folder: Path) -> Run:
    """Read a result folder.

    Raises `ResultError` when a file is missing, unreadable, or of a newer format.
    """
    manifest = load_manifest(folder)
    return Run(folder, manifest, **{name: _table(folder, name) for name in TABLE_NAMES})


def load_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a result folder, without its tables. Raises `ResultError` as `load` does."""
    from dumbbell.results.reader import read_json  # noqa: PLC0415 — needs polars

    path = folder / "run.json"
    try:
        missing = not path.exists()
    except OSError as error:
        raise ResultError(f"{folder}: can't be read: {error.strerror}") from None
    if missing:
        raise ResultError(f"{folder}: not a result folder: it has no run.json")
    manifest = read_json(path, "a run's manifest", RUN)
    return {**manifest, "warnings": [*manifest["warnings"], *corrections.warnings(manifest)]}


def is_import(manifest: Mapping[str, Any]) -> bool:
    """Does the run come from logs or downloads? Then it has no experiment, and conditions may be unknown."""
    return manifest.get("engine") in ("import", "fetch")


def write(
    folder: Path,
    manifest: Mapping[str, Any],
    tables: "Mapping[str, pl.DataFrame | pl.LazyFrame]",
    more: "Mapping[str, Schema] | None" = None,
) -> None:
    """Write manifest and tables into an existing, private `folder`; the caller renames it to its final path.

    Each table must have exactly its declared columns, followed at most by those of `more`, which only imported logs
    have. A lazy table is streamed to disk, so its length is not limited by memory.
    """
    import polars as pl  # noqa: PLC0415 — the simulator's tables need none

    from dumbbell.results.reader import INSIDE, TABLES  # noqa: PLC0415

    for name, columns in [*TABLES.items(), *((name, INSIDE[name]) for name in INSIDE if name in tables)]:
        table = tables[name]
        schema = table.collect_schema()
        besides = {column: kind for column, kind in (more or {}).get(name, {}).items() if column in schema}
        if schema != pl.Schema({**columns, **besides}):
            raise AssertionError(f"{name}: columns {schema} differ from {columns}")
        write_table(table, folder / f"{name}.parquet")
    _write_manifest(folder, manifest)


def write_run(folder: Path, run: Run) -> None:
    """The same for a run in memory."""
    for name in TABLE_NAMES:
        run.table(name).write(folder / f"{name}.parquet")
    _write_manifest(folder, run.manifest)


def write_table(table: "pl.DataFrame | pl.LazyFrame", file: Path) -> None:
    """Write a table as Parquet. Raises `OSError`, for instance when the disk is full."""
    import polars as pl  # noqa: PLC0415 — see `write`

    with system_errors():
        if isinstance(table, pl.LazyFrame):
            table.sink_parquet(file, compression="zstd", statistics=True)
        else:
            table.write_parquet(file, compression="zstd", statistics=True)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise polars' errors that come from the system as `OSError`."""
    import polars as pl  # noqa: PLC0415 — see `write`

    try:
        yield
    except pl.exceptions.PolarsError as error:
        # polars wraps system errors in its own types; the message has the errno.
        if number := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        raise


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    (folder / "run.json").write_text(json_text(manifest, allow_nan=True, indent=1) + "\n", encoding="utf-8")


def _table(folder: Path, name: str) -> "pl.DataFrame":
    from dumbbell.results.reader import TABLES, read_table  # noqa: PLC0415 — needs polars

    return read_table(folder / f"{name}.parquet", TABLES[name], KNOWN[name])
