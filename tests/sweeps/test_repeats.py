"""Adaptive repeats: as many runs as the variance requires; the effect of repeated checks on coverage."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.refinement import next_round, precisions
from dumbbell.sweeps.repeats import Sample, runs_needed, sample_of, seeds_of
from dumbbell.sweeps.task import Task
from sweeps.simulated_rounds import METRIC, row_of, simulate_rounds, sweep_of

TWO = [{"path.rtt": ["5ms", "20ms"]}]


def sweep_until(half_width: float | str, least: int = 5, most: int = 40, seeds: str = "1..3") -> Sweep:
    until = {"metric": METRIC, "half_width": half_width, "least": least, "most": most}
    return sweep_of(axes=TWO, seeds=seeds, until=until)


def noise(task: Task, spread: float) -> float:
    """A metric that is a function of point and seed."""
    return 10 + spread * float(np.random.default_rng((task.point, task.seed)).standard_normal())


def test_a_noisy_point_gets_more_runs_and_a_quiet_one_none() -> None:
    sweep = sweep_until(0.5)
    rows = simulate_rounds(sweep, lambda task: noise(task, 1.0 if task.point else 0.01))
    runs = [sum(row.point == point for row in rows) for point in (0, 1)]
    assert runs[0] == 5
    assert 8 < runs[1] <= 40
    found = precisions(sweep, rows)
    assert [found[point].state for point in (0, 1)] == ["met", "met"]
    assert found[1].sample.half_width <= 0.5


def test_further_seeds_follow_the_requested_ones() -> None:
    rows = simulate_rounds(sweep_until(0.5, seeds="7..8"), lambda task: noise(task, 1.0))
    seeds = sorted(row.seed for row in rows if row.point == 1)
    assert seeds == list(range(7, 7 + len(seeds)))


def test_the_limit_ends_repeats_and_reports_the_interval() -> None:
    sweep = sweep_until(0.001, most=12)
    rows = simulate_rounds(sweep, lambda task: noise(task, 1.0))
    assert [sum(row.point == point for row in rows) for point in (0, 1)] == [12, 12]
    assert sweep.until
    found = precisions(sweep, rows)[1]
    assert found.state == "most"
    assert "is known to ± 0" in found.shortfall(sweep.until)
    assert "after 12 runs, ± 0.001 was requested" in found.shortfall(sweep.until)


def test_a_metric_that_no_run_has_ends_repeats() -> None:
    sweep = sweep_until(0.5)
    rows = simulate_rounds(sweep, lambda task: None if task.point else noise(task, 0.1))
    assert sweep.until
    found = precisions(sweep, rows)[1]
    assert (found.state, found.sample.runs) == ("unknown", 5)
    assert found.shortfall(sweep.until) == f"none of 5 runs has {METRIC}"


def test_invalid_runs_count_as_runs_without_values() -> None:
    sweep = sweep_until(0.5)
    tasks = next_round(sweep, [])
    rows = [row_of(task, noise(task, 1.0), "invalid" if task.seed % 2 else "ok") for task in tasks]
    sample = sample_of([row for row in rows if row.point == 0], METRIC)
    assert (sample.runs, sample.count) == (5, 2)
    assert len([task for task in next_round(sweep, rows) if task.point == 0]) == 5  # Doubled: no estimate exists yet.


def test_the_half_width_may_be_a_share_of_the_mean() -> None:
    rows = simulate_rounds(sweep_until("5%"), lambda task: noise(task, 1.0))
    sample = sample_of([row for row in rows if row.point == 1], METRIC)
    assert sample.half_width <= 0.05 * sample.mean


def test_without_variance_the_least_number_is_enough() -> None:
    assert len(simulate_rounds(sweep_until(0.001), lambda _: 0.1)) == 10


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(1e-3, 1e6), st.integers(0, 10))
def test_more_runs_are_needed_exactly_when_the_interval_is_too_wide(
    values: list[float], width: float, lost: int
) -> None:
    until = sweep_until(width, least=2, most=100).until
    assert until
    mean = math.fsum(values) / len(values)
    sample = Sample(len(values) + lost, len(values), mean, float(np.var(values, ddof=1)))
    needed = runs_needed(until, sample)
    assert sample.runs <= needed <= min(2 * sample.runs, 100)
    assert (needed > sample.runs) == (sample.half_width > width)


def test_seeds_continue_after_the_last_one() -> None:
    sweep = sweep_of(axes=TWO, seeds=[4, 9])
    assert (seeds_of(sweep, 1), seeds_of(sweep, 4)) == ((4,), (4, 9, 10, 11))


def coverage(draw: str, least: int, width: float, repeats: int = 1500) -> float:
    """How often the interval at which the rule stops holds the true mean, with random numbers of a fixed seed."""
    rng = np.random.default_rng(20261122)
    samplers: dict[str, tuple[Callable[[], np.ndarray[Any, Any]], float]] = {
        "normal": (lambda: rng.standard_normal(400), 0.0),
        "uniform": (lambda: rng.uniform(-1, 1, 400) * math.sqrt(3), 0.0),
        "exponential": (lambda: rng.exponential(1, 400), 1.0),
        "two values": (lambda: (rng.random(400) < 0.3) / math.sqrt(0.21), 0.3 / math.sqrt(0.21)),
    }
    sampler, mean = samplers[draw]
    until = sweep_until(width, least=least, most=400).until
    assert until
    held = 0
    for _ in range(repeats):
        values = sampler()
        count = least
        while True:
            first = values[:count]
            sample = Sample(count, count, float(first.mean()), float(first.var(ddof=1)))
            if (needed := runs_needed(until, sample)) == count:
                break
            count = needed
        held += abs(sample.mean - mean) <= sample.half_width
    return held / repeats


@pytest.mark.parametrize(
    ("draw", "least"), [("normal", 0.93), ("uniform", 0.92), ("exponential", 0.85), ("two values", 0.87)]
)
def test_repeated_checks_reduce_coverage_only_a_little_with_enough_first_runs(draw: str, least: float) -> None:
    """Of 95 %: what is left when the rule stops at a third of a standard deviation (some 40 runs)."""
    assert least <= coverage(draw, least=10, width=0.33) <= 0.97


def test_a_first_check_after_three_runs_reduces_coverage_much() -> None:
    assert coverage("two values", least=3, width=0.33) < 0.7
