"""Detection of alternation and its false alarms, over 200 random cases of each kind.

The bounds of false alarms are those of 2.5 % with probability 0.999 (12 of 200), those of detections are slightly below
the values measured when this was written (in `crates/metrics/src/cycle.rs`).
"""

from collections.abc import Callable

import numpy as np
import pytest

from dumbbell._sim import follows
from dumbbell.analysis.native import cycle, period
from synthetic import Bench, Flow, alternating, alternating_rate

STEP_S = 0.5
CASES = 200
COUNT = 240
"""Two minutes, as long as the scenario `cyclic`."""

Rng = np.random.Generator
Signal = Callable[[Rng], np.ndarray]


def red(rng: Rng, count: int, lag1: float) -> np.ndarray:
    noise = rng.standard_normal(count)
    noise[0] /= np.sqrt(1 - lag1**2)
    for row in range(1, count):
        noise[row] += lag1 * noise[row - 1]
    return noise


def ticking(rng: Rng, jitter: float, left_out: float, noise: float = 0.3) -> np.ndarray:
    """Alternation by a clock of 10 s (a period of 20 s): ticks have jitter, and some are missing."""
    lengths = 20 * np.maximum(1 + jitter * rng.standard_normal(40), 0.2)
    ticks = rng.uniform(0, 20) + np.cumsum(lengths)
    swaps = ticks[rng.random(40) >= left_out]
    sign = np.where(np.searchsorted(swaps, np.arange(COUNT)) % 2, -1.0, 1.0)
    return np.asarray(sign + noise * rng.standard_normal(COUNT))


def uneven(rng: Rng, share: float) -> np.ndarray:
    """Every 20 s one group has the link for this share of the time."""
    phase = (np.arange(COUNT) / 40 + rng.random()) % 1
    return np.where(phase < share, 1.0, -1.0) + 0.3 * rng.standard_normal(COUNT)


def sine(rng: Rng, height: float, lag1: float) -> np.ndarray:
    """A sine of 20 s in red noise of standard deviation 1."""
    noise = red(rng, COUNT, lag1) * np.sqrt(1 - lag1**2)
    return np.asarray(height * np.sin(2 * np.pi * (np.arange(COUNT) / 40 + rng.random())) + noise)


def telegraph(rng: Rng, rate: float) -> np.ndarray:
    """A telegraph signal: changes at random times with this rate per bin."""
    return np.where(np.cumsum(rng.random(COUNT) < rate) % 2, -1.0, 1.0) + 0.3 * rng.standard_normal(COUNT)


def one_step(rng: Rng) -> np.ndarray:
    return (np.arange(COUNT) > rng.integers(20, 220)) + 0.3 * rng.standard_normal(COUNT)


def damped(rng: Rng) -> np.ndarray:
    """An AR(2) process with two real poles: red noise with another spectrum than the null hypothesis assumes."""
    first = red(rng, COUNT, 0.8)
    for row in range(1, COUNT):
        first[row] += 0.5 * first[row - 1]
    return first


NOTHING: dict[str, tuple[Signal, int]] = {
    "white noise": (lambda rng: rng.standard_normal(COUNT), 12),
    "red noise 0.5": (lambda rng: red(rng, COUNT, 0.5), 12),
    "red noise 0.9": (lambda rng: red(rng, COUNT, 0.9), 12),
    "red noise 0.97": (lambda rng: red(rng, COUNT, 0.97), 12),
    "a random walk": (lambda rng: np.cumsum(rng.standard_normal(COUNT)), 12),
    "an AR(2) process": (damped, 24),
    "telegraph, every 5 s": (lambda rng: telegraph(rng, 0.1), 24),
    "telegraph, every 10 s": (lambda rng: telegraph(rng, 0.05), 24),
    "one step": (one_step, 2),
}
"""Signals without a period, and the maximum number of detections in 200."""

ALTERNATION: dict[str, tuple[Signal, float, float]] = {
    "exact": (lambda rng: ticking(rng, 0, 0), 1.0, 1.0),
    "ticks 10 % late or early": (lambda rng: ticking(rng, 0.1, 0), 0.99, 0.97),
    "ticks 20 % late or early": (lambda rng: ticking(rng, 0.2, 0), 0.95, 0.7),
    "ticks 10 % late or early, 1 in 10 left out": (lambda rng: ticking(rng, 0.1, 0.1), 0.8, 0.68),
    "ticks 10 % late or early, 1 in 5 left out": (lambda rng: ticking(rng, 0.1, 0.2), 0.55, 0.4),
    "three tenths of the time": (lambda rng: uneven(rng, 0.3), 0.99, 0.99),
    "a fifth of the time": (lambda rng: uneven(rng, 0.2), 0.99, 0.99),
    "a sine of twice red noise": (lambda rng: sine(rng, 2, 0.9), 0.97, 0.97),
}
"""Signals with a period of 20 s; the minimum share detected, and detected within a tenth of it."""


@pytest.mark.slow(keep="a random walk")
@pytest.mark.parametrize("kind", NOTHING)
def test_false_alarms_are_rare(kind: str) -> None:
    signal, most = NOTHING[kind]
    rng = np.random.default_rng(20240101)
    assert sum(period(signal(rng), STEP_S) is not None for _ in range(CASES)) <= most


@pytest.mark.slow(keep="exact")
@pytest.mark.parametrize("kind", ALTERNATION)
def test_alternation_is_detected(kind: str) -> None:
    signal, found, right = ALTERNATION[kind]
    rng = np.random.default_rng(20240102)
    periods = [cycle.period_s for _ in range(CASES) if (cycle := period(signal(rng), STEP_S)) is not None]
    assert len(periods) >= found * CASES
    assert sum(abs(period_s - 20) <= 2 for period_s in periods) >= right * CASES


@pytest.mark.slow(keep="sine-4.0-120")
@pytest.mark.parametrize("count", [120, 240])
@pytest.mark.parametrize("true_s", [4.0, 10.0, 17.3])
@pytest.mark.parametrize("signal", ["sine", "noisy sine", "square"])
def test_a_period_is_detected(count: int, true_s: float, signal: str) -> None:
    rng = np.random.default_rng(20240102)
    time = np.arange(count) * STEP_S
    right = 0
    for _ in range(CASES // 4):
        wave = np.sin(2 * np.pi * (time / true_s + rng.random()))
        shape = np.sign(wave) if signal == "square" else wave
        noise = {"sine": 0.1, "noisy sine": 0.5, "square": 0.3}[signal] * rng.standard_normal(count)
        found = period(shape + noise + 0.02 * time, STEP_S)
        right += found is not None and abs(found.period_s - true_s) <= 0.05 * true_s
    assert right >= 0.95 * (CASES // 4)


@pytest.mark.slow
def test_alternation_with_jitter_is_mostly_detected_and_rarely_wrong() -> None:
    rng = np.random.default_rng(20240103)
    time = np.arange(240) * STEP_S
    right = wrong = 0
    for _ in range(CASES):
        ends = np.cumsum(5 * (1 + 0.2 * rng.standard_normal(200)))
        found = period((-1.0) ** np.searchsorted(ends, time) + 0.3 * rng.standard_normal(240), STEP_S)
        if found is not None:
            right += abs(found.period_s - 10) <= 1.5
            wrong += abs(found.period_s - 10) > 1.5
    assert right >= 0.9 * CASES
    assert wrong <= 0.03 * CASES


@pytest.mark.parametrize("signal", [np.zeros(100), np.full(100, 5.0), np.arange(100.0), np.ones(5)])
def test_a_constant_signal_has_no_period(signal: np.ndarray) -> None:
    assert period(signal, STEP_S) is None


def test_a_signal_more_similar_halfway_has_no_period() -> None:
    assert period(np.sign(np.cumsum(np.random.default_rng(882).standard_normal(48))), 0.1) is None


def test_results_are_reproducible() -> None:
    signal = red(np.random.default_rng(1), 240, 0.5) + 3 * np.sin(np.arange(240) / 3)
    assert period(signal, STEP_S) == period(signal, STEP_S) != None  # noqa: E711


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 0.8])
def test_the_phase_is_the_lag_as_a_share_of_the_period(shift: float) -> None:
    time = np.arange(COUNT) / 30
    first, second = np.sin(2 * np.pi * time), 0.3 * np.sin(2 * np.pi * (time - shift)) + 5
    assert (follows(first, second, 30.0) - shift + 0.5) % 1 == pytest.approx(0.5, abs=0.02)


def test_groups_that_oscillate_together_are_in_phase() -> None:
    flows = [
        Flow("a", "a", rate_bps=alternating_rate(10, 30e6, 5e6)),
        Flow("b", "b", rate_bps=alternating_rate(10, 12e6, 4e6)),
    ]
    found = cycle(Bench(flows, duration_s=60, sample_s=0.1).make())
    assert found is not None
    assert found.period_s == pytest.approx(10, abs=0.2)
    assert found.phase is not None
    assert min(found.phase, 1 - found.phase) < 0.03


def test_two_groups_that_alternate_have_a_cycle() -> None:
    found = cycle(alternating(60.0, 10.0, 0.1).make())
    assert found is not None
    assert found.phase == pytest.approx(0.5, abs=0.02)
    assert found.p_value == pytest.approx(1 / 500)
    assert found.period_s == pytest.approx(10, abs=0.2)
    assert found.strength == pytest.approx(1, abs=0.02)


def test_fewer_than_three_periods_are_no_cycle() -> None:
    assert cycle(alternating(28.0, 10.0, 0.1).make()) is None


def test_one_group_has_no_cycle() -> None:
    assert (
        cycle(Bench([Flow("a", "a", rate_bps=alternating_rate(10, 9e6, 1e6))], duration_s=60, sample_s=0.1).make())
        is None
    )


def test_small_oscillations_are_ignored() -> None:
    flows = [Flow(name, name, rate_bps=alternating_rate(10, 10.2e6, 9.8e6, first=name == "a")) for name in "ab"]
    assert cycle(Bench(flows, duration_s=60, sample_s=0.1).make()) is None


def test_only_the_common_time_of_both_groups_counts() -> None:
    flows = [
        Flow("a", "a", rate_bps=alternating_rate(10, 30e6, 5e6)),
        Flow("b", "b", rate_bps=alternating_rate(10, 30e6, 5e6, first=False), start_s=40.0),
    ]
    found = cycle(Bench(flows, duration_s=100, sample_s=0.1).make())
    assert found is not None
    assert found.period_s == pytest.approx(10, abs=0.2)
