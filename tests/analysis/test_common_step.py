"""Common step of rounded windows: the actual one, or none; never another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.iperf3_log import printed
from dumbbell.analysis.rounded_sizes import common_step, half_digit_bytes
from dumbbell.importers.quantity import iperf_bytes

SEGMENTS = st.integers(536, 8948)


def read(size: float) -> int:
    """A size as printed by iperf3 and read by the importer."""
    number, unit = printed(size).split()
    return iperf_bytes(number, unit.removesuffix("Bytes"))


@given(st.floats(0.1, 2**40))
def test_the_half_digit_holds_what_was_printed(size: float) -> None:
    shown = read(size)
    assert abs(shown - size) <= half_digit_bytes([shown])[0] * 1.001 + 0.5


@given(SEGMENTS, st.sets(st.integers(2, 80), min_size=1, max_size=60), st.lists(st.integers(500, 5000), max_size=9))
def test_a_detected_step_is_the_segment_or_a_rare_multiple(mss: int, counts: set[int], large: list[int]) -> None:
    sizes = [read(count * mss) for count in (*counts, *large)]
    step = common_step(sizes, half_digit_bytes(sizes))
    common = int(np.gcd.reduce(np.array([*counts, *large])))
    if step is not None:
        assert any(step.low - 0.5 <= mss * multiple <= step.high + 0.5 for multiple in range(common, 61, common))
        assert step.sizes > 10


@given(SEGMENTS, st.integers(0, 2**32))
def test_fifty_random_windows_give_their_segment_size(mss: int, seed: int) -> None:
    """50 draws from 2 to 60 segments."""
    sizes = [read(count * mss) for count in np.random.default_rng(seed).integers(2, 60, 50)]
    step = common_step(sizes, half_digit_bytes(sizes))
    assert step is not None
    assert step.low - 0.5 <= mss <= step.high + 0.5
    assert step.high - step.low < 0.01 * mss


@given(st.lists(st.integers(3000, 300_000), min_size=1, max_size=80))
def test_windows_that_are_no_multiples_have_no_step(sizes: list[int]) -> None:
    shown = [read(size) for size in sizes]
    step = common_step(shown, half_digit_bytes(shown))
    # Hypothesis also draws lists of multiples; a detected step must then fit every size in the list.
    if step is not None:
        halves = half_digit_bytes(shown)
        middle = step.middle
        off = [abs(each - round(each / middle) * middle) for each in shown]
        assert all(
            far <= half + (step.high - step.low) * each / middle
            for far, half, each in zip(off, halves, shown, strict=True)
        )


def test_random_windows_have_no_step() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        sizes = [read(size) for size in rng.integers(3000, 300_000, rng.integers(1, 80))]
        assert common_step(sizes, half_digit_bytes(sizes)) is None


@pytest.mark.parametrize("sizes", [[], [14_480], [14_480] * 50, [1e6 * n for n in range(1, 90)], [0.0, 0.0]])
def test_few_equal_or_coarse_windows_have_no_step(sizes: list[float]) -> None:
    shown = [read(size) for size in sizes]
    assert common_step(shown, half_digit_bytes(shown)) is None


def test_exact_windows_have_an_exact_step() -> None:
    sizes = 1448 * np.arange(2, 20)
    step = common_step(sizes, np.zeros(18))
    assert step is not None
    assert round(step.middle) == 1448
    assert step.high - step.low < 0.1
