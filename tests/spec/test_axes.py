"""Axes: lists and ranges of every kind of quantity; values parse to their numbers."""

import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dumbbell.spec.axes import Axis, Scale, axis, between, points, written
from dumbbell.spec.units import Wrong

ENDS = {
    "ms": st.floats(0.001, 10**6).map(lambda number: f"{number:.3f}ms"),
    "mbps": st.floats(0.01, 10**5).map(lambda number: f"{number:.2f}mbit"),
    "percent": st.floats(0.0001, 100).map(lambda number: f"{number:.4f}%"),
    "bdp": st.floats(0.01, 1000).map(lambda number: f"{number:.2f}bdp"),
    "bytes": st.integers(1, 10**9).map(lambda number: f"{number}b"),
    None: st.one_of(st.integers(1, 10**6), st.floats(0.001, 10**6)),
}
SCALES = st.sampled_from(["linear", "log"])


@st.composite
def ranges(draw: st.DrawFn) -> dict[str, Any]:
    ends = ENDS[draw(st.sampled_from(list(ENDS)))]
    return {"from": draw(ends), "to": draw(ends), "points": draw(st.integers(2, 30)), "scale": draw(SCALES)}


def axis_of(settings: dict[str, Any]) -> Axis:
    try:
        return axis("key", settings)
    except Wrong:
        assume(False)
        raise


@pytest.mark.slow
@given(ranges())
def test_a_range_rises_from_end_to_end_and_its_values_parse_to_its_numbers(settings: dict[str, Any]) -> None:
    result = axis_of(settings)
    assert result.numbers is not None
    assert (result.values[0], result.values[-1]) == (settings["from"], settings["to"])
    assert len(result.values) == settings["points"]
    assert all(low < high for low, high in itertools.pairwise(result.numbers))
    assert result.numbers == tuple(result.number(value) for value in result.values)
    if isinstance(settings["from"], int) and isinstance(settings["to"], int):
        assert all(isinstance(value, int) for value in result.values)


@pytest.mark.slow
@given(ranges())
def test_a_range_s_steps_are_equal_on_its_scale(settings: dict[str, Any]) -> None:
    result = axis_of(settings)
    assert result.numbers is not None
    low, high = result.numbers[0], result.numbers[-1]
    for at, number in enumerate(result.numbers):
        fraction = at / (len(result.numbers) - 1)
        expected = low * (high / low) ** fraction if settings["scale"] == "log" else low + (high - low) * fraction
        # Integers are rounded; bytes are written with a fraction and read as whole bytes, without it.
        error = 0.51 if result.whole else 1.01 if result.unit == "bytes" else 2e-6
        assert number == pytest.approx(expected, rel=1e-3, abs=error)


MOST_HALVINGS = 1_100
"""Halvings until no double is between the ends: the exponent's range and the digits of a double."""


@pytest.mark.slow
@given(ranges())
def test_the_middle_is_between_its_neighbours_and_parses_to_its_number(settings: dict[str, Any]) -> None:
    result = axis_of(settings)
    assert result.numbers is not None
    low, high = result.numbers[:2]
    for _ in range(MOST_HALVINGS):
        if (middle := between(result, low, high)) is None:
            break
        value, number = middle
        assert low < number < high
        assert result.number(value) == number
        assert not result.whole or isinstance(value, int)
        high = number
    else:
        raise AssertionError("halved more often than doubles allow, and there is still a value between")


@pytest.mark.parametrize(
    ("value", "values", "unit", "scale"),
    [
        (["5ms", "20ms", "0.1s"], (5, 20, 100), "ms", "log"),
        (["10mbit", "1gbit"], (10, 1000), "mbps", "log"),
        (["0%", "0.3%", "1%"], (0, 0.3, 1), "percent", "linear"),
        (["0.5bdp", "1.5bdp"], (0.5, 1.5), "bdp", "linear"),
        (["64kb", "61MB"], (65536, 61e6), "bytes", "log"),
        ([1, 2, 4], (1, 2, 4), None, "linear"),
        ([0.5, 1], (0.5, 1), None, "linear"),
        (["cubic", "bbr"], None, None, "category"),
        (["1bdp", "64kb"], None, None, "category"),
        ([True, False], None, None, "category"),
        ({"from": 1, "to": 100, "points": 5, "scale": "log"}, (1, 3, 10, 32, 100), None, "log"),
        ({"from": "10s", "to": "10.01s", "points": 3}, (10_000, 10_005, 10_010), "ms", "linear"),
        ({"from": "1b", "to": "1GB", "points": 4, "scale": "log"}, (1, 1000, 10**6, 10**9), "bytes", "log"),
    ],
)
def test_kinds_of_values(value: object, values: tuple[float, ...] | None, unit: str | None, scale: Scale) -> None:
    result = axis("key", value)
    assert (result.numbers, result.unit, result.scale) == (values, unit, scale)
    assert result.column == (f"key_{unit}" if unit else "key")


@pytest.mark.parametrize(
    ("value", "problem", "right"),
    [
        ([], "not a list of values", r'\["5ms", "20ms"\]'),
        ("5ms", "not a list of values", "points = 5"),
        ([float("nan"), 1.0], "nan is not a number", "a finite one"),
        ({"from": 1, "points": 9}, "a range without 'to'", "points = 5"),
        ({"from": 1, "to": 9, "points": 3, "step": 1}, "unknown key 'step'", "points = 5"),
        ({"from": 9, "to": 1, "points": 3}, "must rise", "points = 5"),
        ({"from": "1ms", "to": "1mbit", "points": 3}, "must rise", "points = 5"),
        ({"from": "1ms", "to": 9, "points": 3}, "must rise", "points = 5"),
        ({"from": 0, "to": 9, "points": 3, "scale": "log"}, "begin at 0", "above 0"),
        ({"from": 1, "to": 9, "points": 1}, "not a number of points", "from 2"),
        ({"from": 1, "to": 9, "points": True}, "not a number of points", "from 2"),
        ({"from": 1, "to": 9, "points": 3, "scale": "cubic"}, "'cubic' is not a scale", "linear or log"),
        ({"from": 1, "to": 4, "points": 9}, "only 4 different values", r"list them: \[1, 2, 3, 4\]"),
        ({"from": "1b", "to": "4b", "points": 9}, "only 4 different values", "fewer points"),
    ],
)
def test_an_invalid_axis_is_an_error(value: object, problem: str, right: str) -> None:
    with pytest.raises(Wrong, match=problem) as caught:
        axis("key", value)
    assert caught.match(right)


def test_tables_are_crossed_and_axes_of_one_table_vary_together() -> None:
    a, b, c = axis("a", [1, 2]), axis("b", ["x", "y"]), axis("c", [7, 8, 9])
    found = [tuple(point.values.values()) for point in points([[a, b], [c]])]
    assert found == [(1, "x", 7), (1, "x", 8), (1, "x", 9), (2, "y", 7), (2, "y", 8), (2, "y", 9)]
    assert [point.number for point in points([])] == [0]


def test_a_value_in_a_table_is_kept_as_written() -> None:
    assert [written(each) for each in ("5ms", 3, 0.5, True, {"b": 1, "a": "x"})] == [
        "5ms", 3, 0.5, "true", '{"a": "x", "b": 1}',
    ]  # fmt: skip
