"""`dumbbell stats` of several runs: one column for each."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from synthetic import Bench, Flow


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """The same experiment on two engines: 10 Mbit/s here, 11 there."""
    made = []
    for engine, rate in (("sim", 10e6), ("kernel", 11e6)):
        bench = Bench([Flow("cubic", "cubic", rate_bps=rate)], manifest={"engine": engine})
        made.append(bench.make_folder(tmp_path / engine))
    return made[0], made[1]


def test_a_row_has_each_run_s_value_and_the_difference(dumbbell: Dumbbell, two: tuple[Path, Path]) -> None:
    lines = dumbbell("stats", *two).stdout.splitlines()
    assert lines[0].split() == ["metric", "sim", "kernel", "difference"]
    assert next(line for line in lines if line.startswith("groups.cubic.throughput_mbps")).split()[-3:] == [
        "10.00",
        "11.00",
        "+10.0%",
    ]


def test_runs_of_one_engine_and_seed_have_separate_columns(dumbbell: Dumbbell, two: tuple[Path, Path]) -> None:
    assert dumbbell("stats", two[0], two[0]).stdout.splitlines()[0].split() == ["metric", "sim", "sim", "difference"]


def test_several_runs_as_json(dumbbell: Dumbbell, two: tuple[Path, Path]) -> None:
    numbers = json.loads(dumbbell("stats", *two, "--json").stdout)
    assert [run["engine"] for run in numbers["runs"]] == ["sim", "kernel"]


def test_an_invalid_run_is_marked(dumbbell: Dumbbell, two: tuple[Path, Path], tmp_path: Path) -> None:
    manifest = {"engine": "host", "valid": False, "invalid": ["it rained"]}
    bad = Bench([Flow("cubic", "cubic")], manifest=manifest).make_folder(tmp_path / "bad")
    assert "INVALID" in dumbbell("stats", two[0], bad).stdout
