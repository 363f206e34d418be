"""Adaptive grids: new points are where the metric changes, within the limit, and reproducible."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.task import Row, Status, Task
from sweeps.simulated_rounds import METRIC, row_of, simulate_rounds, sweep_of

LOSS, RTT = "path.loss", "path.rtt"
LEVELS: dict[str, Any] = {
    LOSS: {"from": "0.01%", "to": "10%", "points": 4, "scale": "log"},
    RTT: {"from": "10ms", "to": "110ms", "points": 3},
}


def refined_sweep(keys: Sequence[str], most: int, others: Sequence[dict[str, Any]] = (), **more: Any) -> Sweep:
    refine = {"metric": METRIC, "axes": list(keys), "most": most} | more.pop("refine", {})
    return sweep_of(axes=[*others, *({key: LEVELS[key]} for key in keys)], refine=refine, seeds=1, **more)


def numbers(sweep: Sweep, rows: Sequence[Row], key: str) -> list[float]:
    shape = next(each for each in sweep.every_axis if each.key == key)
    return [shape.number(row.values[key]) for row in sorted(rows, key=lambda row: row.point)]


def metric_of(sweep: Sweep, value: Callable[..., float | None]) -> Callable[[Task], float | None]:
    """A metric that is a function of the refined axes' numbers."""
    assert sweep.refine
    shapes = [next(each for each in sweep.every_axis if each.key == key) for key in sweep.refine.axes]
    return lambda task: value(*(shape.number(task.values[shape.key]) for shape in shapes))


@pytest.mark.parametrize("most", [4, 5, 7, 10, 14, 40])
@pytest.mark.parametrize("at", [0.02, 0.5, 3.3, 9.9])
def test_a_step_is_located_to_the_last_affordable_level(most: int, at: float) -> None:
    sweep = refined_sweep([LOSS], most)
    rows = simulate_rounds(sweep, metric_of(sweep, lambda loss: float(loss > at)))
    found = sorted(numbers(sweep, rows, LOSS))
    halvings = min(most - 4, 10)
    assert len(rows) == 4 + halvings
    below, above = max(each for each in found if each <= at), min(each for each in found if each > at)
    # Numbers have four digits, so that a half is not exact.
    assert math.log10(above / below) == pytest.approx(2.0**-halvings, abs=2e-4, rel=0.01)


def test_a_constant_metric_gets_no_points() -> None:
    sweep = refined_sweep([LOSS, RTT], 100)
    assert len(simulate_rounds(sweep, lambda _: 3.5)) == 12


def test_a_change_below_the_threshold_gets_no_points() -> None:
    sweep = refined_sweep([RTT], 100, refine={"change": 10})
    rows = simulate_rounds(sweep, metric_of(sweep, lambda rtt: rtt / 2))
    spaces = [high - low for low, high in itertools.pairwise(sorted(numbers(sweep, rows, RTT)))]
    assert max(spaces) <= 20


def test_a_step_along_one_axis_adds_no_levels_to_the_other() -> None:
    sweep = refined_sweep([LOSS, RTT], 12 + 3 * 6)
    rows = simulate_rounds(sweep, metric_of(sweep, lambda loss, _rtt: float(loss > 0.5)))
    assert set(numbers(sweep, rows, RTT)) == {10, 60, 110}
    assert len(set(numbers(sweep, rows, LOSS))) == 4 + 6


def test_points_of_a_diagonal_edge_are_near_it() -> None:
    sweep = refined_sweep([LOSS, RTT], 150)
    rows = simulate_rounds(sweep, metric_of(sweep, lambda loss, rtt: float(math.log10(loss) > rtt / 50 - 2)))
    pairs = list(zip(numbers(sweep, rows, LOSS), numbers(sweep, rows, RTT), strict=True))
    new = [abs(math.log10(loss) - (rtt / 50 - 2)) for loss, rtt in pairs[12:]]
    assert 130 < len(rows) <= 150
    assert sum(distance < 0.31 for distance in new) > 0.65 * len(new)


def test_each_setting_of_the_other_axes_has_its_own_grid() -> None:
    sweep = refined_sweep([LOSS], 30, [{"flows.flow.cc": ["cubic", "bbr"]}, {RTT: ["10ms"]}])
    cc = [row.values["flows.flow.cc"] for row in simulate_rounds(sweep, lambda _: 0.0)]
    assert (cc.count("cubic"), cc.count("bbr")) == (4, 4)
    step = metric_of(sweep, lambda loss: float(loss > 0.5))
    rows = simulate_rounds(sweep, lambda task: step(task) if task.values["flows.flow.cc"] == "bbr" else 1.0)
    cc = [row.values["flows.flow.cc"] for row in rows]
    assert (cc.count("cubic"), cc.count("bbr")) == (4, 14)


def test_an_integer_axis_gets_integers_until_none_is_left() -> None:
    refine = {"metric": METRIC, "axes": ["flows.flow.count"], "most": 50}
    sweep = sweep_of(axes=[{"flows.flow.count": [1, 4, 16]}], refine=refine, seeds=1)
    rows = simulate_rounds(sweep, lambda task: task.values["flows.flow.count"] ** 2)
    assert sorted(row.values["flows.flow.count"] for row in rows) == list(range(1, 17))


def test_noise_is_not_refined() -> None:
    rng = random.Random(5)
    noise = {number: rng.gauss(0, 1) for number in range(10_000)}
    sweep = refined_sweep([LOSS, RTT], 400, until={"metric": METRIC, "half_width": 0.4, "most": 60})
    rows = simulate_rounds(sweep, lambda task: noise[(task.point * 61 + task.seed) % 10_000])
    assert len({row.point for row in rows}) < 40


def test_new_points_are_repeated_too() -> None:
    sweep = refined_sweep([RTT], 6, until={"metric": METRIC, "half_width": 1, "least": 3, "most": 8})
    rows = simulate_rounds(sweep, metric_of(sweep, lambda rtt: float(rtt > 30)))
    assert [len(list(each)) for _, each in itertools.groupby(sorted(row.point for row in rows))] == [3] * 6


def test_points_without_values_are_not_refined() -> None:
    sweep = refined_sweep([RTT], 20)
    assert len(simulate_rounds(sweep, lambda _: None)) == 3
    rows = [row_of(task, 1.0, "failed" if task.point == 1 else "ok") for task in next_round(sweep, [])]
    assert next_round(sweep, rows) == []


@pytest.mark.parametrize("at", [0.02, 0.5, 3.3])
@pytest.mark.parametrize("known_above", [True, False])
def test_the_edge_between_known_and_unknown_values_is_located_like_a_step(at: float, *, known_above: bool) -> None:
    sweep = refined_sweep([LOSS], 10, refine={"change": 0.5})
    rows = simulate_rounds(sweep, metric_of(sweep, lambda loss: 3.5 if (loss > at) == known_above else None))
    found = sorted(numbers(sweep, rows, LOSS))
    below, above = max(each for each in found if each <= at), min(each for each in found if each > at)
    assert len(rows) == 10
    assert math.log10(above / below) == pytest.approx(2.0**-6, rel=0.01)


def test_an_edge_leaves_points_for_the_steps_elsewhere() -> None:
    sweep = refined_sweep([LOSS], 14)
    rows = simulate_rounds(sweep, metric_of(sweep, lambda loss: None if loss > 3 else float(loss > 0.05)))
    new = numbers(sweep, rows, LOSS)[4:]
    assert len(new) == 10
    assert sum(1 < loss < 10 for loss in new) == sum(0.01 < loss < 0.1 for loss in new) == 5


def test_failed_invalid_and_mixed_points_are_no_edge() -> None:
    sweep = replace(refined_sweep([RTT], 20), seeds=(1, 2, 3))
    first = next_round(sweep, [])

    def points_after(outcome_of: Callable[[Task], tuple[float | None, Status]]) -> set[int]:
        return {task.point for task in next_round(sweep, [row_of(task, *outcome_of(task)) for task in first])}

    assert points_after(lambda task: (None if task.point == 2 else 1.0, "ok")) == {3}
    assert points_after(lambda task: (None, "failed") if task.point == 2 else (1.0, "ok")) == set()
    assert points_after(lambda task: (None, "invalid") if task.point == 2 else (1.0, "ok")) == set()
    # A value in one run of three is neither known nor unknown: the edge is there already.
    assert points_after(lambda task: (None if task.point + task.seed > 2 else 1.0, "ok")) == set()


@pytest.mark.slow
@given(st.sampled_from([0.02, 0.1, 0.3]), st.floats(0.011, 9.9), st.floats(11, 109))
def test_neighbours_are_never_closer_than_finest(finest: float, loss_at: float, rtt_at: float) -> None:
    sweep = refined_sweep([LOSS, RTT], 300, refine={"finest": finest})
    value = metric_of(sweep, lambda loss, rtt: float(loss > loss_at) if rtt < rtt_at else None)
    rows = simulate_rounds(sweep, value)
    losses = [math.log10(each) / 3 for each in sorted(set(numbers(sweep, rows, LOSS)))]
    rtts = [each / 100 for each in sorted(set(numbers(sweep, rows, RTT)))]
    for shares in (losses, rtts):
        assert min(high - low for low, high in itertools.pairwise(shares)) >= 0.97 * finest
    # The edge is located to that resolution.
    assert min(high - low for low, high in itertools.pairwise(rtts)) <= max(2.1 * finest, 0.02)


FUNCTIONS = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3)).map(
    lambda of: lambda loss, rtt=1.0: round(math.sin(of[0] * loss) + math.tanh(of[1] * rtt / 50 + of[2]), 3)
)
EDGES = st.floats(-2, 2).map(lambda edge: lambda loss, rtt=50.0: math.sin(loss) + rtt / 100 > edge)


@pytest.mark.slow
@given(st.sampled_from([[LOSS], [RTT], [LOSS, RTT], [RTT, LOSS]]), st.integers(12, 60), FUNCTIONS, EDGES)
def test_refinement_is_bounded_reproducible_and_without_duplicates(
    keys: list[str], most: int, function: Callable[..., float], is_known: Callable[..., bool]
) -> None:
    def value(*at: float) -> float | None:
        return function(*at) if is_known(*at) else None

    sweep = refined_sweep(keys, most)
    rows = simulate_rounds(sweep, metric_of(sweep, value))
    assert len(rows) <= most
    assert sorted(row.point for row in rows) == list(range(len(rows)))
    positions = list(zip(*(numbers(sweep, rows, key) for key in keys), strict=True))
    assert len(set(positions)) == len(positions)
    for key in keys:
        shape = next(each for each in sweep.every_axis if each.key == key)
        assert shape.numbers
        assert all(shape.numbers[0] <= number <= shape.numbers[-1] for number in numbers(sweep, rows, key))
    assert simulate_rounds(sweep, metric_of(sweep, value)) == rows
