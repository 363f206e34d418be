"""Read, check, write and query the folder of a finished sweep: `sweep.json` and `runs.parquet`.

The folder also has `sweep.toml`, the sweep file, and `experiment.toml`, which `dumbbell run` accepts. The same sweep,
build and kernel give the same bytes; times and paths are in the journal. `docs/sweeps.md` documents the keys and the
dialect of SQL. `workdir` handles unfinished sweeps, `dumbbell.analysis.map_cells` evaluates the table; formulas in
untrusted files use `dumbbell.analysis.formula`, which can read only columns.
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

import dumbbell
from dumbbell import _sim
from dumbbell.analysis.formula import quoted
from dumbbell.errors import ResultError
from dumbbell.results.parquet import write_table
from dumbbell.results.reader import check_known, read_frame, read_manifest
from dumbbell.spec import document as documents
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import UNITS, Axis, Scale, written
from dumbbell.spec.sweep import ABOUT_THE_RUN, read_sweep
from dumbbell.spec.sweep import Sweep as SweepDefinition
from dumbbell.sweeps.task import Row

if TYPE_CHECKING:
    from dumbbell.results.keys import SweepManifest

__all__ = [
    "EXPERIMENT",
    "LAST",
    "MANIFEST",
    "NAME",
    "RUNS",
    "SWEEP_FILE",
    "TABLE",
    "Sweep",
    "is_sweep",
    "kept_name",
    "load",
    "manifest_of",
    "query",
    "reasons",
    "summary",
    "table_of",
    "write",
]


MANIFEST = "sweep.json"
TABLE = "runs.parquet"
SWEEP_FILE = "sweep.toml"
EXPERIMENT = "experiment.toml"
RUNS = "runs"
"""Folder of the kept results (`keep = "runs"`)."""
FIRST: Mapping[str, type[pl.DataType]] = {"run": pl.Int64, "point": pl.Int64}
LAST: Mapping[str, type[pl.DataType]] = {
    "engine": pl.String,
    "kernel": pl.String,
    "seed": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
}
"""Columns between the axes and the metrics."""
FARTHEST = 1e18
"""Upper bound of axis values, still small enough to draw a scale."""
STATUSES = ("ok", "invalid", "failed")


@dataclass(frozen=True)
class Sweep:
    """One sweep folder in memory."""

    folder: Path
    manifest: "SweepManifest"
    """The content of `sweep.json`."""
    runs: pl.DataFrame
    """One row per run, sorted by point and seed."""

    @property
    def title(self) -> str:
        """The title, or else the name."""
        return str(self.manifest.title or self.manifest.name or self.folder.name)

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axes by key, in order."""
        return {entry["key"]: _axis(entry) for entry in self.manifest.axes}

    @property
    def metrics(self) -> list[str]:
        """The metrics that at least one run has."""
        return self.runs.columns[self.runs.columns.index("reason") + 1 :]

    @cached_property
    def definition(self) -> SweepDefinition:
        """The parsed sweep file of the folder. Raises `ExperimentError`."""
        file = self.folder / SWEEP_FILE
        document = documents.toml(text_named(self.folder, SWEEP_FILE, file=str(file)), file)
        # `experiment.toml` is a copy without cases: it holds only the selected one.
        document = {key: value for key, value in document.items() if key != "case"} | {"experiment": EXPERIMENT}
        return read_sweep(document, file)


def kept_name(point: int, seed: int) -> str:
    """The folder name of a kept result, below `RUNS`."""
    return f"point-{point}-seed-{seed}"


def is_sweep(folder: Path) -> bool:
    """Is this the folder of a finished sweep?"""
    return os.path.isfile(folder / MANIFEST)  # noqa: PTH113 — no name makes it raise


def load(folder: Path) -> Sweep:
    """Read a sweep folder. Raises `ResultError` when a file is missing, unreadable or invalid."""
    folder = Path(folder)
    manifest = _manifest(folder)
    path = folder / TABLE
    runs = read_frame(path)
    try:
        made = Sweep(folder, manifest, runs)
        _check(made)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{folder / MANIFEST}: not a sweep's manifest: {error!r}") from error
    return made


def write(folder: Path, manifest: Mapping[str, Any], runs: pl.DataFrame) -> None:
    """Write manifest and table into an existing, private `folder`; the caller renames it to its final path.

    Equal tables give equal bytes. Raises `OSError`, for instance when the disk is full.
    """
    _check(Sweep(folder, _sim.manifest(manifest, "SweepManifest"), runs))
    write_table(runs, folder / TABLE)
    _sim.write_manifest(manifest, folder / MANIFEST, "SweepManifest")


def _manifest(folder: Path) -> "SweepManifest":
    if not is_sweep(folder):
        unfinished = "; complete it with --resume" if os.path.exists(folder / "rows.sqlite") else ""  # noqa: PTH110
        raise ResultError(f"{folder}: not a finished sweep: it has no {MANIFEST}{unfinished}")
    return read_manifest(folder / MANIFEST, "a sweep's manifest", "SweepManifest")


def entry_of(axis: Axis) -> dict[str, Any]:
    """An axis as an entry of the manifest."""
    values = [written(value) for value in axis.values]
    return {"key": axis.key, "column": axis.column, "unit": axis.unit, "scale": axis.scale, "values": values}


def _axis(entry: Mapping[str, Any]) -> Axis:
    key, unit, scale, values = entry["key"], entry.get("unit"), entry["scale"], tuple(entry["values"])
    if scale not in get_args(Scale):
        raise ValueError(f"unknown scale '{scale}'")
    if unit is not None and unit not in UNITS:
        raise ValueError(f"unknown unit '{unit}'; known units: {', '.join(sorted(UNITS))}")
    shape = Axis(str(key), values, scale, None, unit)
    if scale == "category":
        return shape
    return Axis(str(key), values, scale, tuple(shape.number(value) for value in values), unit)


def _check(sweep: Sweep) -> None:
    """Check that the table has the columns of the manifest, in order. Raises `ResultError`."""
    path, schema = sweep.folder / TABLE, sweep.runs.schema
    numbers = (pl.Int64, pl.Float64)
    expected: dict[str, tuple[Any, ...]] = {name: (kind,) for name, kind in FIRST.items()}
    for axis in sweep.axes.values():
        if axis.key not in ABOUT_THE_RUN:
            expected[axis.key] = (pl.String,) if axis.unit or axis.numbers is None else numbers
            expected |= {axis.column: (pl.Float64,)} if axis.unit else {}
    expected |= {name: (kind,) for name, kind in LAST.items()}
    for number, (name, kinds) in enumerate(expected.items()):
        found = list(schema)[number] if number < len(schema) else None
        if found != name or schema[name] not in kinds:
            raise ResultError(
                f"{path}: column {number + 1} is {_described(schema, found)}; '{name}', {kinds[0]} is expected"
            )
    for name in list(schema)[len(expected) :]:
        if schema[name] != pl.Float64:
            raise ResultError(f"{path}: the metric is {_described(schema, name)}; Float64 is expected")
    check_known(path, sweep.runs, ("run", *(name for name in expected if name not in ("kernel", "reason"))))
    for axis in sweep.axes.values():
        _check_axis_values(sweep, axis)
    if strange := set(sweep.runs["status"].unique()) - set(STATUSES):
        raise ResultError(f"{path}: unknown status {min(map(repr, strange))}; known: {', '.join(STATUSES)}")
    counts = sweep.manifest.counts
    for status in STATUSES:
        counted = sweep.runs.filter(pl.col("status") == status).height
        if counts[status] != counted:
            raise ResultError(f"{path}: {counted} runs are {status}, but {MANIFEST} has {counts[status]}")


def _check_axis_values(sweep: Sweep, axis: Axis) -> None:
    """Check that an axis's values are numbers within `FARTHEST`. Raises `ResultError`, `ValueError`."""
    if axis.numbers is None or axis.key in ABOUT_THE_RUN:
        return
    numbers_found = [axis.number(value) for value in sweep.runs[axis.key].unique()]
    numbers_found += sweep.runs[axis.column].cast(pl.Float64).unique().to_list()
    if (wrong := next((number for number in numbers_found if not abs(number) <= FARTHEST), None)) is not None:
        path = sweep.folder / TABLE
        raise ResultError(f"{path}: axis '{axis.key}' has {wrong}; numbers up to {FARTHEST:g} are expected")


def _described(schema: Mapping[str, Any], name: str | None) -> str:
    return "missing" if name is None else f"'{name}', {schema[name]}"


def manifest_of(
    sweep: SweepDefinition, options: Sequence[str], engines: Iterable[Mapping[str, Any]], counts: Mapping[str, int]
) -> dict[str, Any]:
    """The manifest; `options` are the command-line options, `counts` the rows by status."""
    return {
        "format": _sim.MANIFEST_FORMAT,
        "dumbbell": dumbbell.__version__,
        "name": sweep.name,
        "title": sweep.title,
        "command": _command(sweep.file, options),
        "axes": [entry_of(each) for each in sweep.every_axis],
        "seeds": list(sweep.seeds),
        "metrics": list(sweep.metrics),
        "keep": sweep.keep,
        "window": None if sweep.window is None else list(sweep.window),
        "engines": {_name(each): {key: each[key] for key in each if key != "engine"} for each in engines},
        "counts": {"wanted": sum(counts.values())}
        | {each: counts.get(each, 0) for each in ("ok", "invalid", "failed")},
        "until": _plain(sweep.until),
        "refine": _plain(sweep.refine),
        "search": _plain(sweep.search),
        "maps": [_plain(each) for each in sweep.maps],
        "experiment": "experiment.toml",
        "source": sweep.source and sweep.source.as_dict(),
    }


def _command(file: Path, options: Sequence[str]) -> str:
    """The command line, with the file's name only: its folder differs between hosts."""
    return shlex.join(["dumbbell", "sweep", file.name, *options])


def _name(engine: Mapping[str, Any]) -> str:
    return f"kernel {engine['kernel']}" if engine["engine"] == "kernel" else str(engine["engine"])


def _plain(table: Any) -> Any:
    return table and {key: value for key, value in table.as_dict().items() if value is not None}


def table_of(rows: Sequence[Row], axes: Sequence[Axis]) -> pl.DataFrame:
    """One row per run, sorted by point and seed; `docs/sweeps.md` documents the columns."""
    rows = sorted(rows, key=lambda row: (row.point, row.seed))
    columns: dict[str, pl.Series] = {
        "run": pl.Series(range(len(rows)), dtype=pl.Int64),
        "point": pl.Series([row.point for row in rows], dtype=pl.Int64),
    }
    for each in axes:
        if each.key not in ABOUT_THE_RUN:
            columns |= _of_axis(each, rows)
    columns |= {
        "engine": pl.Series([row.engine for row in rows], dtype=pl.String),
        "kernel": pl.Series([row.kernel for row in rows], dtype=pl.String),
        "seed": pl.Series([row.seed for row in rows], dtype=pl.Int64),
        "status": pl.Series([row.status for row in rows], dtype=pl.String),
        "reason": pl.Series([row.reason for row in rows], dtype=pl.String),
    }
    names = dict.fromkeys(name for row in rows for name in row.metrics)
    for name in names:
        columns[name] = pl.Series([row.metrics.get(name) for row in rows], dtype=pl.Float64)
    return pl.DataFrame(columns)


def _of_axis(shape: Axis, rows: Sequence[Row]) -> dict[str, pl.Series]:
    """The column of an axis as written and, for a quantity, the column of its number."""
    values: list[Any] = [written(row.values[shape.key]) for row in rows]
    if shape.numbers is not None and shape.unit is None:
        integers = all(isinstance(value, int) for value in shape.values)
        return {shape.key: pl.Series(values, dtype=pl.Int64 if integers else pl.Float64)}
    texts = {shape.key: pl.Series([str(value) for value in values], dtype=pl.String)}
    if shape.unit is None:
        return texts
    return texts | {shape.column: pl.Series([shape.number(row.values[shape.key]) for row in rows], dtype=pl.Float64)}


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


def summary(sweep: Sweep) -> dict[str, Any]:
    """Counts, axes, reasons of invalid and failed runs, and each metric's count, minimum, mean and maximum.

    Metrics cover valid runs only.
    """
    valid = sweep.runs.filter(pl.col("status") == "ok")
    points = sweep.runs["point"].n_unique()
    return {
        "sweep": str(sweep.folder),
        "name": sweep.manifest.name,
        "title": sweep.title,
        "counts": dict(sweep.manifest.counts),
        "points": points,
        "seeds": sorted(sweep.runs["seed"].unique()),
        "engines": sorted(sweep.runs["engine"].drop_nulls().unique()),
        "axes": [entry_of(axis) | {"values": _values(sweep, axis.key)} for axis in sweep.axes.values()],
        "reasons": reasons(sweep),
        "metrics": {name: _range(valid[name].drop_nulls()) for name in sweep.metrics},
    }


def reasons(sweep: Sweep) -> list[dict[str, Any]]:
    """Every reason of invalid and failed runs, most frequent first: `status`, `reason`, `runs`, a `point`."""
    bad = sweep.runs.filter(pl.col("status") != "ok")
    counted = bad.group_by("status", "reason", maintain_order=True).agg(runs=pl.len(), point=pl.col("point").first())
    return counted.sort("runs", descending=True, maintain_order=True).to_dicts()


def _values(sweep: Sweep, key: str) -> list[Any]:
    """The axis values that ran, in the order of the sweep file; a refined grid has more."""
    order = {str(value): number for number, value in enumerate(sweep.axes[key].values)}
    shape = sweep.axes[key]
    found = [value for value in sweep.runs[key].unique(maintain_order=True) if value is not None]
    if shape.numbers is not None:
        return sorted(found, key=shape.number)
    return sorted(found, key=lambda value: order.get(str(value), len(order)))


def _range(values: pl.Series) -> dict[str, Any]:
    return {"n": len(values), "min": values.min(), "mean": values.mean(), "max": values.max()}
