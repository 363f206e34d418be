"""Trials of a search: within the bounds, better than random ones, the same whatever the order of the rows."""

import math
from typing import Any

import numpy as np
import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec.axes import axis
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.checks import check_metrics
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.task import Row, Task
from dumbbell.sweeps.trials import BATCH, ranked, trials_of
from sweeps.simulated_rounds import METRIC, row_of, simulate_rounds, sweep_of

RTT = {"path.rtt": {"from": "2ms", "to": "200ms", "scale": "log"}}
COUNT = {"flows.flow.count": {"from": 1, "to": 64}}
CC = {"flows.flow.cc": ["cubic", "reno", "bbr", "vegas"]}
BEST_RTT_MS, BEST_COUNT, BEST_CC = 37.0, 20, "bbr"


def search_of(direction: str = "minimize", **more: Any) -> Sweep:
    return sweep_of(axes=[RTT, COUNT, CC], seeds="1..4", search={direction: METRIC, "trials": 80, "best": 3} | more)


def distance(task: Task) -> float:
    """From the best point: decades of rtt, flows, another controller."""
    rtt = axis("path.rtt", [task.values["path.rtt"]]).numbers
    assert rtt is not None
    decades = abs(math.log10(rtt[0] / BEST_RTT_MS))
    flows = abs(int(task.values["flows.flow.count"]) - BEST_COUNT) / 64
    return decades + flows + float(task.values["flows.flow.cc"] != BEST_CC)


def first_runs(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.seed == 1]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_of_eighty_trials_is_nearer_than_random_points_are(direction: str) -> None:
    sign = 1 if direction == "minimize" else -1
    rows = simulate_rounds(search_of(direction), lambda task: sign * distance(task))
    best = min(sign * row.metrics[METRIC] for row in rows)
    random = np.random.default_rng(1)
    of_random = [
        abs(math.log10(2 * 100 ** random.random() / BEST_RTT_MS))
        + abs(random.integers(1, 65) - BEST_COUNT) / 64
        + (random.integers(4) != 2)
        for _ in range(80 * 50)
    ]
    expected = np.mean(np.min(np.reshape(of_random, (50, 80)), axis=1))
    assert best < expected / 2


def test_every_value_is_within_its_bounds_and_as_short_as_three_digits() -> None:
    rows = simulate_rounds(search_of(), distance)
    assert len(first_runs(rows)) == 80
    for row in rows:
        (rtt,) = axis("path.rtt", [row.values["path.rtt"]]).numbers or ()
        assert 2 <= rtt <= 200
        assert float(f"{rtt:.2e}") == rtt
        assert row.values["flows.flow.count"] in range(1, 65)
        assert row.values["flows.flow.cc"] in CC["flows.flow.cc"]


def test_the_next_batch_depends_on_the_rows_only_and_not_on_their_order() -> None:
    sweep = search_of()
    rows = [row_of(task, distance(task)) for task in next_round(sweep, [])]
    assert len(rows) == BATCH
    rows += [row_of(task, distance(task)) for task in next_round(sweep, rows)]
    assert next_round(sweep, rows) == next_round(sweep, rows[::-1])


def test_another_seed_tries_other_points() -> None:
    assert next_round(search_of(seed=1), [])[1:] != next_round(search_of(seed=2), [])[1:]


def test_only_the_best_run_with_every_seed() -> None:
    rows = simulate_rounds(search_of(), distance)
    trials = trials_of(search_of(), rows)
    repeated = {trial.point for trial in trials if trial.runs == 4}
    assert len(repeated) == 3
    assert {trial.runs for trial in trials} == {1, 4}
    assert {trial.point for trial in ranked(search_of(), trials)[:3]} == repeated
    worst = max(trial.found[0] for trial in trials if trial.point in repeated)
    others = [trial for trial in trials if trial.point not in repeated and trial.found[0] < worst]
    # A point may be tried twice; its second copy is not repeated.
    assert all(other.values in [trial.values for trial in trials if trial.point in repeated] for other in others)


def test_points_without_the_value_are_avoided_and_end_nothing() -> None:
    rows = simulate_rounds(search_of(), lambda task: None if task.values["flows.flow.cc"] == "reno" else distance(task))
    late = [row for row in first_runs(rows) if row.point >= 40]
    assert len(late) == 40
    assert sum(row.values["flows.flow.cc"] == "reno" for row in late) < 10


def test_a_formula_is_searched() -> None:
    sweep = search_of("minimize", minimize=f"{METRIC} * -2")
    trials = trials_of(sweep, [row_of(task, 3.0) for task in next_round(sweep, [])])
    assert {trial.mean for trial in trials} == {-6.0}


@pytest.mark.parametrize(
    ("search", "problem", "right"),
    [
        ({}, "neither minimize nor maximize", "one of them"),
        ({"minimize": METRIC, "maximize": METRIC}, "minimize and maximize", "one of them"),
        ({"minimize": METRIC, "trials": 0}, "0", "1"),
    ],
)
def test_a_wrong_search_is_an_error(search: dict[str, Any], problem: str, right: str) -> None:
    with pytest.raises(ExperimentError, match=problem) as caught:
        sweep_of(axes=[RTT], search=search)
    assert right in str(caught.value)


def test_a_search_needs_axes_and_excludes_what_else_adds_points() -> None:
    with pytest.raises(ExperimentError, match="no axis to search along"):
        sweep_of(search={"minimize": METRIC})
    with pytest.raises(ExperimentError, match="can't be combined with search"):
        sweep_of(axes=[RTT], search={"minimize": METRIC}, until={"metric": METRIC, "half_width": 1})


def test_an_unknown_metric_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ExperimentError, match=r"search\.minimize.*groups\.flow\.throughput_mbps"):
        check_metrics(sweep_of(axes=[RTT], search={"minimize": "groups.flow.throughputmbps"}))
