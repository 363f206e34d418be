"""Reading and writing of result folders."""

import json
from pathlib import Path

import polars as pl
import pytest

import synthetic
from dumbbell._sim import MANIFEST_FORMAT as FORMAT
from dumbbell.engines import Request, Simulator
from dumbbell.errors import ResultError
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.spec import parse
from engines.measured import CUBIC, experiment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic.Bench([synthetic.Flow("bbr", "bbr")], duration_s=1.0).make_folder(tmp_path / "run")


def test_a_folder_is_read_as_it_was_written(folder: Path) -> None:
    written = synthetic.Bench([synthetic.Flow("bbr", "bbr")], duration_s=1.0).make(folder)
    read = result.load(folder)
    assert read.manifest == written.manifest
    for name in TABLES:
        assert getattr(read, name).equals(getattr(written, name))
    assert sorted(path.name for path in folder.iterdir()) == [
        "flows.parquet",
        "probes.parquet",
        "queues.parquet",
        "run.json",
    ]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_exactly_its_columns(tmp_path: Path, name: str) -> None:
    tables = synthetic.Bench([synthetic.Flow("bbr", "bbr")], duration_s=1.0).tables()
    for table in (
        tables[name].with_columns(pl.lit(1).alias("more")),
        tables[name].select(list(TABLES[name])[1:]),
        tables[name].select(list(TABLES[name])[::-1]),
        tables[name].with_columns(pl.first().cast(pl.Int32)),
    ):
        with pytest.raises(AssertionError, match=f"{name}: columns"):
            result.write(tmp_path, {}, tables | {name: table})


def test_two_writes_of_one_result_are_identical(tmp_path: Path) -> None:
    bench = synthetic.Bench([synthetic.Flow("bbr", "bbr")], duration_s=1.0)
    first, second = bench.make_folder(tmp_path / "a"), bench.make_folder(tmp_path / "b")
    assert all(
        (first / name).read_bytes() == (second / name).read_bytes()
        for name in ("run.json", *(f"{t}.parquet" for t in TABLES))
    )


def test_a_folder_without_a_manifest_is_no_result(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ResultError, match=f"{folder}: not a result folder: it has no run.json"):
            result.load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "1"}', "5", "null"])
def test_a_damaged_manifest_is_an_error(folder: Path, text: str) -> None:
    (folder / "run.json").write_text(text)
    with pytest.raises(ResultError, match=r"run\.json: (can't be read|not a run's manifest)"):
        result.load(folder)


def test_a_manifest_that_is_not_text_is_an_error(folder: Path) -> None:
    (folder / "run.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ResultError, match=r"run\.json: can't be read"):
        result.load(folder)


def test_a_newer_format_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(manifest | {"format": FORMAT + 1}))
    with pytest.raises(ResultError, match=f"format {FORMAT + 1} is newer than this Dumbbell reads"):
        result.load(folder)


@pytest.mark.parametrize("name", TABLES)
def test_a_missing_or_damaged_table_is_an_error(folder: Path, name: str) -> None:
    complete = (folder / f"{name}.parquet").read_bytes()
    for content in (b"", b"PAR1", complete[:-20], None):
        (folder / f"{name}.parquet").unlink()
        if content is not None:
            (folder / f"{name}.parquet").write_bytes(content)
        with pytest.raises(ResultError, match=f"{name}.parquet: can't be read"):
            result.load(folder)
        (folder / f"{name}.parquet").touch()


def test_a_column_that_an_older_folder_lacks_is_null(folder: Path) -> None:
    file = folder / "flows.parquet"
    pl.read_parquet(file).drop("cc_phase").write_parquet(file)
    flows = result.load(folder).flows
    assert flows.schema == pl.Schema(TABLES["flows"])
    assert flows["cc_phase"].null_count() == flows.height > 0


def test_columns_of_earlier_versions_have_todays_names(tmp_path: Path) -> None:
    case = parse(experiment(CUBIC + "[[probes]]\n", duration="500ms"), Path("old.toml"))[0]
    folder = Simulator().run(Request("old", case, 1, tmp_path / "old"), lambda _: None)
    today = result.load(folder).probes
    pl.read_parquet(folder / "probes.parquet").rename({"time_ns": "sent_ns"}).write_parquet(folder / "probes.parquet")
    assert result.load(folder).probes.equals(today)
    assert today.height == 6
