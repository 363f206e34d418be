"""What a source saw: figures with units, never words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dumbbell.spec import load
from dumbbell.spec.scenarios import published, scenarios
from dumbbell.spec.seen import Seen, figure_text, units_of

RATE = "flows.a.throughput_mbps"


@pytest.mark.parametrize(
    ("metric", "own"),
    [(RATE, "Mbit/s"), ("flows.bbr.rtt_ms.p95 from 2s", "ms"), ("queue.packets.max", "packets"), ("jain", "")],
)
def test_a_metric_has_a_unit_of_its_own_and_a_figure_without_a_unit_is_in_it(metric: str, own: str) -> None:
    assert next(iter(units_of(metric))) == own
    assert units_of(metric)[own] == 1
    assert Seen.model_validate({"what": "x", "value": 1, "metric": metric}).unit == own


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"value": "about 10"}, "not a number"),
        ({"value": True}, "not a number"),
        ({"value": float("nan")}, "not a number"),
        ({}, "no figure for 'x'"),
        ({"value": 1, "low": 0}, "both a value and a range"),
        ({"low": 2, "high": 1}, "the range 2 to 1 is empty"),
        ({"value": 1, "unit": "ms"}, "'ms' is not a unit of flows.a.throughput_mbps"),
    ],
)
def test_a_figure_that_is_none_is_refused_with_what_would_be_right(keys: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Seen.model_validate({"what": "x", "metric": RATE, **keys})


@given(low=st.none() | st.integers(0, 9), high=st.none() | st.integers(10, 99))
def test_a_range_is_written_with_each_end_that_it_has(low: int | None, high: int | None) -> None:
    text = figure_text((low, high), "ms", "{:g}".format)
    assert all(f"{end} ms" in text or f"{end} to" in text for end in (low, high) if end is not None)
    assert (text == "") == (low is None and high is None)


@pytest.mark.parametrize("name", [*scenarios(), *published()])
def test_each_built_in_figure_belongs_to_a_case_that_exists(name: str) -> None:
    cases = load({**scenarios(), **published()}[name])
    source = cases[0].experiment.source
    assert source is not None
    assert {seen.case for seen in source.seen} <= {None, *(case.name for case in cases)}
