"""Sweeps from Python on the simulator."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from dumbbell.errors import ExperimentError

SMALL = {
    "duration": "500ms",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 50"}},
    "flows": [{"name": "flow", "cc": "cubic"}],
}


def test_axes_are_crossed_and_keys_of_a_tuple_vary_together(tmp_path: Path) -> None:
    axes: dict[Any, Any] = {
        "path.rtt": ["5ms", "20ms"],
        ("path.bottleneck.rate", "flows.flow.cc"): zip(["5mbit", "10mbit"], ["cubic", "bbr"], strict=True),
    }
    swept = db.sweep(db.experiment(SMALL), axes, seeds="1..2", jobs=1, out=tmp_path / "swept")
    assert swept.runs.height == 8
    assert set(swept.runs["status"]) == {"ok"}
    pairs = set(swept.runs.select("path.bottleneck.rate", "flows.flow.cc").iter_rows())
    assert pairs == {("5mbit", "cubic"), ("10mbit", "bbr")}
    assert db.load_sweep(tmp_path / "swept").runs.equals(swept.runs)


@pytest.mark.slow
def test_a_sweep_of_a_scenario_in_a_temporary_folder() -> None:
    experiment = db.scenario("bufferbloat").case("maxq 100").set(duration="500ms")
    swept = db.sweep(experiment, {"path.rtt": {"from": "5ms", "to": "15ms", "points": 3}}, seeds=1, metrics=["queue.*"])
    assert swept.runs["path.rtt_ms"].to_list() == [5, 10, 15]
    assert swept.runs["queue.packets.mean"].null_count() == 0
    folder = swept.sweep.folder
    assert folder.is_dir()
    del swept
    assert not folder.exists()


def test_a_built_in_sweep_is_selected_by_name() -> None:
    swept = db.sweep("taking-turns", duration="200ms", seeds=1, path__rtt=["3ms"], buffer=["1bdp", "2bdp"])
    assert swept.runs["buffer_bdp"].to_list() == [1, 2]


def test_adaptive_repeats_from_python() -> None:
    until = {"metric": "utilization", "half_width": "5%", "least": 3, "most": 4}
    assert db.sweep(SMALL, {"path.rtt": ["5ms"]}, until=until).runs.height in (3, 4)


def test_errors_are_those_of_the_command() -> None:
    with pytest.raises(ExperimentError, match="unknown key 'rrt'"):
        db.sweep(SMALL, {"path.rrt": ["5ms"]})
    with pytest.raises(ExperimentError, match="number of values doesn't match"):
        db.sweep(SMALL, {("path.rtt", "duration"): [("5ms",)]})
    with pytest.raises(ExperimentError, match="sweep without axes"):
        db.sweep(SMALL)


@pytest.mark.slow
def test_sweep_stays_a_function_after_importing_the_package() -> None:
    text = "import dumbbell.sweeps.folder, dumbbell as db; db.sweep('nothing')"
    process = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "no sweep is called 'nothing'" in process.stderr
