"""The command on a finished sweep: `map`, `sql`, `stats`, `report`, `export`."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.sweeps.folder import Sweep
from sweep_fixtures import TWO, ran


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two")


@pytest.mark.slow(keep="map.svg")
@pytest.mark.parametrize("name", ["map.svg", "map.png", "map.pdf", "map.html"])
def test_a_map_s_suffix_selects_its_format(sweep: Sweep, dumbbell: Any, name: str, tmp_path: Path) -> None:
    done = dumbbell(
        "map", sweep.folder, "--x", "path.rtt", "--y", "buffer", "--metric", "groups.bbr.share", "--contour", "0.5",
        "--middle", "0.5", "-o", name,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, f"wrote {name}\n")
    heads = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html>"}
    assert (tmp_path / name).read_bytes().startswith(heads[name[4:]])


@pytest.mark.slow
def test_a_map_without_a_name_is_named_after_the_sweep(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("map", sweep.folder, "--x", "buffer", "--lines", "path.rtt", "--metric", "utilization")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two-utilization.svg").exists()


@pytest.mark.slow(keep="arguments3---within: must be positive")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--x", "path.rt", "--metric", "utilization"), "unknown axis 'path.rt'; did you mean 'path.rtt'?"),
        (
            ("--x", "path.rtt", "--metric", "utilisation"),
            "unknown column 'utilisation'; did you mean 'utilization'?",
        ),
        (("--x", "path.rtt", "--metric", "utilization", "--contour", "half"), "--contour: not a number, got 'half'"),
        (("--x", "path.rtt", "--metric", "utilization", "--within", "-1"), "--within: must be positive"),
    ],
)
def test_an_invalid_option_is_an_error_of_one_line(
    sweep: Sweep, dumbbell: Any, arguments: tuple[str, ...], message: str
) -> None:
    done = dumbbell("map", sweep.folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_sql_gives_a_table_json_and_files(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    query = "select path.rtt, count(*) as n, avg(utilization) as mean from runs group by path.rtt order by n, path.rtt"
    expected = sweep.runs.group_by("path.rtt").agg(n=pl.len(), mean=pl.col("utilization").mean()).sort("path.rtt")
    shown = dumbbell("sql", sweep.folder, query)
    assert [line.split()[:2] for line in shown.stdout.splitlines()] == [
        ["path.rtt", "n"], *([rtt, str(n)] for rtt, n, _ in expected.iter_rows()),
    ]  # fmt: skip
    answer = json.loads(dumbbell("sql", sweep.folder, query, "--json").stdout)
    assert answer["columns"] == ["path.rtt", "n", "mean"]
    assert [row[:2] for row in answer["rows"]] == [list(row[:2]) for row in expected.iter_rows()]
    assert [row[2] for row in answer["rows"]] == pytest.approx(expected["mean"].to_list())
    for name, read in (("x.csv", pl.read_csv), ("x.parquet", pl.read_parquet), ("x.jsonl", pl.read_ndjson)):
        assert dumbbell("sql", sweep.folder, query, "-o", name).returncode == 0
        assert read(tmp_path / name)["mean"].to_list() == pytest.approx(expected["mean"].to_list())
    wrong = dumbbell("sql", sweep.folder, "select utilisation from runs")
    assert wrong.returncode == 2
    assert 'unable to find column "utilisation"; the table is runs, its columns: run, point, path.rtt' in wrong.stderr


def test_stats_of_a_sweep(sweep: Sweep, dumbbell: Any) -> None:
    text = dumbbell("stats", sweep.folder).stdout
    assert "12 points, 36 runs planned on sim: 36 ok, 0 invalid, 0 failed" in text
    assert "0.5bdp, 1bdp, 4bdp, 16bdp" in text
    assert json.loads(dumbbell("stats", sweep.folder, "--json").stdout)["counts"]["ok"] == 36


@pytest.mark.slow
def test_an_export_is_the_table_and_overwrites_nothing(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    assert dumbbell("export", sweep.folder).stderr == "wrote two.csv\n"
    table = pl.read_csv(tmp_path / "two.csv", schema=sweep.runs.schema)
    assert table.equals(sweep.runs)
    second = dumbbell("export", sweep.folder)
    assert second.returncode == 2
    assert "exists already" in second.stderr
    assert dumbbell("export", sweep.folder, "-o", "t.parquet").returncode == 0
    assert pl.read_parquet(tmp_path / "t.parquet").equals(sweep.runs)
    refused = dumbbell("export", sweep.folder, "--format", "flent")
    assert refused.returncode == 2
    assert "choose from: csv, jsonl, parquet" in refused.stderr


def test_pages_of_runs_are_refused_if_the_sweep_kept_none(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("report", sweep.folder, "--runs", "-o", "page.html")
    assert done.returncode == 2
    assert "--runs: this sweep kept no runs" in done.stderr
    assert 'a sweep with keep = "runs"' in done.stderr
    assert not (tmp_path / "page.html").exists()
    assert "needs a sweep" in dumbbell("report", "nothing", "--runs").stderr


@pytest.mark.slow
def test_a_report_of_a_sweep_is_one_page(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell(
        "report", sweep.folder, "-o", "page.html", "--metric", "utilization", "--metric", "groups.bbr.share"
    )
    assert (done.returncode, done.stderr) == (0, "wrote page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert "<h3>utilization</h3>" in page
    assert "<h3>groups.bbr.share</h3>" in page


def test_a_folder_that_is_no_sweep_is_an_error(dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("map", tmp_path, "--x", "a", "--metric", "b")
    assert done.returncode == 2
    assert "not a finished sweep: it has no sweep.json" in done.stderr


def test_plot_draws_a_sweep_s_map_and_export_queries_it(sweep: Sweep, dumbbell: Any, tmp_path: Path) -> None:
    done = dumbbell("plot", sweep.folder, "--metric", "groups.bbr.share", "--y", "buffer", "-o", "map.svg")
    assert (done.returncode, done.stderr) == (0, "wrote map.svg\n")
    old = dumbbell(
        "map", sweep.folder, "--value", "groups.bbr.share", "--x", "path.rtt", "--y", "buffer", "-o", "old.svg"
    )
    assert "--value is now --metric" in old.stderr
    assert (tmp_path / "map.svg").read_bytes() == (tmp_path / "old.svg").read_bytes()
    query = "select count(*) as runs from runs"
    found = json.loads(dumbbell("export", sweep.folder, "--sql", query, "--json").stdout)
    assert found["rows"] == json.loads(dumbbell("sql", sweep.folder, query, "--json").stdout)["rows"]
    assert dumbbell("export", sweep.folder, "--sql", query, "-o", "count.csv").returncode == 0
    assert (tmp_path / "count.csv").read_text().startswith('"runs"')


def test_options_of_sweeps_need_one(dumbbell: Any, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    for command in (["plot", "nothing", "--x", "a", "-o", "x.svg"], ["export", "nothing", "--sql", "select 1"]):
        assert "name one sweep folder" in dumbbell(*command).stderr
