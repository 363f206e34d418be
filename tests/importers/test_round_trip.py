"""Round trip: a run that is exported and imported stays the same."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dumbbell.errors import ImportProblem, OutputError
from dumbbell.exporters import export_run
from dumbbell.importers import Options, import_files, read_run
from dumbbell.importers.log_model import rows
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run, load
from dumbbell.results.tables import KNOWN
from importers.samples import SAMPLES

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 4
)
SUFFIXES = {"csv": "", "jsonl": ".jsonl", "flent": ".flent.gz"}
LIMITS: dict[type[pl.DataType], tuple[int, int]] = {
    pl.Int64: (0, 2**62),
    pl.UInt32: (0, 2**32 - 1),
    pl.UInt16: (0, 2**16 - 1),
    pl.UInt8: (0, 255),
}
TEXT = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), max_size=8)
"""Characters that `str.isprintable` accepts."""


def cell(kind: type[pl.DataType]) -> st.SearchStrategy[Any]:
    if kind == pl.String:
        return TEXT
    if kind == pl.Boolean:
        return st.booleans()
    if kind == pl.Float64:
        return st.floats(0, 2**62)
    return st.integers(*LIMITS[kind])


def table(name: str) -> st.SearchStrategy[pl.DataFrame]:
    time, *others = TABLES[name]
    values = {key: cell(kind) for key, kind in TABLES[name].items()}
    values |= {key: st.none() | values[key] for key in others if key not in KNOWN[name]}
    found = st.lists(st.fixed_dictionaries(values), max_size=4)
    return found.map(lambda each: rows(name, sorted(each, key=lambda row: row[time])))


def round_trip(run: Run, folder: Path, format_: str) -> Run:
    """Export the run and import the export."""
    out = folder / f"out{SUFFIXES[format_]}"
    export_run(run, out, format_, addresses=True)
    return load(import_files([out], folder / "back", Options()))


@pytest.mark.parametrize("format_", SUFFIXES)
@pytest.mark.parametrize("name", ["iperf3", "ss", "tc", "ping"])
def test_an_exported_run_is_imported_unchanged(tmp_path: Path, name: str, format_: str) -> None:
    (tmp_path / "log").write_text(SAMPLES[name])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options(queue="eth0 10:" if name == "tc" else None)))
    back = round_trip(run, tmp_path, format_)
    for each in TABLES:
        assert_frame_equal(getattr(back, each), getattr(run, each))
    assert {key: value for key, value in back.manifest.items() if key != "imported"} == run.manifest


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
@SAME_FOLDER
@given(st.data())
def test_any_table_round_trips(tmp_path_factory: pytest.TempPathFactory, format_: str, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("round-trip")
    tables = {name: data.draw(table(name)) for name in TABLES}
    manifest = {
        "format": 1, "name": "any", "title": "Any", "engine": "sim", "seed": 1, "duration_s": 1.0, "wall_s": 1.0,
        "valid": True, "invalid": [], "warnings": [], "source": None, "flows": [], "queues": [],
    }  # fmt: skip
    back = round_trip(Run(folder, manifest, **tables), folder, format_)
    for name in TABLES:
        assert_frame_equal(getattr(back, name), tables[name])
    assert math.isclose(back.manifest.duration_s, 1.0)


@pytest.mark.parametrize("format_", ["jsonl", "flent", "csv"])
def test_a_truncated_export_is_refused(tmp_path: Path, format_: str) -> None:
    (tmp_path / "log").write_text(SAMPLES["ss"])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options()))
    out = tmp_path / f"out{SUFFIXES[format_]}"
    export_run(run, out, format_, addresses=True)
    victim = out / "flows.csv" if format_ == "csv" else out
    content = victim.read_bytes()
    for end in range(1, len(content), max(len(content) // 60, 1)):
        victim.write_bytes(content[:end])
        if format_ == "csv" and content[:end].endswith(b"\n"):
            continue  # Truncated between two rows: a CSV file doesn't record its number of rows.
        with pytest.raises(ImportProblem):
            read_run([out], Options())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SAMPLES["ping"])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options()))
    with pytest.raises(OutputError, match="exists already"):
        import_files([tmp_path / "log"], tmp_path / "run", Options())
    with pytest.raises(OutputError, match="exists already"):
        export_run(run, tmp_path / "log", "jsonl")
    with pytest.raises(ImportProblem, match="choose from: csv, jsonl, flent"):
        export_run(run, tmp_path / "x", "xls")
