"""Cells of a sweep: means, intervals, missing runs, and what must not be averaged."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dumbbell.analysis.map_cells import cells, chosen, differences
from dumbbell.errors import ResultError

Entry = tuple[int, str, str, int, str, str | None, float | None]


def table(*rows: Entry) -> pl.DataFrame:
    schema = {
        "point": pl.Int64, "path.rtt": pl.String, "engine": pl.String, "seed": pl.Int64, "status": pl.String,
        "reason": pl.String, "v": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def ok(point: int, rtt: str, *values: float | None, engine: str = "sim") -> list[Entry]:
    return [(point, rtt, engine, seed, "ok", None, value) for seed, value in enumerate(values, 1)]


AXES = ["path.rtt"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12).filter(lambda values: max(values) - min(values) > 1e-3))
def test_the_interval_is_student_s(values: list[float]) -> None:
    (cell,) = cells(table(*ok(0, "5ms", *values)), "v", AXES, AXES).to_dicts()
    low, high = stats.t.interval(0.95, len(values) - 1, loc=math.fsum(values) / len(values), scale=stats.sem(values))
    size = max(map(abs, values))
    assert cell["mean"] == pytest.approx(sum(values) / len(values), abs=1e-9 * size)
    assert (cell["low"], cell["high"]) == (pytest.approx(low, abs=1e-6 * size), pytest.approx(high, abs=1e-6 * size))


def test_one_run_has_a_mean_and_no_interval() -> None:
    (cell,) = cells(table(*ok(0, "5ms", 0.5)), "v", AXES, AXES).to_dicts()
    assert (cell["mean"], cell["low"], cell["high"], cell["n"]) == (0.5, None, None, 1)


def test_what_is_invalid_or_failed_is_counted_and_never_averaged() -> None:
    rows = table(
        *ok(0, "5ms", 1.0, 3.0, None),
        (0, "5ms", "sim", 4, "invalid", "dropped elsewhere", 1e9),
        (0, "5ms", "sim", 5, "failed", "guest hang", None),
        (1, "9ms", "sim", 1, "failed", "guest hang", None),
    )
    first, second = cells(rows, "v", AXES, AXES).to_dicts()
    assert (first["mean"], first["n"], first["unknown"], first["invalid"], first["failed"]) == (2.0, 2, 1, 1, 1)
    assert first["reasons"] == "dropped elsewhere; guest hang"
    assert (second["mean"], second["low"], second["n"], second["failed"]) == (None, None, 0, 1)


def test_a_value_of_several_metrics_is_worked_out_for_each_run_before_the_mean() -> None:
    rows = table(*ok(0, "5ms", 1.0, 4.0))
    (cell,) = cells(rows, "v / seed", AXES, AXES).to_dicts()
    assert cell["mean"] == pytest.approx((1 / 1 + 4 / 2) / 2)


def test_points_that_differ_in_an_axis_that_is_not_shown_are_not_mixed() -> None:
    rows = table(*ok(0, "5ms", 1.0), *ok(1, "5ms", 2.0, engine="kernel"), *ok(2, "9ms", 2.0))
    with pytest.raises(ResultError) as error:
        cells(rows, "v", AXES, ["path.rtt", "engine"])
    assert "engine (sim, kernel) varies too" in str(error.value)
    assert "--panels engine" in str(error.value)
    assert "\"engine = 'sim'\"" in str(error.value)
    assert cells(chosen(rows, "engine = 'sim'"), "v", AXES, ["path.rtt", "engine"])["mean"].to_list() == [1.0, 2.0]


def test_axes_that_go_together_are_one() -> None:
    rows = table(*ok(0, "5ms", 1.0), *ok(1, "9ms", 2.0, engine="kernel"))
    assert cells(rows, "v", AXES, ["path.rtt", "engine"])["mean"].to_list() == [1.0, 2.0]


def test_a_condition_that_nothing_meets_is_an_error() -> None:
    with pytest.raises(ResultError, match="none of 1 runs meets the condition 'seed > 5'"):
        chosen(table(*ok(0, "5ms", 1.0)), "seed > 5")


def test_a_difference_is_second_minus_first_with_welch_s_interval() -> None:
    first, second = [1.0, 2.0, 3.0], [4.0, 6.0, 8.0, 10.0]
    rows = table(*ok(0, "5ms", *first), *ok(1, "5ms", *second, engine="kernel"))
    (cell,) = differences(rows, "v", AXES, AXES, ("engine", "sim", "kernel")).to_dicts()
    span = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    assert (cell["mean"], cell["first"], cell["second"]) == (5.0, 2.0, 7.0)
    assert (cell["low"], cell["high"]) == (pytest.approx(span.low), pytest.approx(span.high))
    assert cell["apart"] is False  # 2 ± 2.48 and 7 ± 4.11 overlap.


def test_arms_with_disjoint_intervals_are_apart() -> None:
    rows = table(*ok(0, "5ms", 1.0, 1.1, 0.9), *ok(1, "5ms", 5.0, 5.1, 4.9, engine="kernel"))
    (cell,) = differences(rows, "v", AXES, AXES, ("engine", "sim", "kernel")).to_dicts()
    assert cell["apart"] is True


def test_a_cell_that_failed_in_an_arm_stays_and_one_of_a_single_arm_has_no_difference() -> None:
    rows = table(
        *ok(0, "5ms", 1.0, 2.0),
        (1, "5ms", "kernel", 1, "failed", "guest hang", None),
        *ok(2, "9ms", 3.0, engine="kernel"),
    )
    found = differences(rows, "v", AXES, AXES, ("engine", "sim", "kernel")).to_dicts()
    assert [(cell["path.rtt"], cell["mean"], cell["failed"], cell["reasons"]) for cell in found] == [
        ("5ms", None, 1, "guest hang"),
    ]
    assert [cell["apart"] for cell in found] == [None]
