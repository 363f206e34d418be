"""Metric names in a sweep file are checked against the metrics that its runs will have."""

from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec.built_in import sweeps
from dumbbell.spec.sweep import load_sweep
from dumbbell.sweeps.checks import check_metrics
from sweeps.simulated_rounds import METRIC, sweep_of

AXES = [{"path.rtt": ["5ms", "20ms"]}]


@pytest.mark.parametrize(
    ("keys", "key", "right"),
    [
        ({"metrics": ["groups.flwo.*"]}, "metrics", "there is: groups.flow"),
        (
            {"until": {"metric": "groups.flow.troughput_mbps", "half_width": 1}},
            "until.metric",
            f"did you mean '{METRIC}'",
        ),
        ({"refine": {"metric": "utilisation", "axes": "path.rtt", "most": 9}}, "refine.metric", "utilization"),
        ({"maps": [{"x": "path.rtt", "value": f"{METRIC} / queue.dorps"}]}, "maps.0.value", "queue.drops"),
    ],
)
def test_an_unknown_metric_is_an_error_with_suggestions(keys: dict[str, Any], key: str, right: str) -> None:
    with pytest.raises(ExperimentError, match="unknown metric") as caught:
        check_metrics(sweep_of(axes=AXES, **keys))
    assert caught.value.key == key
    assert right in caught.value.right


def test_formulas_of_metrics_and_axes_are_valid() -> None:
    maps = [{"x": "path.rtt", "value": f"{METRIC} * path.rtt_ms / 2.5 + utilization"}]
    check_metrics(sweep_of(axes=AXES, maps=maps, metrics=["queue.*", "*"]))


def test_metrics_of_flows_that_only_some_points_have_are_valid() -> None:
    axes = [{"flows.flow.count": [1, 2]}]
    check_metrics(sweep_of(axes=axes, metrics=["flows.flow-2.throughput_mbps"]))


@pytest.mark.parametrize("name", sweeps())
def test_every_built_in_sweep_names_existing_metrics(name: str) -> None:
    check_metrics(load_sweep(name))
