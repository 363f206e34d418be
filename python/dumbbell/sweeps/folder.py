"""A finished sweep as a folder: its certificate `sweep.json`, its table `runs.parquet`, read, checked and written.

Beside them lie `sweep.toml`, as it was asked, and `experiment.toml`, which `dumbbell run` runs. Which runs there are
is `due`'s, the journal of a sweep that is not done `journal`'s; what the numbers mean is `dumbbell.analysis.grid`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import polars as pl

from dumbbell import result
from dumbbell.errors import ResultError
from dumbbell.manifest import SWEEP
from dumbbell.spec import document as documents
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import UNITS, Axis, Scale, written
from dumbbell.spec.sweep import ABOUT_THE_RUN, read_sweep
from dumbbell.spec.sweep import Sweep as Asked
from dumbbell.stored import check_known, read_frame, read_json
from dumbbell.visible import json_text

__all__ = [
    "ASKED",
    "BIRTH",
    "EXPERIMENT",
    "LAST",
    "RUNS",
    "TABLE",
    "Sweep",
    "is_sweep",
    "kept_name",
    "load",
    "write",
]

BIRTH = "sweep.json"
TABLE = "runs.parquet"
ASKED = "sweep.toml"
EXPERIMENT = "experiment.toml"
RUNS = "runs"
"""Where results lie that were kept."""
FIRST: Mapping[str, type[pl.DataType]] = {"run": pl.Int64, "point": pl.Int64}
LAST: Mapping[str, type[pl.DataType]] = {
    "engine": pl.String,
    "kernel": pl.String,
    "seed": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
}
"""The columns between the axes and the metrics."""
FARTHEST = 1e18
"""No quantity of an experiment is larger, and a scale can be drawn with it."""
STATUSES = ("ok", "invalid", "failed")
COUNTS = ("wanted", *STATUSES)


@dataclass(frozen=True)
class Sweep:
    """One sweep folder in memory."""

    folder: Path
    birth: dict[str, Any]
    """`sweep.json`, as it stands."""
    runs: pl.DataFrame
    """A row a run, by point and seed."""

    @property
    def title(self) -> str:
        """What people call it."""
        return str(self.birth.get("title") or self.birth.get("name") or self.folder.name)

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """What was varied, by key, in order."""
        return {entry["key"]: _axis(entry) for entry in self.birth["axes"]}

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics that any run has."""
        return self.runs.columns[self.runs.columns.index("reason") + 1 :]

    @cached_property
    def asked(self) -> Asked:
        """The sweep file that lies in the folder. Raises `ExperimentError` where it can't be read."""
        file = self.folder / ASKED
        document = documents.toml(text_named(self.folder, ASKED, file=str(file)), file)
        # The experiment was copied without its cases: the one that was meant is all that it holds.
        document = {key: value for key, value in document.items() if key != "case"} | {"experiment": EXPERIMENT}
        return read_sweep(document, file)


def kept_name(point: int, seed: int) -> str:
    """What a kept result is called, below `RUNS`."""
    return f"point-{point}-seed-{seed}"


def is_sweep(folder: Path) -> bool:
    """Is it a finished sweep's folder, and not a run's?"""
    return (folder / BIRTH).is_file()


def load(folder: Path) -> Sweep:
    """Read a sweep folder. Raises `ResultError` when a file is missing, unreadable, or not what it should be."""
    folder = Path(folder)
    birth = _birth(folder)
    path = folder / TABLE
    runs = read_frame(path)
    try:
        made = Sweep(folder, birth, runs)
        _check(made)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{folder / BIRTH}: not a sweep's certificate: {error!r}") from error
    return made


def write(folder: Path, birth: Mapping[str, Any], runs: pl.DataFrame) -> None:
    """Write certificate and table into an existing, private `folder`; the caller moves it into place.

    The same table gives the same bytes. Raises `OSError` when the disk is full or can't be written.
    """
    _check(Sweep(folder, dict(birth), runs))
    result.write_table(runs, folder / TABLE)
    text = json_text(birth, indent=1) + "\n"
    (folder / BIRTH).write_text(text, encoding="utf-8")


def _birth(folder: Path) -> dict[str, Any]:
    if not is_sweep(folder):
        unfinished = " yet; it can be finished with --resume" if (folder / "rows.sqlite").exists() else ""
        raise ResultError(f"{folder}: not a finished sweep: it has no {BIRTH}{unfinished}")
    return read_json(folder / BIRTH, "a sweep's certificate", SWEEP)


def entry_of(axis: Axis) -> dict[str, Any]:
    """An axis as a certificate has it."""
    values = [written(value) for value in axis.values]
    return {"key": axis.key, "column": axis.column, "unit": axis.unit, "scale": axis.scale, "values": values}


def _axis(entry: Mapping[str, Any]) -> Axis:
    key, unit, scale, values = entry["key"], entry.get("unit"), entry["scale"], tuple(entry["values"])
    if scale not in get_args(Scale):
        raise ValueError(f"'{scale}' is no scale")
    if unit is not None and unit not in UNITS:
        raise ValueError(f"'{unit}' is no unit; there is: {', '.join(sorted(UNITS))}")
    shape = Axis(str(key), values, scale, None, unit)
    if scale == "category":
        return shape
    return Axis(str(key), values, scale, tuple(shape.number(value) for value in values), unit)


def _check(sweep: Sweep) -> None:
    """Has the table the columns that the certificate promises, in order? Raises `ResultError`."""
    path, schema = sweep.folder / TABLE, sweep.runs.schema
    numbers = (pl.Int64, pl.Float64)
    wanted: dict[str, tuple[Any, ...]] = {name: (kind,) for name, kind in FIRST.items()}
    for axis in sweep.axes.values():
        if axis.key not in ABOUT_THE_RUN:
            wanted[axis.key] = (pl.String,) if axis.unit or axis.numbers is None else numbers
            wanted |= {axis.column: (pl.Float64,)} if axis.unit else {}
    wanted |= {name: (kind,) for name, kind in LAST.items()}
    for place, (name, kinds) in enumerate(wanted.items()):
        found = list(schema)[place] if place < len(schema) else None
        if found != name or schema[name] not in kinds:
            raise ResultError(
                f"{path}: column {place + 1} is {_told(schema, found)}; it should be '{name}', {kinds[0]}"
            )
    for name in list(schema)[len(wanted) :]:
        if schema[name] != pl.Float64:
            raise ResultError(f"{path}: the metric {_told(schema, name)} should be Float64")
    check_known(path, sweep.runs, ("run", *(name for name in wanted if name not in ("kernel", "reason"))))
    for axis in sweep.axes.values():
        _check_places(sweep, axis)
    if strange := set(sweep.runs["status"].unique()) - set(STATUSES):
        raise ResultError(f"{path}: no status is called {min(map(repr, strange))}; there is: {', '.join(STATUSES)}")
    counts = sweep.birth["counts"]
    for status in STATUSES:
        counted = sweep.runs.filter(pl.col("status") == status).height
        if counts[status] != counted:
            raise ResultError(f"{path}: {counted} runs are {status}, and {BIRTH} counts {counts[status]}")


def _check_places(sweep: Sweep, axis: Axis) -> None:
    """Can every value of an axis be read as its number, and can both be drawn? Raises `ResultError`, `ValueError`."""
    if axis.numbers is None or axis.key in ABOUT_THE_RUN:
        return
    places = [axis.number(value) for value in sweep.runs[axis.key].unique()]
    places += sweep.runs[axis.column].cast(pl.Float64).unique().to_list()
    if (wrong := next((place for place in places if not abs(place) <= FARTHEST), None)) is not None:
        path = sweep.folder / TABLE
        raise ResultError(f"{path}: the axis '{axis.key}' has {wrong}; numbers up to {FARTHEST:g} are expected")


def _told(schema: Mapping[str, Any], name: str | None) -> str:
    return "missing" if name is None else f"'{name}', {schema[name]}"
