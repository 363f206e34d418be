"""Classification of pairs of rates: alternating or not."""

import numpy as np
import pytest

from dumbbell._sim import movement
from dumbbell.analysis.native import Cycle, cycle
from synthetic import Bench, Flow, alternating_rate

TIME = np.arange(240) * 0.5
HALVES = 12.0
"""Half periods of 20 s in 120 s."""
WAVE = np.sin(2 * np.pi * TIME / 20)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (40 + 30 * WAVE, 40 - 30 * WAVE, "alternating"),
        (60 + 20 * WAVE, 20 - 15 * WAVE, "opposed"),
        (60 + 20 * WAVE, 20 + 15 * WAVE, "together"),
        (60 + 20 * WAVE, 20 + 15 * np.roll(WAVE, 10), "separate"),
        (60 + 20 * WAVE, np.full(240, 2.0), "separate"),
        (np.full(240, 5.0), np.full(240, 2.0), "separate"),
    ],
)
def test_joint_movement_of_two_rates(first: np.ndarray, second: np.ndarray, kind: str) -> None:
    assert movement(first, second, HALVES)[0] == kind


@pytest.mark.parametrize(("led", "kind"), [(0.08, "opposed"), (0.12, "alternating")])
def test_each_must_lead_in_a_tenth_of_the_bins(led: float, kind: str) -> None:
    ours = np.where(TIME % 20 < 10, 60.0, 41.0)
    low = np.flatnonzero(ours == 41)[: round(led * TIME.size)]
    ours[low] = 39.0
    found, _, second_leads = movement(ours, 80 - ours, HALVES)
    assert second_leads == pytest.approx(led, abs=0.005)
    assert found == kind


@pytest.mark.parametrize(("halves", "kind"), [(3.0, "separate"), (6.0, "separate"), (30.0, "alternating")])
def test_a_moderate_correlation_needs_many_half_periods(halves: float, kind: str) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((2, 240))
    found, correlation, _ = movement(10 + first, 10 - 0.7 * first + 0.7 * second, halves)
    assert correlation == pytest.approx(-0.7, abs=0.05)
    assert found == kind


def test_independent_rates_rarely_seem_to_alternate() -> None:
    rng = np.random.default_rng(20240104)
    kinds = [movement(10 + _red(rng), 10 + _red(rng), HALVES)[0] for _ in range(200)]
    assert kinds.count("alternating") + kinds.count("opposed") <= 12


def _red(rng: np.random.Generator) -> np.ndarray:
    """Red noise with a correlation time of 2.5 s, a quarter of half a period."""
    noise = rng.standard_normal(240)
    for row in range(1, 240):
        noise[row] += 0.8 * noise[row - 1]
    return noise


def test_the_period_of_one_group_is_not_alternation() -> None:
    rng = np.random.default_rng(3)
    steps = 1e5 * rng.standard_normal(601)
    quiet = Flow("cubic", "cubic", rate_bps=lambda t: 3e6 + np.interp(t, np.arange(601) / 10, steps))
    found = cycle(Bench([Flow("bbr", "bbr", rate_bps=alternating_rate(10, 90e6, 60e6)), quiet], 60, 0.1).make())
    assert isinstance(found, Cycle)
    assert (found.kind, found.second_leads) == ("separate", 0)
    assert found.half_period_s == found.period_s / 2
