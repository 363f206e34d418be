"""A sweep from Python and in a notebook."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from dumbbell.errors import ResultError
from sweep_fixtures import TWO, ran


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(TWO, tmp_path_factory.mktemp("sweeps") / "two").folder


def test_a_sweep_has_notebook_representations(folder: Path) -> None:
    sweep = db.load_sweep(folder)
    assert repr(sweep) == "<Sweep Who wins, BBR or CUBIC?: 12 points, 36 of 36 runs valid>"
    page = sweep._repr_html_()
    assert "36 of 36 runs at 12 points are valid." in page
    assert "<svg" in page
    assert sweep.summary["points"] == 12


def test_a_sweep_draws_queries_and_exports(folder: Path, tmp_path: Path) -> None:
    sweep = db.load_sweep(str(folder))
    plot = sweep.map("groups.bbr.share", x="path.rtt", y="buffer", contour=0.5)
    assert plot.save(tmp_path / "map.svg").read_text().startswith("<svg")
    assert sweep.map("utilization", x="buffer", panels="path.rtt")._repr_svg_().count(">rtt 5ms<") == 1
    assert sweep.sql("select count(*) as n from runs")["n"].to_list() == [36]
    assert pl.read_csv(sweep.export(tmp_path / "runs.csv")).height == 36
    assert "--seed 2" in sweep.command(1)
    assert sweep.report(tmp_path / "page.html", ["utilization"]).stat().st_size > 100_000


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"contours": 1}, "map: contours: "),
        ({"within": -1}, "map: within: "),
        ({"panels": "path"}, "unknown axis"),
    ],
)
def test_an_invalid_map_is_an_error_with_the_valid_names(folder: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ResultError) as error:
        db.load_sweep(folder).map("utilization", x="path.rtt", y="buffer", **options)
    assert problem in str(error.value)
    assert any(hint in str(error.value) for hint in ("a number above 0", "there is: ", "choose from: "))


def test_a_sweep_without_its_file_has_no_commands(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "sweep.toml").unlink()
    assert db.load_sweep(copy).command(1) == ""
