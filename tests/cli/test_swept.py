"""The command on a finished sweep: `map`, `sql`, `stats`, `report`, `export`."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.sweeps.folder import Sweep
from sweep_fixtures import TWO, ran


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two")


@pytest.mark.parametrize("name", ["map.svg", "map.png", "map.pdf", "map.html"])
def test_a_map_is_written_as_its_suffix_says(two: Sweep, dumbbell: Any, name: str, tmp_path: Path) -> None:
    done = dumbbell(
        "map", two.folder, "--x", "path.rtt", "--y", "buffer", "--value", "groups.bbr.share", "--contour", "0.5",
        "--middle", "0.5", "-o", name,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, f"wrote {name}\n")
    heads = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html>"}
    assert (tmp_path / name).read_bytes().startswith(heads[name[4:]])


def test_a_map_without_a_name_takes_the_sweep_s(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("map", two.folder, "--x", "buffer", "--lines", "path.rtt", "--value", "utilisation")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two-utilisation.svg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--x", "path.rt", "--value", "utilisation"), "unknown axis 'path.rt'; did you mean 'path.rtt'?"),
        (
            ("--x", "path.rtt", "--value", "utilization"),
            "unknown column 'utilization'; did you mean 'utilisation'?",
        ),
        (("--x", "path.rtt", "--value", "utilisation", "--contour", "half"), "--contour: not a number, got 'half'"),
        (("--x", "path.rtt", "--value", "utilisation", "--within", "-1"), "--within: must be positive"),
    ],
)
def test_a_slip_is_answered_in_a_line(two: Sweep, dumbbell: Any, words: tuple[str, ...], said: str) -> None:
    done = dumbbell("map", two.folder, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sql_answers_as_a_table_as_json_and_as_files(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    query = "select path.rtt, count(*) as n, avg(utilisation) as mean from runs group by path.rtt order by n, path.rtt"
    wanted = two.runs.group_by("path.rtt").agg(n=pl.len(), mean=pl.col("utilisation").mean()).sort("path.rtt")
    shown = dumbbell("sql", two.folder, query)
    assert [line.split()[:2] for line in shown.stdout.splitlines()] == [
        ["path.rtt", "n"], *([rtt, str(n)] for rtt, n, _ in wanted.iter_rows()),
    ]  # fmt: skip
    told = json.loads(dumbbell("sql", two.folder, query, "--json").stdout)
    assert told["columns"] == ["path.rtt", "n", "mean"]
    assert [row[:2] for row in told["rows"]] == [list(row[:2]) for row in wanted.iter_rows()]
    assert [row[2] for row in told["rows"]] == pytest.approx(wanted["mean"].to_list())
    for name, read in (("x.csv", pl.read_csv), ("x.parquet", pl.read_parquet), ("x.jsonl", pl.read_ndjson)):
        assert dumbbell("sql", two.folder, query, "-o", name).returncode == 0
        assert read(tmp_path / name)["mean"].to_list() == pytest.approx(wanted["mean"].to_list())
    wrong = dumbbell("sql", two.folder, "select utilization from runs")
    assert wrong.returncode == 2
    assert 'unable to find column "utilization"; the table is runs, its columns: run, point, path.rtt' in wrong.stderr


def test_stats_of_a_sweep(two: Sweep, dumbbell: Any) -> None:
    text = dumbbell("stats", two.folder).stdout
    assert "12 points, 36 runs planned on sim: 36 ok, 0 invalid, 0 failed" in text
    assert "0.5bdp, 1bdp, 4bdp, 16bdp" in text
    assert json.loads(dumbbell("stats", two.folder, "--json").stdout)["counts"]["ok"] == 36


def test_an_export_is_the_table_and_overwrites_nothing(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    assert dumbbell("export", two.folder).stderr == "wrote two.csv\n"
    table = pl.read_csv(tmp_path / "two.csv", schema=two.runs.schema)
    assert table.equals(two.runs)
    again = dumbbell("export", two.folder)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert dumbbell("export", two.folder, "-o", "t.parquet").returncode == 0
    assert pl.read_parquet(tmp_path / "t.parquet").equals(two.runs)
    refused = dumbbell("export", two.folder, "--format", "flent")
    assert refused.returncode == 2
    assert "choose from: csv, jsonl, parquet" in refused.stderr


def test_pages_of_runs_are_refused_where_there_are_none(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("report", two.folder, "--runs", "-o", "page.html")
    assert done.returncode == 2
    assert "--runs: this sweep kept no runs" in done.stderr
    assert 'a sweep with keep = "runs"' in done.stderr
    assert not (tmp_path / "page.html").exists()
    assert "needs a sweep" in dumbbell("report", "nothing", "--runs").stderr


def test_a_report_of_a_sweep_is_one_page(two: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("report", two.folder, "-o", "page.html", "--value", "utilisation", "--value", "groups.bbr.share")
    assert (done.returncode, done.stderr) == (0, "wrote page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert "<h3>utilisation</h3>" in page
    assert "<h3>groups.bbr.share</h3>" in page


def test_a_folder_that_is_no_sweep_is_named(dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("map", tmp_path, "--x", "a", "--value", "b")
    assert done.returncode == 2
    assert "not a finished sweep: it has no sweep.json" in done.stderr
