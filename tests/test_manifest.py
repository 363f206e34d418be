"""Manifests of runs and sweeps: what is valid, and which key an error names."""

from pathlib import Path

import pytest

from dumbbell.results.manifest_schema import RUN, SWEEP
from dumbbell.results.schema import ANY, Listed, Number, Object, Text, fault, keys, strange

MANUAL = Path(__file__).parents[1] / "docs" / "result.md"


def table(schema: Object) -> str:
    """The schema as the manual has it."""
    rows = (f"| `{key}` | {says} | {'yes' if needed else ''} |\n" for key, says, needed in keys(schema))
    return "| key | holds | must be there |\n| --- | --- | --- |\n" + "".join(rows)


@pytest.mark.parametrize("schema", [RUN, SWEEP], ids=["run.json", "sweep.json"])
def test_the_manual_lists_the_schema(schema: Object) -> None:
    assert table(schema) in MANUAL.read_text(encoding="utf-8"), table(schema)


SMALL = Object(
    {"name": Text(), "flows": Listed(Object({"name": Text(), "start_s": Number("seconds", 0, 10)}, {}), unique="name")},
    {"more": ANY},
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "the file is null; an object is expected"),
        ([], "the file is a list of 0; an object is expected"),
        ({"name": "a"}, "`flows` is missing; a list of objects is expected"),
        ({"name": 5, "flows": []}, "`name` is 5; a text is expected"),
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
def test_a_fault_names_key_value_and_what_is_expected(value: object, said: str) -> None:
    assert str(fault(SMALL, value)) == said


def test_what_fits_has_no_fault_and_other_keys_are_left_alone() -> None:
    assert fault(SMALL, {"name": "a", "flows": [{"name": "b", "start_s": 1.5}], "stranger": 5, "more": [None]}) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [float("nan")]}, "`a[0]` is NaN"),
        ({"a": float("inf")}, "`a` is Infinity"),
        ({"a": 10**5000}, "`a` is a number with too many digits"),
        ({"a": "\ud800"}, "`a` is not valid text"),
        ({"\ud800": 1}, "the file has a key that is not valid text"),
    ],
)
def test_what_no_manifest_holds_is_a_fault_wherever_it_stands(value: object, said: str) -> None:
    assert str(strange(value)).startswith(said)


def test_a_value_is_nested_no_deeper_than_any_writer_nests() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    assert "is nested too deeply; nesting of at most 64 levels is expected" in str(strange({"a": value}))
