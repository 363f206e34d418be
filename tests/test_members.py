"""A folder of cases or seeds stands for its results, in every command that takes results."""

import json
from pathlib import Path

import pytest

import dumbbell as db
from conftest import Dumbbell
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.results.members import all_members, members
from dumbbell.spec import find, load
from synthetic import Bench, Flow


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    for seed in (1, 2, 10):
        bench = Bench([Flow("cubic", "cubic", rate_bps=seed * 1e6)], manifest={"seed": seed})
        bench.make_folder(tmp_path / "runs" / f"seed{seed}")
    return tmp_path / "runs"


def test_members_are_in_the_order_of_their_numbers(seeds: Path) -> None:
    assert [each.name for each in members(seeds)] == ["seed1", "seed2", "seed10"]
    assert members(seeds / "seed2") == [seeds / "seed2"]
    assert [each.name for each in all_members([seeds / "seed10", seeds])] == ["seed10", "seed1", "seed2", "seed10"]


def test_stats_plot_and_report_take_the_folder(dumbbell: Dumbbell, seeds: Path, tmp_path: Path) -> None:
    done = dumbbell("stats", seeds, "--json")
    assert [run["seed"] for run in json.loads(done.stdout)["runs"]] == [1, 2, 10]
    shown = dumbbell("stats", seeds).stdout
    assert "3 runs on sim" in shown
    assert "utilization" in shown
    assert dumbbell("plot", seeds, "--figure", "throughput", "-o", tmp_path / "rate.svg").returncode == 0
    refused = dumbbell("plot", seeds, "-o", tmp_path / "panels.svg")
    assert refused.returncode == 2
    assert f"name one, such as {seeds / 'seed1'}" in refused.stderr
    assert dumbbell("report", seeds, "-o", tmp_path / "page.html").returncode == 0


def test_load_names_the_members(seeds: Path) -> None:
    with pytest.raises(ResultError, match=r"it holds 3 results, load one of .*/seed1, .*/seed2, .*/seed10"):
        db.load(seeds)
    with pytest.raises(ResultError, match=r"it has no run\.json; name one of .*/runs"):
        members(seeds.parent)


@pytest.mark.parametrize("name", ["loss-rtt", "scenarios/sweeps/loss-rtt.toml"])
def test_a_sweep_is_named_as_one(name: str) -> None:
    path = str(Path(__file__).parents[1] / name) if "/" in name else name
    with pytest.raises(ExperimentError, match=f"sweep.*; dumbbell sweep {path}"):
        load(find(path))
