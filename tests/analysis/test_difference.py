"""Differences of two samples, compared with closed forms and published tables."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.difference import (
    TOLERANCES,
    Sample,
    Tolerance,
    Verdict,
    compare,
    interval,
    one_sided,
    partial,
    standard_error,
    tolerance_of,
    worst_first,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20).map(tuple)


def runs(metric: str, *values: float) -> list[dict[str, float]]:
    return [{metric: value} for value in values]


def known(first: Sample, second: Sample) -> tuple[float, float]:
    found = interval(first, second)
    assert found is not None
    return found


def test_welch_matches_the_textbook() -> None:
    """Means 3 and 5, variances 2.5 and 10, n = 5: t's 97.5 % point at 5.882 degrees of freedom is 2.459."""
    first, second = Sample((1.0, 2.0, 3.0, 4.0, 5.0)), Sample((1.0, 3.0, 5.0, 7.0, 9.0))
    assert standard_error(first, second) == pytest.approx(math.sqrt(12.5 / 5))
    low, high = known(first, second)
    assert (low + high) / 2 == pytest.approx(2.0)
    assert (high - low) / 2 == pytest.approx(2.459 * math.sqrt(2.5), rel=1e-3)


def test_pairs_are_compared_by_their_differences() -> None:
    """Differences 0, 1, 2, 3, 4: mean 2, variance 2.5; t's 97.5 % point at 4 degrees of freedom is 2.776."""
    first, second = Sample((1.0, 2.0, 3.0, 4.0, 5.0)), Sample((1.0, 3.0, 5.0, 7.0, 9.0))
    assert standard_error(first, second, "paired") == pytest.approx(math.sqrt(2.5 / 5))
    low, high = interval(first, second, "paired") or (0, 0)
    assert (low + high) / 2 == pytest.approx(2.0)
    assert (high - low) / 2 == pytest.approx(2.776 * math.sqrt(0.5), rel=1e-3)
    assert interval(first, Sample((2.0, 3.0, 4.0, 5.0, 6.0)), "paired") == (1.0, 1.0)


def test_a_metric_that_some_runs_lack_is_not_compared_in_pairs() -> None:
    left, right = runs("a", 1.0, 2.0, 3.0), [{"a": 1.1}, {}, {"a": 3.1}]
    assert compare(left, right, method="paired") == compare(left, right)


def test_a_single_value_has_no_interval() -> None:
    assert Sample((1.0,)).sd is None
    assert interval(Sample((1.0,)), Sample((2.0, 3.0))) is None


def test_runs_that_never_vary_differ_exactly() -> None:
    assert interval(Sample((1.0, 1.0)), Sample((3.0, 3.0))) == (2.0, 2.0)


@given(VALUES, VALUES)
def test_the_interval_contains_the_difference_and_is_antisymmetric(
    one: tuple[float, ...], other: tuple[float, ...]
) -> None:
    first, second = Sample(one), Sample(other)
    low, high = known(first, second)
    slack = 1e-6 * (1 + abs(low) + abs(high))
    assert low - slack <= second.mean - first.mean <= high + slack
    assert interval(second, first) == pytest.approx((-high, -low), rel=1e-6, abs=1e-6)


def test_bootstrap_and_welch_agree_on_many_values() -> None:
    first, second = Sample(tuple(float(n % 7) for n in range(70))), Sample(tuple(2.0 + n % 7 for n in range(70)))
    assert interval(first, second, "bootstrap") == pytest.approx(interval(first, second), abs=0.1)


def test_the_largest_allowance_counts() -> None:
    tolerance = Tolerance(relative=0.1, absolute=3.0, standard_errors=2)
    assert tolerance.allowed(10.0) == 3.0
    assert tolerance.allowed(-100.0, None) == 10.0
    assert tolerance.allowed(10.0, standard_error(Sample((0.0, 20.0)), Sample((5.0, 5.0)))) == pytest.approx(2 * 10.0)


def test_verdicts() -> None:
    tolerances = {"a": Tolerance(absolute=1.0)}
    verdict = {
        name: compare(runs(name, *left), runs(name, *right), tolerances)[0].verdict
        for name, left, right in (("a", (5.0, 5.2), (5.9, 6.0)), ("b", (1.0,), (9.0,)))
    }
    assert verdict == {"a": Verdict.AGREES, "b": Verdict.SHOWN}
    (far,) = compare(runs("a", 5.0, 5.2), runs("a", 7.0, 7.1), tolerances)
    assert far.verdict is Verdict.DIFFERS
    assert far.excess == pytest.approx(1.95)
    (noisy,) = compare(runs("a", 0.0, 10.0), runs("a", 2.0, 14.0), tolerances)
    assert noisy.verdict is Verdict.INCONCLUSIVE


def test_a_metric_of_one_arm_is_listed_not_compared() -> None:
    left, right = [{"groups.x.fct_s": 1.0, "free": 2.0}], [{"other": 1.0}]
    assert compare(left, right) == []
    assert one_sided(left, right) == ["groups.x.fct_s"]


def test_a_large_difference_with_an_interval_around_zero_is_inconclusive() -> None:
    """Three values per arm, 2.4 standard errors apart: Student's t requires 2.8."""
    tolerances = {"a": Tolerance(absolute=0.1)}
    (row,) = compare(runs("a", 0.0, 1.0, 2.0), runs("a", 2.0, 3.0, 4.0), tolerances)
    assert row.interval is not None
    assert (row.interval[0] < 0 < row.interval[1], row.verdict) == (True, Verdict.INCONCLUSIVE)
    (alone,) = compare(runs("a", 1.0), runs("a", 1.2), tolerances)
    assert alone.verdict is Verdict.DIFFERS


def test_judged_metrics_that_some_runs_lack_are_listed() -> None:
    left, right = [{"groups.x.fct_s": 1.0}, {"groups.x.fct_s": 2.0}], [{"groups.x.fct_s": 1.0}, {}]
    assert partial(left, right) == [("groups.x.fct_s", 2, 1)]
    assert partial(left, left) == []
    assert partial([{"free": 1.0}, {}], [{"free": 1.0}]) == []


def test_the_worst_row_is_first() -> None:
    tolerances = {"b": Tolerance(absolute=1.0), "c": Tolerance(absolute=1.0), "d": Tolerance(absolute=0.1)}
    left = [{"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.0, "d": 9.0}]
    right = [{"a": 9.0, "b": 0.5, "c": 7.0, "d": 5.0}, {"a": 9.0, "b": 0.5, "c": 7.0, "d": 9.0}]
    assert [row.metric for row in worst_first(compare(left, right, tolerances))] == ["c", "d", "b", "a"]


def test_no_difference_is_no_excess_for_any_tolerance() -> None:
    (row,) = compare(runs("a", 0.0), runs("a", 0.0), {"a": Tolerance()})
    assert (row.excess, row.relative, row.verdict) == (0.0, None, Verdict.AGREES)


def test_tolerances_are_found_by_pattern() -> None:
    assert tolerance_of("groups.bbr.throughput_mbps") is TOLERANCES["groups.*.throughput_mbps"]
    assert tolerance_of("queue.drops") is None
