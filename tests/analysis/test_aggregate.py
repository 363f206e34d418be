"""Mean, min and max over runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.summary import over_runs

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


def test_a_metric_is_aggregated_over_the_runs_that_have_it() -> None:
    found = over_runs([{"jain": 0.5, "fct_s": 3.0}, {"jain": 1.0}, {"ping_ms.mean": 7.0}])
    assert found == {
        "jain": {"mean": 0.75, "min": 0.5, "max": 1.0, "runs": 2},
        "fct_s": {"mean": 3.0, "min": 3.0, "max": 3.0, "runs": 1},
        "ping_ms.mean": {"mean": 7.0, "min": 7.0, "max": 7.0, "runs": 1},
    }
    assert over_runs([]) == {}


@given(st.lists(NUMBERS, min_size=1))
def test_the_mean_is_between_min_and_max(values: list[float]) -> None:
    row = over_runs([{"v": value} for value in values])["v"]
    assert row["min"] == min(values)
    assert row["max"] == max(values)
    assert row["min"] <= row["mean"] <= row["max"]
    assert row["mean"] == pytest.approx(sum(values) / len(values), abs=1e-3)
