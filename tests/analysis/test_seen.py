"""A run compared with what the source of its experiment saw."""

from typing import Any

import pytest

from dumbbell.analysis import Compared, Reader, compare_seen
from synthetic import taking_turns


def compared(**seen: Any) -> Compared:
    run = taking_turns(60, 10, 0.1).make()
    birth = {"source": {"title": "t", "seen": [{"what": "x", **seen}]}}
    return next(compare_seen(birth, Reader(run)))


def number(value: float) -> str:
    return f"{value:.3g}"


def test_a_single_figure_gets_a_ratio_in_the_source_s_own_unit() -> None:
    here = compared(metric="groups.bbr.throughput_mbps", value=1, unit="MB/s")
    assert here.here == pytest.approx(38 / 8, rel=0.01)
    assert here.verdict() == f"{here.here:.2f} ×"
    assert here.reported(number) == "1 MB/s"


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ({"low": 0.4, "high": 0.6}, "inside"),
        ({"low": 0.4}, "inside"),
        ({"high": 0.25}, "outside, 2.00 ×"),
        ({"low": 1.0}, "outside, 0.50 ×"),
    ],
)
def test_a_range_is_met_or_missed_by_its_nearer_end(ends: dict[str, float], verdict: str) -> None:
    assert compared(metric="groups.bbr.share", **ends).verdict() == verdict


def test_a_metric_that_is_not_there_is_named() -> None:
    here = compared(metric="groups.nope.share", value=1)
    assert "no such metric" in here.measured(number)
    assert here.verdict() == ""


def test_of_another_case_and_in_words_nothing_is_compared() -> None:
    run = taking_turns(60, 10, 0.1).make()
    seen = [
        {"what": "x", "metric": "jain", "value": 1, "case": "other"},
        {"what": "x", "metric": "jain", "value": "near 1"},
        {"what": "x", "metric": None, "value": 1},
    ]
    assert list(compare_seen({"source": {"seen": seen}, "case": "this"}, Reader(run))) == []
