"""Figures that a source reports: numbers with units, not text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.analysis.expect import figure_text, units_of
from dumbbell.errors import ExperimentError
from dumbbell.spec import Experiment, load, read
from dumbbell.spec.built_in import published, scenarios

RATE = "flows.a.throughput_mbps"


def with_figure(keys: dict[str, object]) -> Experiment:
    """An experiment whose source reports a figure."""
    document = _sim.random_experiment(b"") | {"source": {"title": "t", "seen": [{"what": "x", **keys}]}}
    return read(document, Path("mine.toml"))[0].experiment


@pytest.mark.parametrize(
    ("metric", "unit"),
    [(RATE, "Mbit/s"), ("flows.bbr.rtt_ms.p95 from 2s", "ms"), ("queue.packets.max", "packets"), ("jain", "")],
)
def test_a_figure_without_a_unit_has_the_unit_of_its_metric(metric: str, unit: str) -> None:
    assert next(iter(units_of(metric))) == unit
    assert units_of(metric)[unit] == 1
    source = with_figure({"value": 1, "metric": metric}).source
    assert source is not None
    assert source.seen[0].unit == unit


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
def test_an_invalid_figure_is_refused_with_a_remedy(keys: dict[str, object], problem: str) -> None:
    with pytest.raises(ExperimentError, match=problem):
        with_figure({"metric": RATE, **keys})


@given(low=st.none() | st.integers(0, 9), high=st.none() | st.integers(10, 99))
def test_a_range_is_printed_with_each_end_that_it_has(low: int | None, high: int | None) -> None:
    text = figure_text((low, high), "ms", "{:g}".format)
    assert all(f"{end} ms" in text or f"{end} to" in text for end in (low, high) if end is not None)
    assert (text == "") == (low is None and high is None)


def test_each_built_in_figure_belongs_to_a_case_that_exists() -> None:
    for name, file in {**scenarios(), **published()}.items():
        cases = load(file)
        source = cases[0].experiment.source
        assert source is not None, name
        assert {seen.case for seen in source.seen} <= {None, *(case.name for case in cases)}, name
