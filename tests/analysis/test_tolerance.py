"""Tolerances in text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.difference import TOLERANCES, Tolerance, check_patterns, parse_tolerance, stated, tolerance_of
from dumbbell.errors import ExperimentError


@pytest.mark.parametrize(
    ("text", "pattern", "tolerance"),
    [
        ("groups.*.throughput_mbps=3%", "groups.*.throughput_mbps", Tolerance(relative=0.03)),
        ("ping_ms.mean=1", "ping_ms.mean", Tolerance(absolute=1.0)),
        ("a = 5%, 1.5", "a", Tolerance(relative=0.05, absolute=1.5)),
        ("a=1,5 %", "a", Tolerance(relative=0.05, absolute=1.0)),
        ("odd=name=0", "odd=name", Tolerance()),
    ],
)
def test_valid_tolerances(text: str, pattern: str, tolerance: Tolerance) -> None:
    found = parse_tolerance(text)
    assert found[0] == pattern
    assert (found[1].relative, found[1].absolute) == pytest.approx((tolerance.relative, tolerance.absolute))


@pytest.mark.parametrize(
    "text", ["", "a", "a=", "=3%", "a=-1", "a=nan", "a=inf", "a=1e9", "a=3%,4%", "a=1,2", "a=1,2,3%", "a=3%%", "a=١%"]
)
def test_invalid_tolerances_are_explained(text: str) -> None:
    with pytest.raises(ExperimentError, match="--tolerance: not a tolerance"):
        parse_tolerance(text)


@given(st.text(max_size=40))
def test_any_text_is_a_tolerance_or_an_error(text: str) -> None:
    try:
        pattern, tolerance = parse_tolerance(text)
    except ExperimentError:
        return
    assert pattern
    assert 0 <= tolerance.relative < 1e8
    assert 0 <= tolerance.absolute < 1e10


def test_stated_tolerances_precede_defaults_and_the_first_applies() -> None:
    tolerances = stated(["groups.bbr.throughput_mbps=1%", "groups.*=9"])
    assert tolerance_of("groups.bbr.throughput_mbps", tolerances) == Tolerance(relative=0.01)
    assert tolerance_of("groups.x.throughput_mbps", tolerances) == Tolerance(absolute=9.0)
    assert tolerance_of("ping_ms.mean", tolerances) is TOLERANCES["ping_ms.mean"]
    assert tolerance_of("ping_ms.mean", stated(["ping_ms.mean=7"])) == Tolerance(absolute=7.0)


def test_a_pattern_that_matches_no_metric_is_an_error() -> None:
    check_patterns(["groups.*.share=3%"], ["groups.a.share"])
    with pytest.raises(ExperimentError, match=r"no metric matches, got 'groups\.a\.shar'; choose from: groups"):
        check_patterns(["groups.a.shar=3%"], ["groups.a.share", "flows.a.throughput_mbps"])
