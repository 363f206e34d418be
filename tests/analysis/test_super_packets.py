"""Retransmissions in multiples: detected if losses drop super-packets, never in random counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.rounded_sizes import SIGNIFICANCE, multiple_of


@pytest.mark.parametrize("segments", [5, 15, 44])
def test_losses_of_super_packets_are_detected(segments: int) -> None:
    rng = np.random.default_rng(segments)
    multiples = segments * rng.integers(10, 40, 60)
    found = multiple_of(np.where(rng.random(60) < 0.5, multiples, multiples + rng.integers(1, segments, 60)))
    assert found is not None
    assert found.segments == segments
    assert found.p_value <= SIGNIFICANCE


@given(st.integers(0, 2**32), st.floats(0.5, 500), st.floats(1, 200))
def test_losses_of_single_packets_are_not(seed: int, mean: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    assert multiple_of(rng.poisson(mean, 60)) is None
    assert multiple_of(np.abs(np.round(rng.normal(mean, spread, 60)))) is None


@pytest.mark.parametrize("counts", [[], [0] * 50, [15] * 50, [15, 30], [*[10] * 30, 9, 11, 9, 11, 9, 11]])
def test_counts_with_little_variation_give_no_result(counts: list[int]) -> None:
    assert multiple_of(counts) is None


def test_one_outlier_makes_no_spread() -> None:
    assert multiple_of([142, *[18] * 9, *[9, 11, 13, 15, 14, 12, 17, 10] * 3]) is None
