"""Manifests of runs and sweeps: what is valid, and which key an error names."""

from pathlib import Path

import pytest

from dumbbell.results.manifest import RUN, SWEEP
from dumbbell.results.schema import ANY, Listed, Number, Object, Text, fault, keys, strange

MANUAL = Path(__file__).parents[1] / "docs" / "result.md"


def table(schema: Object) -> str:
    """The schema as a table of the manual."""
    rows = (f"| `{key}` | {content} | {'yes' if needed else ''} |\n" for key, content, needed in keys(schema))
    return "| key | holds | required |\n| --- | --- | --- |\n" + "".join(rows)


@pytest.mark.parametrize("schema", [RUN, SWEEP], ids=["run.json", "sweep.json"])
def test_the_manual_lists_the_schema(schema: Object) -> None:
    assert table(schema) in MANUAL.read_text(encoding="utf-8"), table(schema)


SMALL = Object(
    {"name": Text(), "flows": Listed(Object({"name": Text(), "start_s": Number("seconds", 0, 10)}, {}), unique="name")},
    {"more": ANY},
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the file is null; an object is expected"),
        ([], "the file is a list of 0; an object is expected"),
        ({"name": "a"}, "`flows` is missing; a list of objects is expected"),
        ({"name": 5, "flows": []}, "`name` is 5; a string is expected"),
        ({"name": "a", "flows": {}}, "`flows` is an object of 0; a list is expected"),
        (
            {"name": "a", "flows": [{"name": "b", "start_s": "abc"}]},
            '`flows[0].start_s` is "abc"; a number of seconds from 0 to 10 is expected',
        ),
        (
            {"name": "a", "flows": [{"name": "b", "start_s": True}]},
            "`flows[0].start_s` is true; a number of seconds from 0 to 10 is expected",
        ),
        (
            {"name": "a", "flows": [{"name": "b", "start_s": 0}, {"name": "b", "start_s": 0}]},
            '`flows[1].name` is "b" again; a unique value is expected',
        ),
    ],
)
def test_an_error_has_key_value_and_expectation(value: object, message: str) -> None:
    assert str(fault(SMALL, value)) == message


def test_a_valid_value_has_no_error_and_other_keys_are_ignored() -> None:
    assert fault(SMALL, {"name": "a", "flows": [{"name": "b", "start_s": 1.5}], "unknown": 5, "more": [None]}) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [float("nan")]}, "`a[0]` is NaN"),
        ({"a": float("inf")}, "`a` is Infinity"),
        ({"a": 10**5000}, "`a` is a number with too many digits"),
        ({"a": "\ud800"}, "`a` is not valid text"),
        ({"\ud800": 1}, "the file has a key that is not valid text"),
    ],
)
def test_an_unserializable_value_is_an_error_at_any_depth(value: object, message: str) -> None:
    assert str(strange(value)).startswith(message)


def test_a_too_deeply_nested_value_is_an_error() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    assert "is nested too deeply; nesting of at most 64 levels is expected" in str(strange({"a": value}))
