"""A run compared with its source's figures."""

from typing import Any

import pytest

from dumbbell.analysis.expect import FigureComparison, Reader, compare_source_figures
from synthetic import alternating


def compared(**fields: Any) -> FigureComparison:
    run = alternating(60, 10, 0.1).make()
    manifest = {"source": {"title": "t", "seen": [{"what": "x", **fields}]}}
    return next(compare_source_figures(manifest, Reader(run)))


def number(value: float) -> str:
    return f"{value:.3g}"


def test_a_single_figure_gets_a_ratio_in_the_source_s_own_unit() -> None:
    figure = compared(metric="groups.bbr.throughput_mbps", value=1, unit="MB/s")
    assert figure.here == pytest.approx(38 / 8, rel=0.01)
    assert figure.verdict() == f"{figure.here:.2f} ×"
    assert figure.reported(number) == "1 MB/s"


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ({"low": 0.4, "high": 0.6}, "inside"),
        ({"low": 0.4}, "inside"),
        ({"high": 0.25}, "outside, 2.00 ×"),
        ({"low": 1.0}, "outside, 0.50 ×"),
    ],
)
def test_a_range_is_compared_by_its_nearer_end(ends: dict[str, float], verdict: str) -> None:
    assert compared(metric="groups.bbr.share", **ends).verdict() == verdict


def test_an_unknown_metric_is_reported() -> None:
    figure = compared(metric="groups.nope.share", value=1)
    assert "unknown metric" in figure.measured(number)
    assert figure.verdict() == ""


def test_figures_of_another_case_or_in_text_are_skipped() -> None:
    run = alternating(60, 10, 0.1).make()
    fields = [
        {"what": "x", "metric": "jain", "value": 1, "case": "other"},
        {"what": "x", "metric": "jain", "value": "near 1"},
        {"what": "x", "metric": None, "value": 1},
    ]
    assert list(compare_source_figures({"source": {"seen": fields}, "case": "this"}, Reader(run))) == []
