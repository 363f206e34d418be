"""Significance of differences: exact at every time, for any distribution."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dumbbell.analysis.sequential import (
    Answer,
    Estimate,
    answer,
    cliffs_delta,
    left_out,
    pairs_needed,
    ratio_of_times,
    typical,
)

ALPHA = 0.05
STEPS = 80
RUNS = 1500
times = st.floats(1e-3, 1e3)


def missed(draws: np.ndarray, median: float) -> float:
    """The share of runs (rows) in which any interval misses the median."""
    counts = np.arange(1, draws.shape[1] + 1)
    out = np.array([left_out(int(count), ALPHA, looked=True) for count in counts])
    below, above = np.cumsum(draws < median, axis=1), np.cumsum(draws > median, axis=1)
    return float(((counts - above <= out) | (counts - below <= out)).any(axis=1).mean())


@pytest.mark.parametrize(
    ("name", "median"),
    [("normal", 0.0), ("exponential", math.log(2)), ("timeouts", 0.0), ("cauchy", 0.0), ("integers", 1.0)],
)
def test_testing_after_every_pair_misses_the_median_in_at_most_5_of_100_runs(name: str, median: float) -> None:
    rng = np.random.default_rng(7)
    size = (RUNS, STEPS)
    # Every fifth download has a timeout: far from a normal distribution. Its median is that of the other 80 %.
    noise, waits = rng.normal(size=size), rng.random(size) < 0.2
    draws = {
        "normal": noise,
        "exponential": rng.exponential(size=size),
        "timeouts": np.where(waits, 100.0, np.where(rng.random(size) < 0.625, -np.abs(noise), np.abs(noise))),
        "cauchy": rng.standard_cauchy(size=size),
        "integers": rng.integers(0, 3, size=size).astype(float),
    }[name]
    # Three standard errors of a share of 5 %.
    assert missed(draws, median) <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def test_an_ordinary_interval_tested_repeatedly_misses_far_more_often() -> None:
    """The reason for two methods: the same sequence with an interval for a single test."""
    draws = np.random.default_rng(7).normal(size=(400, STEPS))
    out = [left_out(count, ALPHA, looked=False) for count in range(1, STEPS + 1)]
    counts = np.arange(1, STEPS + 1)
    below = np.cumsum(draws < 0, axis=1)
    often = ((below <= out) | (counts - below <= out)).any(axis=1).mean()
    assert often > 0.15


@pytest.mark.parametrize("count", range(2, 12))
def test_the_mixture_is_a_martingale_so_its_error_is_bounded_exactly(count: int) -> None:
    """All 2ⁿ sequences of signs: the share that is ever missed is at most α."""
    ever = 0
    for signs in itertools.product((0, 1), repeat=count):
        sums = list(itertools.accumulate(signs))
        ever += any(min(sums[n - 1], n - sums[n - 1]) <= left_out(n, ALPHA, looked=True) for n in range(1, count + 1))
    assert ever / 2**count <= ALPHA


@given(count=st.integers(1, 400))
def test_the_interval_of_a_single_test_is_the_sign_test_s(count: int) -> None:
    out = left_out(count, ALPHA, looked=False)
    assert out < 0 or 2 * binom.cdf(out, count, 0.5) <= ALPHA
    assert 2 * binom.cdf(out + 1, count, 0.5) > ALPHA


@given(count=st.integers(1, 400))
def test_sequential_testing_never_needs_fewer_pairs(count: int) -> None:
    assert left_out(count, ALPHA, looked=True) <= left_out(count, ALPHA, looked=False)


def test_six_pairs_that_agree_are_enough_and_five_are_not() -> None:
    assert answer(ratio_of_times([1.0] * 5, [3.0] * 5, looked=True)) is Answer.OPEN
    assert answer(ratio_of_times([1.0] * 6, [3.0] * 6, looked=True)) is Answer.FIRST
    assert answer(ratio_of_times([3.0] * 6, [1.0] * 6, looked=True)) is Answer.SECOND


@given(st.lists(st.tuples(times, times), min_size=1, max_size=40), st.booleans())
def test_the_interval_contains_the_median_and_inverts_with_the_arms(
    pairs: list[tuple[float, float]], looked: bool
) -> None:
    first, second = zip(*pairs, strict=True)
    one, other = ratio_of_times(first, second, looked=looked), ratio_of_times(second, first, looked=looked)
    assert one.low <= one.median <= one.high
    if math.isfinite(one.high):
        assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))
    sides = {Answer.FIRST: Answer.SECOND, Answer.SECOND: Answer.FIRST}
    assert answer(other, 0.0) is sides.get(answer(one, 0.0), answer(one, 0.0))


def test_a_negligible_difference_is_alike() -> None:
    """In virtual time downloads may differ by microseconds, always in the same direction."""
    assert answer(ratio_of_times([0.5103] * 9, [0.5102] * 9, looked=True)) is Answer.ALIKE


def test_the_estimated_number_of_pairs_is_about_right() -> None:
    """With the estimated number, about half of many runs should reach a conclusion."""
    rng = random.Random(3)

    def draw() -> float:
        return math.exp(rng.gauss(-0.1, 0.3))

    requested: list[int] = []
    for _ in range(40):
        needed = pairs_needed(typical([draw() for _ in range(30)], looked=True))
        assert needed is None or needed >= 30
        requested += [needed] if needed else []
    numbers = []
    for _ in range(40):
        values: list[float] = []
        while len(values) < 20 or answer(typical(values, looked=True)) is Answer.OPEN:
            values.append(draw())
        numbers.append(len(values))
    assert 1 / 3 < np.median(requested) / np.median(numbers) < 3


def test_no_estimate_if_too_many_pairs_are_needed() -> None:
    values = [0.5, 2.0] * 10
    assert pairs_needed(typical(values, looked=True), within=1e-9) is None


@given(st.lists(times, min_size=1, max_size=20), st.lists(times, min_size=1, max_size=20))
def test_cliff_s_delta_is_bounded_and_antisymmetric(first: list[float], second: list[float]) -> None:
    assert -1 <= cliffs_delta(first, second) <= 1
    assert cliffs_delta(first, second) == -cliffs_delta(second, first)


def test_cliff_s_delta_is_1_if_all_of_the_first_are_faster() -> None:
    assert cliffs_delta([1, 2], [3, 4]) == 1


def test_within_is_the_distance_to_the_further_end() -> None:
    assert Estimate(1.0, 0.8, 1.1, (1.0,), 0.95, looked=True).within == pytest.approx(0.25)
    assert Estimate(1.0, 0.0, math.inf, (1.0,), 0.95, looked=True).within == math.inf
