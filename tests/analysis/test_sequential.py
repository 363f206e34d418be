"""When is a difference known? Exact at every look, whatever the times' distribution."""

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
LOOKS = 80
RUNS = 1500
times = st.floats(1e-3, 1e3)


def missed(draws: np.ndarray, median: float) -> float:
    """The share of runs (rows) in which some look's interval leaves out the median."""
    counts = np.arange(1, draws.shape[1] + 1)
    out = np.array([left_out(int(count), ALPHA, looked=True) for count in counts])
    below, above = np.cumsum(draws < median, axis=1), np.cumsum(draws > median, axis=1)
    return float(((counts - above <= out) | (counts - below <= out)).any(axis=1).mean())


@pytest.mark.parametrize(
    ("name", "median"),
    [("normal", 0.0), ("exponential", math.log(2)), ("timeouts", 0.0), ("cauchy", 0.0), ("dice", 1.0)],
)
def test_looking_after_every_pair_misses_the_median_in_at_most_5_of_100_runs(name: str, median: float) -> None:
    dice = np.random.default_rng(7)
    size = (RUNS, LOOKS)
    # Every fifth download waits for a timeout: what no normal law describes. Its median is that of the others' 80 %.
    noise, waits = dice.normal(size=size), dice.random(size) < 0.2
    draws = {
        "normal": noise,
        "exponential": dice.exponential(size=size),
        "timeouts": np.where(waits, 100.0, np.where(dice.random(size) < 0.625, -np.abs(noise), np.abs(noise))),
        "cauchy": dice.standard_cauchy(size=size),
        "dice": dice.integers(0, 3, size=size).astype(float),
    }[name]
    # Three standard errors of a share of 5 %.
    assert missed(draws, median) <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def test_an_ordinary_interval_that_is_looked_at_misses_far_more_often() -> None:
    """Why there are two: the same looks with the interval that is right once."""
    draws = np.random.default_rng(7).normal(size=(400, LOOKS))
    out = [left_out(count, ALPHA, looked=False) for count in range(1, LOOKS + 1)]
    counts = np.arange(1, LOOKS + 1)
    below = np.cumsum(draws < 0, axis=1)
    often = ((below <= out) | (counts - below <= out)).any(axis=1).mean()
    assert often > 0.15


@pytest.mark.parametrize("count", range(2, 12))
def test_the_mixture_is_a_martingale_so_its_error_is_bounded_exactly(count: int) -> None:
    """All 2ⁿ sequences of signs at once: the share that is ever left out is at most α."""
    ever = 0
    for signs in itertools.product((0, 1), repeat=count):
        sums = list(itertools.accumulate(signs))
        ever += any(min(sums[n - 1], n - sums[n - 1]) <= left_out(n, ALPHA, looked=True) for n in range(1, count + 1))
    assert ever / 2**count <= ALPHA


@given(count=st.integers(1, 400))
def test_the_interval_of_one_look_is_the_sign_test_s(count: int) -> None:
    out = left_out(count, ALPHA, looked=False)
    assert out < 0 or 2 * binom.cdf(out, count, 0.5) <= ALPHA
    assert 2 * binom.cdf(out + 1, count, 0.5) > ALPHA


@given(count=st.integers(1, 400))
def test_looking_costs_pairs_and_never_gains_any(count: int) -> None:
    assert left_out(count, ALPHA, looked=True) <= left_out(count, ALPHA, looked=False)


def test_six_pairs_that_agree_are_enough_and_five_are_not() -> None:
    assert answer(ratio_of_times([1.0] * 5, [3.0] * 5, looked=True)) is Answer.OPEN
    assert answer(ratio_of_times([1.0] * 6, [3.0] * 6, looked=True)) is Answer.FIRST
    assert answer(ratio_of_times([3.0] * 6, [1.0] * 6, looked=True)) is Answer.SECOND


@given(st.lists(st.tuples(times, times), min_size=1, max_size=40), st.booleans())
def test_the_interval_holds_its_median_and_turns_over_with_the_sides(
    pairs: list[tuple[float, float]], looked: bool
) -> None:
    first, second = zip(*pairs, strict=True)
    one, other = ratio_of_times(first, second, looked=looked), ratio_of_times(second, first, looked=looked)
    assert one.low <= one.median <= one.high
    if math.isfinite(one.high):
        assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))
    sides = {Answer.FIRST: Answer.SECOND, Answer.SECOND: Answer.FIRST}
    assert answer(other, 0.0) is sides.get(answer(one, 0.0), answer(one, 0.0))


def test_a_difference_that_matters_to_nobody_is_none() -> None:
    """In virtual time downloads may differ by microseconds, always the same way."""
    assert answer(ratio_of_times([0.5103] * 9, [0.5102] * 9, looked=True)) is Answer.ALIKE


def test_how_many_more_pairs_is_about_what_it_then_takes() -> None:
    """Of many runs that were told a number, half should have enough with it, give or take."""
    dice = random.Random(3)

    def draw() -> float:
        return math.exp(dice.gauss(-0.1, 0.3))

    asked: list[int] = []
    for _ in range(40):
        needed = pairs_needed(typical([draw() for _ in range(30)], looked=True))
        assert needed is None or needed >= 30
        asked += [needed] if needed else []
    took = []
    for _ in range(40):
        values: list[float] = []
        while len(values) < 20 or answer(typical(values, looked=True)) is Answer.OPEN:
            values.append(draw())
        took.append(len(values))
    assert 1 / 3 < np.median(asked) / np.median(took) < 3


def test_nothing_tells_how_many_when_it_would_be_too_many() -> None:
    values = [0.5, 2.0] * 10
    assert pairs_needed(typical(values, looked=True), within=1e-9) is None


@given(st.lists(times, min_size=1, max_size=20), st.lists(times, min_size=1, max_size=20))
def test_cliff_s_delta_is_between_its_ends_and_turns_over(first: list[float], second: list[float]) -> None:
    assert -1 <= cliffs_delta(first, second) <= 1
    assert cliffs_delta(first, second) == -cliffs_delta(second, first)


def test_cliff_s_delta_is_1_where_all_of_the_first_are_faster() -> None:
    assert cliffs_delta([1, 2], [3, 4]) == 1


def test_an_interval_reaches_as_far_as_its_further_end() -> None:
    assert Estimate(1.0, 0.8, 1.1, (1.0,), 0.95, looked=True).within == pytest.approx(0.25)
    assert Estimate(1.0, 0.0, math.inf, (1.0,), 0.95, looked=True).within == math.inf
