"""Manifests of runs and sweeps: what is valid, and which key an error names."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _sim
from dumbbell.errors import ResultError

MANUAL = Path(__file__).parents[1] / "docs" / "result.md"
FLOW = {"name": "f", "group": "g", "kind": "tcp", "cc": "bbr", "fct_s": None}
SMALL: dict[str, Any] = {
    "format": 1, "name": "a", "title": "A", "engine": "sim", "seed": 1, "duration_s": 1.0, "wall_s": None,
    "valid": True, "invalid": [], "warnings": [], "source": None, "flows": [FLOW], "queues": [], "counters": {"a": 5},
}  # fmt: skip


@pytest.mark.parametrize("name", ["RunManifest", "SweepManifest"])
def test_the_manual_lists_the_keys(name: str) -> None:
    rows = (
        f"| `{key}` | {content} | {'yes' if needed else ''} |\n" for key, content, needed in _sim.manifest_keys(name)
    )
    table = "| key | holds | required |\n| --- | --- | --- |\n" + "".join(rows)
    assert table in MANUAL.read_text(encoding="utf-8"), table


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in SMALL.items() if name != key}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the file is null; an object is expected"),
        ([], "the file is a list of 0; an object is expected"),
        (without("flows"), "`flows` is missing; a list of objects is expected"),
        (SMALL | {"title": 5}, "`title` is 5; a string is expected"),
        (SMALL | {"flows": {}}, "`flows` is an object of 0; a list is expected"),
        (
            SMALL | {"flows": [FLOW | {"start_s": "abc"}]},
            '`flows[0].start_s` is "abc"; a number of seconds from 0 to 1,000,000,000, or null is expected',
        ),
        (SMALL | {"seed": 1.5}, "`seed` is 1.5; a whole number from 0 to 2^64, or null is expected"),
        (SMALL | {"duration_s": True}, "`duration_s` is true; a number of seconds from 0 to 1,000,000,000 is expected"),
        (SMALL | {"flows": [FLOW, FLOW]}, '`flows[1].name` is "f" again; a unique value is expected'),
        (SMALL | {"more": [float("nan")]}, "`more[0]` is NaN; a number below 2^64 is expected"),
        (SMALL | {"more": float("inf")}, "`more` is Infinity; a number below 2^64 is expected"),
        (SMALL | {"more": 10**5000}, "`more` is a number with too many digits; a number below 2^64 is expected"),
        (SMALL | {"more": "\ud800"}, "`more` is not valid text; UTF-8 is expected"),
        (SMALL | {"\ud800": 1}, "the file has a key that is not valid text; UTF-8 is expected"),
    ],
)
def test_an_error_has_key_value_and_expectation(value: object, message: str) -> None:
    assert _sim.manifest_problem(value) == message


def test_a_too_deeply_nested_value_is_an_error() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    assert "is nested too deeply; nesting of at most 64 levels" in str(_sim.manifest_problem(SMALL | {"a": value}))


def test_keys_are_attributes_and_items_and_others_are_kept(tmp_path: Path) -> None:
    manifest = _sim.manifest(SMALL | {"unknown": 5})
    assert (manifest.seed, manifest["seed"], manifest.get("seed")) == (1, 1, 1)
    assert manifest.flows[0].cc == manifest["flows"][0]["cc"] == "bbr"
    assert manifest.bottleneck is None
    assert "bottleneck" not in manifest
    assert manifest["unknown"] == 5
    with pytest.raises(AttributeError, match="'RunManifest' has no key 'sead'"):
        getattr(manifest, "sead")  # noqa: B009 — a type checker refuses it, too
    _sim.write_manifest(manifest, tmp_path / "run.json")
    again = _sim.parse_manifest((tmp_path / "run.json").read_bytes(), "RunManifest", "a run's manifest")
    assert again == manifest == SMALL | {"unknown": 5}
    assert list(again) == [*SMALL, "unknown"]


def test_a_manifest_can_be_copied_and_sent_to_another_process() -> None:
    manifest = _sim.manifest(SMALL)
    assert copy.deepcopy(manifest) == pickle.loads(pickle.dumps(manifest)) == manifest
    assert copy.copy(manifest.flows[0]) == FLOW


def test_a_changed_manifest_is_checked() -> None:
    manifest = _sim.manifest(SMALL)
    assert manifest.with_keys({"seed": 2}).seed == 2
    assert manifest.seed == 1
    with pytest.raises(ResultError, match="`seed` is -1"):
        manifest.with_keys({"seed": -1})


def test_hidden_characters_are_escapes_in_the_file() -> None:
    text = _sim.manifest_text(SMALL | {"title": "a\u202eb\U000e0041c"})
    assert '"title": "a\\u202eb\\udb40\\udc41c"' in text
