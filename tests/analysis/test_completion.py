"""Completion times of flows and of requests."""

import pytest

from dumbbell.analysis.flows import answer_times, completion_times
from synthetic import Bench, Flow, with_flow


def test_sized_flows_of_a_group() -> None:
    flows = [Flow(f"web-{n}", "web", bytes_asked=1000, fct_s=fct_s) for n, fct_s in enumerate([1.0, 2.0, 6.0, None])]
    found = completion_times(Bench([*flows, Flow("bulk", "bulk")]).make())
    percentiles = {"p50": 2, "p95": pytest.approx(5.6), "p99": pytest.approx(5.92)}
    assert found == {"web": {"asked": 4, "done": 3, "mean": 3, "min": 1, **percentiles, "max": 6}}


def test_nothing_done_is_no_time() -> None:
    found = completion_times(Bench([Flow("a", "a", bytes_asked=1000)]).make())["a"]
    assert (found["asked"], found["done"], found["mean"]) == (1, 0, None)


def test_answers_of_all_flows_of_a_group() -> None:
    run = Bench([Flow("a-1", "a"), Flow("a-2", "a"), Flow("shy", "shy"), Flow("bulk", "bulk")]).make()
    for number, times_s in enumerate(([0.1, 0.2], [0.6], [])):
        run = with_flow(run, number, exchanges_s=times_s)
    found = answer_times(run)
    assert list(found) == ["a", "shy"]
    percentiles = {"p50": 0.2, "p95": pytest.approx(0.56), "p99": pytest.approx(0.592)}
    assert found["a"] == {"answers": 3, "mean": pytest.approx(0.3), "min": 0.1, **percentiles, "max": 0.6}
    assert (found["shy"]["answers"], found["shy"]["max"]) == (0, None)
