"""Series reduced to the pixels of a figure: no extreme is lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.plots.layers import downsample


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=400), st.integers(2, 50))
def test_no_extreme_is_lost(values: list[float], points: int) -> None:
    kept = downsample(np.arange(len(values)), values, points)
    chosen = np.asarray(values)[kept]
    assert chosen.min() == min(values)
    assert chosen.max() == max(values)
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert (np.diff(kept) > 0).all()
    assert kept.size <= max(points + 2, 3)


@given(st.integers(1, 100))
def test_few_points_are_all_kept(count: int) -> None:
    assert downsample(np.arange(count), np.zeros(count), 100).tolist() == list(range(count))


def test_the_extremes_of_every_bin_are_kept() -> None:
    values = np.zeros(1000)
    values[[137, 512]] = 9, -9
    assert {137, 512} <= set(downsample(np.arange(1000), values, 20).tolist())


def test_samples_at_one_time_cause_no_division_by_zero() -> None:
    assert downsample(np.zeros(50), np.arange(50), 10).tolist() == [0, 49]
