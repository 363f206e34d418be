"""`[validate]`: which points run on the second engine, how many they are, and errors."""

from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec.sweep import read_sweep

FILE = Path("validate.toml")


def document(**changes: Any) -> dict[str, Any]:
    valid: dict[str, Any] = {
        "experiment": {
            "duration": "2s",
            "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit"}},
            "flows": [{"name": "flow", "cc": "cubic"}],
        },
        "axes": [{"flows.flow.cc": ["cubic", "bbr"]}, {"path.rtt": ["10ms", "20ms", "40ms"]}],
        "validate": {"engine": "kernel", "at": {"flows.flow.cc": ["bbr"], "path.rtt": ["10ms", "40ms"]}},
    }
    return valid | changes


def test_only_the_selected_points_run_on_the_other_engine() -> None:
    sweep = read_sweep(document(), FILE)
    points = sweep.points()
    validated = [point.values for point in points if point.values["engine"] == "kernel"]
    assert [(each["flows.flow.cc"], each["path.rtt"]) for each in validated] == [("bbr", "10ms"), ("bbr", "40ms")]
    assert [point.number for point in points] == list(range(8))
    assert sweep.counted.least == len(points)


def test_without_a_selection_every_point_is_validated() -> None:
    sweep = read_sweep(document(validate={"engine": "kernel"}), FILE)
    assert sweep.counted.least == len(sweep.points()) == 12


def test_equal_numbers_select_a_point() -> None:
    validate = {"engine": "kernel", "at": {"flows.flow.count": [2.0]}}
    sweep = read_sweep(document(axes=[{"flows.flow.count": [1, 2]}], validate=validate), FILE)
    assert [each.values["flows.flow.count"] for each in sweep.points() if each.values["engine"] == "kernel"] == [2]


def test_axes_that_vary_together_are_selected_by_one_of_them() -> None:
    together = {"path.bottleneck.rate": ["10mbit", "20mbit"], "duration": ["2s", "1s"]}
    validate = {"engine": "kernel", "at": {"duration": ["1s"]}}
    sweep = read_sweep(document(axes=[together], validate=validate), FILE)
    assert sweep.counted.least == len(sweep.points()) == 3
    assert sweep.points()[-1].values == {"path.bottleneck.rate": "20mbit", "duration": "1s", "engine": "kernel"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"validate": {"engine": "kernel", "at": {"path.rt": ["10ms"]}}}, "validate.at.path.rt: no axis of this key"),
        ({"validate": {"engine": "kernel", "at": {"path.rtt": ["30ms"]}}}, 'there is: "10ms", "20ms", "40ms"'),
        ({"validate": {"engine": "sim"}}, "validate.engine: a point is listed twice"),
        (
            {"refine": {"metric": "utilization", "axes": ["path.rtt"], "most": 20}},
            "either refine or validate",
        ),
    ],
)
def test_a_mistake_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message.replace(".", r"\.")):
        read_sweep(document(**changes), FILE)


def test_a_misspelt_table_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ExperimentError, match=r"unknown key 'validat'.*validate"):
        read_sweep(document(validat={"engine": "kernel"}), FILE)
