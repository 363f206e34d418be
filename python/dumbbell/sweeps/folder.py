"""Read, check and write the folder of a finished sweep: the manifest `sweep.json` and the table `runs.parquet`.

The folder also has `sweep.toml`, the sweep file, and `experiment.toml`, which `dumbbell run` accepts. `workdir` handles
unfinished sweeps, `dumbbell.analysis.map_cells` evaluates the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import polars as pl

from dumbbell.control_characters import json_text
from dumbbell.errors import ResultError
from dumbbell.results import result
from dumbbell.results.manifest_schema import SWEEP
from dumbbell.results.reader import check_known, read_frame, read_json
from dumbbell.spec import document as documents
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import UNITS, Axis, Scale, written
from dumbbell.spec.sweep import ABOUT_THE_RUN, read_sweep
from dumbbell.spec.sweep import Sweep as SweepDefinition

__all__ = [
    "EXPERIMENT",
    "LAST",
    "MANIFEST",
    "RUNS",
    "SWEEP_FILE",
    "TABLE",
    "Sweep",
    "is_sweep",
    "kept_name",
    "load",
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
    manifest: dict[str, Any]
    """The content of `sweep.json`."""
    runs: pl.DataFrame
    """One row per run, sorted by point and seed."""

    @property
    def title(self) -> str:
        """The title, or else the name."""
        return str(self.manifest.get("title") or self.manifest.get("name") or self.folder.name)

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axes by key, in order."""
        return {entry["key"]: _axis(entry) for entry in self.manifest["axes"]}

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
    return (folder / MANIFEST).is_file()


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
    _check(Sweep(folder, dict(manifest), runs))
    result.write_table(runs, folder / TABLE)
    text = json_text(manifest, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _manifest(folder: Path) -> dict[str, Any]:
    if not is_sweep(folder):
        unfinished = "; complete it with --resume" if (folder / "rows.sqlite").exists() else ""
        raise ResultError(f"{folder}: not a finished sweep: it has no {MANIFEST}{unfinished}")
    return read_json(folder / MANIFEST, "a sweep's manifest", SWEEP)


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
    counts = sweep.manifest["counts"]
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
