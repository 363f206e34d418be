"""Rust's parser of experiments gives Python's values, and refuses what Python refuses with the same or a better error.

It goes away with Python's parser.
"""

import dataclasses
import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from dumbbell import _sim, limits
from dumbbell.spec import hosts, model, programs, published, scenarios, seen, with_programs
from dumbbell.spec.document import with_settings
from dumbbell.spec.qdisc import GRAMMAR
from dumbbell.spec.scenarios import sweeps
from dumbbell.spec.sweep import ABOUT_THE_RUN, load_sweep, settings_at
from dumbbell.spec.tomlout import as_toml
from hostile.almost_valid import documents, with_mistake
from spec.differential import Verdict, compared, compared_document
from spec.test_document import BAD, GOOD, KEYS, VALUES
from spec.test_document import toml as toml_value

ROOT = Path(__file__).parents[2]
FILES = sorted((scenarios() | published() | with_programs()).values())
AGREED = (Verdict.SAME_VALUES, Verdict.SAME_ERROR)
SEARCH = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_built_in_experiments_have_the_same_values(file: Path) -> None:
    assert compared(file.read_text(), file).verdict == Verdict.SAME_VALUES


@pytest.mark.parametrize("file", sorted(sweeps().values()), ids=lambda file: file.stem)
def test_points_of_built_in_sweeps_have_the_same_values(file: Path) -> None:
    sweep = load_sweep(file)
    points = sweep.points()
    for point in points[:: max(len(points) // 10, 1)]:
        made = {key: value for key, value in settings_at(sweep, point.values).items() if key not in ABOUT_THE_RUN}
        document = with_settings(sweep.experiment, made, sweep.experiment_file)
        assert compared_document(document, sweep.experiment_file).verdict == Verdict.SAME_VALUES


@pytest.mark.parametrize("mistake", BAD)
def test_mistakes_have_the_same_or_a_better_error(mistake: str) -> None:
    difference = compared(BAD[mistake][0], Path("mine.toml"))
    better = {"unknown key at the top", "unknown defaults of TCP", "not TOML", "seed below zero"}
    assert difference.verdict == (Verdict.OTHER_ERROR if mistake in better else Verdict.SAME_ERROR), difference


@SEARCH
@given(KEYS, VALUES)
def test_any_value_at_any_key_is_valid_for_both_or_for_none(key: str, value: object) -> None:
    difference = compared(GOOD, Path("mine.toml"), [f"{key}={toml_value(value)}"])
    assert difference.verdict in (*AGREED, Verdict.OTHER_ERROR), difference


@SEARCH
@given(st.data())
def test_almost_valid_documents_are_valid_for_both_or_for_none(data: st.DataObject) -> None:
    document = data.draw(documents())
    if data.draw(st.booleans()):
        document = data.draw(st.composite(with_mistake)(document))
    difference = compared_document(document, Path("x.toml"))
    assert difference.verdict in (*AGREED, Verdict.OTHER_ERROR), difference


@SEARCH
@given(st.binary(max_size=600))
def test_random_experiments_of_rust_have_the_same_values(bytes_: bytes) -> None:
    document = _sim.random_experiment(bytes_)
    assert compared_document(document, Path("x.toml")).verdict == Verdict.SAME_VALUES
    text = _sim.write_toml(document)
    assert tomllib.loads(text) == document
    assert compared(text, Path("x.toml")).verdict == Verdict.SAME_VALUES
    assert tomllib.loads(as_toml(document)) == document


@SEARCH
@given(st.sampled_from(FILES), st.lists(st.tuples(st.integers(0, 9_999), st.sampled_from([*"[]{}=.,\"'#\n\\0a", ""]))))
def test_damaged_texts_are_valid_for_both_or_for_none(file: Path, changes: list[tuple[int, str]]) -> None:
    text = file.read_text()
    for index, character in changes:
        text = text[: index % len(text)] + character + text[index % len(text) + 1 :]
    difference = compared(text, file)
    assert difference.verdict in (*AGREED, Verdict.OTHER_ERROR), difference


def test_a_misspelt_name_is_suggested_at_least_as_often() -> None:
    """Every key and discipline with one letter left out, doubled, replaced or swapped with the next."""
    keys = sorted(json.loads(_sim.declarations()["schema"])["definitions"]["Flows"]["properties"])
    found = {"difflib": 0, "rust": 0}
    for names in (keys, sorted(GRAMMAR)):
        for name in names:
            for word in {_damaged(name, how, at) for how in range(4) for at in range(len(name) - 1)} - set(names):
                found["difflib"] += get_close_matches(word, names, n=1, cutoff=0.6) == [name]
                found["rust"] += _suggested(word, names is keys) == name
    assert found["rust"] >= found["difflib"] > 0


def _damaged(name: str, how: int, at: int) -> str:
    letter, after = name[at], name[at + 1 :]
    return name[:at] + ("", letter * 2, "x", after[:1] + letter)[how] + (after[1:] if how == 3 else after)


def _suggested(word: str, is_key: bool) -> str:
    change = f'flows.0.{word}="x"' if is_key else f'path.bottleneck.qdisc="{word}"'
    try:
        _sim.parse_experiment(GOOD, "mine", [change])
    except _sim.Mistakes as mistakes:
        right = mistakes.args[0][0]["right"]
        return str(right).partition("did you mean '")[2].partition("'")[0]
    return word


def test_limits_have_one_default() -> None:
    assert _sim.declarations()["limits"] == {
        name: limits.LIMITS[name].default for name in _sim.declarations()["limits"]
    }


def test_a_mistake_has_its_place_and_an_excerpt() -> None:
    with pytest.raises(_sim.Mistakes) as caught:
        _sim.parse_experiment(GOOD.replace("10mbit", "fast"), "mine", file="mine.toml")
    mistakes, text = caught.value.args
    assert [(each["key"], each["line"], each["column"], each["value"]) for each in mistakes] == [
        ("path.bottleneck.rate", 5, 8, "fast")
    ]
    assert 'mine.toml:5:8\n  |\n5 | rate = "fast"\n  |        ^^^^^^' in text


def test_the_generated_types_have_the_keys_of_the_models() -> None:
    head = "from dataclasses import dataclass\nfrom collections.abc import Mapping\nfrom typing import Literal\n"
    names: dict[str, Any] = {"Qdisc": model.Flows, "Zeros": programs.Zeros, "__name__": "generated"}
    exec(head + _sim.declarations()["dataclasses"], names)
    pairs = {"Segment": model.Access} | {
        name: cls
        for module in (model, programs, hosts, seen)
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, BaseModel) and name in names and cls is not programs.Zeros
    }
    assert len(pairs) > 15
    fields = {name: {field.name for field in dataclasses.fields(names[name])} for name in pairs}
    assert fields == {name: set(cls.model_fields) for name, cls in pairs.items()}
