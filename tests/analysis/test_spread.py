"""Mean, median, 95th percentile and maximum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.native import spread

NUMBERS = st.floats(-1e12, 1e12) | st.integers(-5, 5).map(float)


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_percentiles_are_those_of_numpy_to_the_last_bit(samples: list[float]) -> None:
    found = spread(samples)
    assert [found["p50"], found["p95"]] == np.percentile(samples, [50, 95]).tolist()
    assert found["mean"] == pytest.approx(np.mean(samples), rel=1e-12, abs=1e-12)
    assert found["max"] == max(samples)


def test_the_samples_stay_as_they_were() -> None:
    samples = [3.0, 1.0, 2.0]
    spread(samples)
    assert samples == [3.0, 1.0, 2.0]


def test_no_samples_give_no_values() -> None:
    assert set(spread([]).values()) == {None}


def test_one_nan_makes_all_values_nan() -> None:
    assert all(number is not None and math.isnan(number) for number in spread([1.0, math.nan, 2.0]).values())
