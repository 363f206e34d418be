"""The language of `expect`: metrics by name, comparisons, outcomes."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.expect import Expectation, Metric, Outcome, Reader, check, metric, parse_expectation
from dumbbell.analysis.summary import summary
from dumbbell.errors import ResultError
from synthetic import Bench, Flow

SUMMARY: dict[str, Any] = {
    "valid": True,
    "engine": "sim",
    "groups": {"bbr": {"share": 0.75}, "v1.2 beta": {"share": 0.25}},
    "flows": [{"name": "bbr-1", "bytes": 7}, {"name": "10.0.0.1", "bytes": 8}, {"name": "0", "bytes": 9}],
    "cycle": None,
    "jain": 0.5,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jain", 0.5),
        ("groups.bbr.share", 0.75),
        ("groups.v1.2 beta.share", 0.25),
        ("flows.bbr-1.bytes", 7),
        ("flows.10.0.0.1.bytes", 8),
        ("flows.1.bytes", 8),
        ("flows.0.bytes", 9),
        ("cycle.period_s", None),
    ],
)
def test_metrics_by_name(name: str, value: object) -> None:
    assert metric(SUMMARY, name) == value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", r"no such key 'nope'; a summary has: valid, engine, groups"),
        ("groups.reno.share", r"no such key 'reno'; 'groups' has: bbr, v1\.2 beta"),
        ("flows.7.bytes", r"'flows' has: bbr-1, 10\.0\.0\.1, 0"),
        ("jain.mean", r"'jain' is a single value"),
    ],
)
def test_an_unknown_metric_names_those_that_exist(name: str, message: str) -> None:
    with pytest.raises(ResultError, match=message):
        metric(SUMMARY, name)


@pytest.mark.parametrize(
    ("expression", "passed"),
    [
        ("groups.bbr.share > 0.6", True),
        ("groups.bbr.share>=0.75", True),
        ("groups.bbr.share < 0.75", False),
        ("groups.bbr.share <= 7.5e-1", True),
        ("groups.bbr.share == 0.75", True),
        ("groups.bbr.share in 0.6..0.8", True),
        ("groups.bbr.share in 0.75..0.75", True),
        ("groups.bbr.share  in  -1 .. 0.7", False),
        ("groups.v1.2 beta.share < 0.3", True),
        ("valid == true", True),
        ("valid == false", False),
        ("cycle == null", True),
        ("jain == null", False),
        ("cycle.period_s > 1", False),
        ("cycle.period_s < 1", False),
        ("valid > 0", False),
        ("engine > 0", False),
    ],
)
def test_outcomes(expression: str, passed: bool) -> None:
    outcome = check(SUMMARY, expression)
    assert outcome.expression == expression
    assert outcome.passed is passed


def test_an_outcome_has_the_value() -> None:
    assert check(SUMMARY, "jain > 0.9") == Outcome("jain > 0.9", 0.5, passed=False)


def test_a_group_of_values_can_not_be_compared() -> None:
    with pytest.raises(ResultError, match="not a single number; it contains: share"):
        check(SUMMARY, "groups.bbr > 1")
    assert check(SUMMARY, "groups == null").passed is False


def test_parsing_needs_no_run() -> None:
    assert parse_expectation("a.b in 1..2") == Expectation(Metric("a.b"), "in", 1.0, 2.0)
    assert parse_expectation(" a<-1 ") == Expectation(Metric("a"), "<", -1.0)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("a.b from 1s to 2500ms < 3", Metric("a.b", 10**9, 2_500_000_000)),
        ("a.b from 1s in 1..3", Metric("a.b", 10**9)),
        ("a.b  to  1s == 3", Metric("a.b", None, 10**9)),
        ("groups.away from home.share > 0.5", Metric("groups.away from home.share")),
    ],
)
def test_a_metric_may_have_a_window(text: str, metric: Metric) -> None:
    assert parse_expectation(text).metric == metric


@pytest.mark.parametrize(
    "text",
    ["", "share", "> 1", "a >", "a > b", "a > nan", "a > inf", "a in 1", "a in 2..1", "a in 1..", "a = 1", "a != 1",
     "a > 1 > 2",
     "a from 2s to 1s > 1", "a to 0s > 1", "a from 1 to 2s > 1",
     "a..b > 1", "a. > 1", "a > true", "a > __import__('os')"],
)  # fmt: skip
def test_invalid_expressions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        parse_expectation(text)


@given(st.text(alphabet="ab. from to 019smun<>=-..", max_size=40))
def test_any_text_is_an_expectation_or_an_error(text: str) -> None:
    with suppress(ValueError):
        metric = parse_expectation(text).metric
        assert metric.of_entire_run == (metric.from_ns is None and metric.to_ns is None)
        assert (metric.from_ns or 0) < (metric.to_ns or float("inf"))


def test_a_reader_uses_the_requested_window() -> None:
    run = Bench([Flow("cubic", "cubic", rate_bps=10e6)]).make()
    reader = Reader(run)
    total, windowed, missing = reader.check(
        ["duration_s > 0", "flows.0.bytes from 1s to 2s > 0", "jain from 1000s > 0"]
    )
    assert (total.passed, windowed.passed, missing) == (True, True, Outcome("jain from 1000s > 0", None, passed=False))
    assert windowed.value == summary(run, (10**9, 2 * 10**9))["flows"][0]["bytes"] < summary(run)["flows"][0]["bytes"]
    assert reader.value("flows.0.bytes from 1s to 2s") == windowed.value
    assert reader.value("jain from 1000s") is None
