"""Edits of an experiment's text by the page's controls."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.web.experiment_text import BLANK, Edit, apply_edits

TEXT = """# what this shows
title = "A" # of many
duration = "30s"
[path]
rtt = "10ms"   # there and back
[path.bottleneck]
rate = "1mbit"

[[flows]]
cc = "bbr" # first
[[flows]]
cc = "cubic"
"""

VALUES = st.one_of(
    st.text(max_size=20),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)


def test_an_edit_changes_its_value_and_nothing_else() -> None:
    assert apply_edits(TEXT, [Edit(key="path.rtt", value="25ms")]) == TEXT.replace('"10ms"', '"25ms"')


def test_edits_are_applied_in_order() -> None:
    edits = [
        Edit(do="add", key="flows", value={"cc": "reno"}),
        Edit(do="remove", key="flows.0"),
        Edit(key="flows.1.start", value="2s"),
        Edit(key="path.loss", value="1%"),
        Edit(key="path.loss", value=None),
    ]
    document = tomllib.loads(apply_edits(TEXT, edits))
    assert document["flows"] == [{"cc": "cubic"}, {"cc": "reno", "start": "2s"}]
    assert "loss" not in document["path"]


def test_flows_may_be_inline_tables() -> None:
    text = 'duration = "1s"\nflows = [{ cc = "bbr" }]\n'
    document = tomllib.loads(apply_edits(text, [Edit(do="add", key="flows", value={"cc": "reno"})]))
    assert document["flows"] == [{"cc": "bbr"}, {"cc": "reno"}]


def test_a_missing_table_is_created() -> None:
    assert tomllib.loads(apply_edits('duration = "1s"\n', [Edit(key="path.rtt", value="1ms")]))["path"] == {
        "rtt": "1ms"
    }


@pytest.mark.parametrize("key", ["flows.7.cc", "flows.x.cc", "title.deeper", "duration.0", "flows.bbr"])
def test_the_error_of_an_impossible_key_contains_it(key: str) -> None:
    with pytest.raises(ExperimentError, match=key.replace(".", r"\.")):
        apply_edits(TEXT, [Edit(key=key, value="1s")])


def test_a_text_that_is_no_toml_is_an_error() -> None:
    with pytest.raises(ExperimentError, match="not TOML"):
        apply_edits("[[", [Edit(key="path.rtt", value="1ms")])


@given(st.sampled_from(["title", "path.rtt", "path.new", "flows.1.cc", "flows.0.more"]), VALUES)
def test_any_value_is_parsed_as_it_was_set(key: str, value: str | float | bool) -> None:
    found: Any = tomllib.loads(apply_edits(TEXT, [Edit(key=key, value=value)]))
    for step in key.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    assert found == value


@given(st.text(max_size=200), st.text(max_size=30), st.sampled_from(["set", "add", "remove"]))
def test_any_text_is_edited_or_an_error(text: str, key: str, do: str) -> None:
    try:
        apply_edits(text, [Edit.model_validate({"do": do, "key": key, "value": "1s"})])
        apply_edits(BLANK, [Edit.model_validate({"do": do, "key": key, "value": {"cc": "bbr"}})])
    except ExperimentError:
        pass
