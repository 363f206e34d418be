"""Damaged results, one kind each: an invalid manifest or table is an error that names the key or column."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import synthetic
from dumbbell.analysis.summary import summary
from dumbbell.errors import ResultError
from dumbbell.exporters import export_run
from dumbbell.results.result import load
from hostile.damage import call

REMEDY = "the result is damaged: run it again or remove it"


def document(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return value


@pytest.fixture
def damaged(good_run: Path, tmp_path: Path) -> Path:
    """A copy of a run to damage."""
    return shutil.copytree(good_run, tmp_path / "bad")


def load_error(folder: Path) -> str:
    with pytest.raises(ResultError) as caught:
        load(folder)
    return str(caught.value)


Change = Callable[[dict[str, Any]], object]
MANIFESTS: dict[str, tuple[Change, str]] = {
    "no duration": (lambda d: d.pop("duration_s"), "`duration_s` is missing; a number of seconds from 0"),
    "duration as text": (lambda d: d.update(duration_s="abc"), '`duration_s` is "abc"; a number of seconds from 0 to'),
    "negative duration": (lambda d: d.update(duration_s=-1), "`duration_s` is -1; a number of seconds"),
    "eight gigabytes of bins": (lambda d: d.update(duration_s=1e15), "`duration_s` is 1000000000000000.0; a number"),
    "duration without end": (lambda d: d.update(duration_s=float("inf")), "can't be read: expected value at line 1"),
    "no number": (lambda d: d.update(duration_s=float("nan")), "can't be read: expected value at line 1"),
    "flows as an object": (lambda d: d.update(flows={}), "`flows` is an object of 0; a list is expected"),
    "a flow as a number": (lambda d: d["flows"].append(5), "`flows[3]` is 5; an object is expected"),
    "a flow without a name": (lambda d: d["flows"][0].pop("name"), "`flows[0].name` is missing"),
    "a flow twice": (lambda d: d["flows"].append(d["flows"][0]), '`flows[3].name` is "cubic" again; a unique value'),
    "a start before time": (lambda d: d["flows"][1].update(start_s=-3), "`flows[1].start_s` is -3"),
    "bytes as a list": (lambda d: d["flows"][1].update(bytes_received=[1]), "`flows[1].bytes_received` is a list of 1"),
    "a rate without its time": (lambda d: d["queues"][0].update(rates=[[5]]), "`queues[0].rates[0]` is a list of 1"),
    "reasons as a text": (lambda d: d.update(invalid="because"), '`invalid` is "because"; a list is expected'),
    "warnings as a number": (lambda d: d.update(warnings=5), "`warnings` is 5; a list is expected"),
    "validity as a text": (lambda d: d.update(valid="no"), '`valid` is "no"; true or false is expected'),
    "title as an object": (lambda d: d.update(title={}), "`title` is an object of 0; a string is expected"),
    "broken text": (lambda d: d.update(title="\ud800"), "can't be read: unexpected end of hex escape"),
    "a program's end as a text": (lambda d: d["programs"][0].update(ended_s="x"), '`programs[0].ended_s` is "x"'),
    "an import of nothing": (lambda d: d.update({"import": {}}), "`import.files` is missing"),
    "an endless seed": (lambda d: d.update(seed=2**70), "is 1.1805916207174113e+21; a number below 2^64"),
    "an experiment as a list": (lambda d: d.update(experiment=[]), "`experiment` is a list of 0; an object"),
    "a path as a text": (lambda d: d["experiment"].update(path="x"), '`experiment.path` is "x"; an object'),
}  # fmt: skip


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_damaged_manifest_is_an_error_with_its_key(what: str, damaged: Path) -> None:
    change, message = MANIFESTS[what]
    value = document(damaged)
    change(value)
    (damaged / "run.json").write_text(json.dumps(value))
    error = load_error(damaged)
    assert message in error
    assert error.startswith(f"{damaged}/run.json: ")
    assert error.endswith(REMEDY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "a": ' + "[" * 100_000, "can't be read"),
        ('{"format": 1, "a": ' + "[" * 300 + "]" * 300 + "}", "can't be read: recursion limit exceeded"),
        ('{"format": 1, "a": ' + "[" * 100 + "]" * 100 + "}", "`a"),
        ('{"format": 1, "seed": ' + "9" * 5000 + "}", "can't be read: number out of range"),
        ('{"format": true}', "it has no 'format'"),
    ],
)
def test_a_manifest_of_invalid_json_is_an_error(damaged: Path, text: str, message: str) -> None:
    (damaged / "run.json").write_text(text)
    assert message in load_error(damaged)


def test_a_huge_manifest_is_refused(damaged: Path) -> None:
    os.truncate(damaged / "run.json", 1 << 40)
    assert "has 1,099,511,627,776 bytes; at most 256,000,000 are expected" in load_error(damaged)


@pytest.mark.parametrize("name", ["run.json", "flows.parquet"])
def test_a_pipe_is_not_opened(damaged: Path, name: str) -> None:
    (damaged / name).unlink()
    os.mkfifo(damaged / name)
    assert f"{name}: can't be read: not a regular file" in load_error(damaged)


Table = Callable[[pl.DataFrame], pl.DataFrame]
TABLES: dict[str, tuple[str, Table, str]] = {
    "no time": ("flows", lambda t: t.drop("time_ns"), "column 'time_ns' is null or missing in row 0"),
    "no flow": ("flows", lambda t: t.drop("flow"), "column 'flow' is null or missing in row 0"),
    "time as a text": ("flows", lambda t: t.cast({"time_ns": pl.String}), "column 'time_ns' is String; Int64"),
    "another width": ("flows", lambda t: t.cast({"cwnd_packets": pl.Int64}), "'cwnd_packets' is Int64; UInt32"),
    "a list": ("queues", lambda t: t.with_columns(x=pl.concat_list(pl.lit(1))), "'x' is List(Int32); numbers"),
    "bytes": ("queues", lambda t: t.with_columns(x=pl.lit(b"x")), "column 'x' is Binary; numbers, booleans or strings"),
    "a null time": ("probes", lambda t: t.with_columns(changed(t["time_ns"], None)), "'time_ns' is null or missing"),
    "a null queue": ("queues", lambda t: t.with_columns(changed(t["queue"], None)), "'queue' is null or missing"),
    "a negative time": ("flows", lambda t: t.with_columns(pl.col("time_ns") - 10**9), "column 'time_ns' has -"),
    "an absurd counter": ("flows", lambda t: t.with_columns(changed(t["bytes_sent"], 2**63 - 1)), "'bytes_sent' has 9"),
    "a negative counter": ("queues", lambda t: t.with_columns(changed(t["sent_bytes"], -1)), "'sent_bytes' has -1"),
    "no number": ("flows", lambda t: t.with_columns(changed(t["dctcp_alpha"], float("nan"))), "'dctcp_alpha' has nan"),
    "backwards": ("flows", lambda t: t.reverse(), "column 'time_ns' is not sorted"),
    "from elsewhere": ("flows", lambda _: pl.DataFrame({"a": [1]}), "column 'time_ns' is null or missing"),
}  # fmt: skip


def changed(column: pl.Series, value: object) -> pl.Series:
    return column.scatter([3], [value])


@pytest.mark.parametrize("what", TABLES)
def test_a_damaged_table_is_an_error_with_its_column(what: str, damaged: Path) -> None:
    name, change, message = TABLES[what]
    file = damaged / f"{name}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    error = load_error(damaged)
    assert message in error
    assert error.startswith(f"{file}: ")
    assert error.endswith(REMEDY)


def test_a_table_with_too_many_rows_in_its_footer_is_refused(damaged: Path) -> None:
    """Its footer states 2^40 rows; Thrift's compact integers are zigzag-encoded with seven bits per byte."""
    file = damaged / "probes.parquet"
    table = pl.read_parquet(file)
    data = file.read_bytes()
    size = struct.unpack("<I", data[-8:-4])[0]
    footer = data[-8 - size : -8]
    old, new = _varint(table.height), _varint(2**40)
    # Field 3 of FileMetaData, `num_rows`, is the last of its header's integers before the list of row groups.
    at = footer.index(b"\x16" + old + b"\x19")
    footer = footer[: at + 1] + new + footer[at + 1 + len(old) :]
    file.write_bytes(data[: -8 - size] + footer + struct.pack("<I", len(footer)) + b"PAR1")
    assert "has 1,099,511,627,776 rows" in load_error(damaged) or "can't be read" in load_error(damaged)


def _varint(number: int) -> bytes:
    number *= 2
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def test_a_table_that_exceeds_the_memory_is_refused(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.results.reader.memory_bytes", lambda: 1 << 16)
    assert "GB of memory" in load_error(damaged)


def test_a_flow_missing_from_the_manifest_is_ignored(damaged: Path, good_run: Path) -> None:
    file = damaged / "flows.parquet"
    table = pl.read_parquet(file)
    unknown = table.with_columns(flow=pl.lit("nobody"), group=pl.lit("nobody"))
    pl.concat([table, unknown]).sort("time_ns", maintain_order=True).write_parquet(file)
    assert summary(load(damaged))["flows"] == summary(load(good_run))["flows"]


@pytest.mark.slow
def test_names_with_control_characters_are_read_and_plotted(damaged: Path, good_run: Path, tmp_path: Path) -> None:
    text = (damaged / "run.json").read_text().replace('"cubic"', '"a\\u0000\\u001b[31m\\u202e</script>"')
    (damaged / "run.json").write_text(text)
    plots = (("plot", "BAD", "-o", f"OUT.{suffix}") for suffix in ("svg", "png", "pdf"))
    for command in (("stats", "BAD"), ("report", "BAD", "-o", "OUT.html"), *plots, ("api", "BAD")):
        assert call(command, damaged, good_run, tmp_path / "out") is None


@pytest.mark.slow(keep="sim-expect")
@pytest.mark.parametrize("key", ["expect", "case", "import", "programs", "experiment", "bottleneck", "commands"])
@pytest.mark.parametrize("engine", ["sim", "kernel", "import", "fetch"])
def test_every_command_accepts_a_missing_optional_key(
    key: str, engine: str, damaged: Path, good_run: Path, tmp_path: Path
) -> None:
    value = document(damaged) | {"engine": engine}
    del value[key]
    (damaged / "run.json").write_text(json.dumps(value))
    for command in (("stats", "BAD"), ("report", "BAD", "-o", "OUT.html"), ("compare", "GOOD", "BAD")):
        assert call(command, damaged, good_run, tmp_path / "out") is None


def test_a_flent_file_of_a_long_run_is_small(tmp_path: Path) -> None:
    bench = synthetic.Bench([synthetic.Flow("bbr", "bbr")], duration_s=1.0, manifest={"duration_s": 1e9})
    run = load(bench.make_folder(tmp_path / "run"))
    assert export_run(run, tmp_path / "out.flent.gz").stat().st_size < 10_000_000


SWEEPS: dict[str, tuple[Change, str]] = {
    "metrics as lists": (lambda d: d.update(metrics=[["a"]]), "`metrics[0]` is a list of 1; a string is expected"),
    "an unknown unit": (
        lambda d: d["axes"][0].update(unit="furlong"),
        "unknown unit 'furlong'; known units: bdp, bytes",
    ),
    "a count as a text": (lambda d: d["counts"].update(ok="8"), '`counts.ok` is "8"; a whole number'),
    "an axis twice": (lambda d: d["axes"].append(d["axes"][0]), '`axes[2].key` is "path.rtt" again'),
}


@pytest.mark.parametrize("what", SWEEPS)
def test_a_damaged_sweep_is_an_error_with_its_key(what: str, good_sweep: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(good_sweep, tmp_path / "bad")
    change, message = SWEEPS[what]
    value = json.loads((damaged / "sweep.json").read_text())
    change(value)
    (damaged / "sweep.json").write_text(json.dumps(value))
    assert message in (call(("stats", "BAD"), damaged, good_sweep, tmp_path / "out") or "")


COORDINATES: dict[str, tuple[str, object, str]] = {
    "null": ("path.rtt_ms", None, "column 'path.rtt_ms' is null or missing in row 3"),
    "far away": ("path.rtt_ms", 1e300, "axis 'path.rtt' has 1e+300; numbers up to 1e+18 are expected"),
    "no quantity": ("path.rtt", "nobody", "not a quantity"),
}


@pytest.mark.parametrize("what", COORDINATES)
def test_a_coordinate_that_can_not_be_plotted_is_an_error(what: str, good_sweep: Path, tmp_path: Path) -> None:
    column, value, message = COORDINATES[what]
    damaged = shutil.copytree(good_sweep, tmp_path / "bad")
    table = pl.read_parquet(damaged / "runs.parquet")
    table.with_columns(changed(table[column], value)).write_parquet(damaged / "runs.parquet")
    command = ("map", "BAD", "--x", "path.rtt", "--value", "utilization", "--panels", "buffer", "-o", "OUT.svg")
    assert message in (call(command, damaged, good_sweep, tmp_path / "out") or "")
