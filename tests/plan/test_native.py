"""The plan in Rust equals the plan in Python: for the agent, for the simulator, as a script, and every error."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError
from dumbbell.spec import load, parse, scenarios
from dumbbell.spec.document import read
from dumbbell.spec.script import read_script
from dumbbell.spec.attachments import Attachments, read_attachments
from plan.drawn import documents, documents_for_hosts, traces
from plan.native import compare, compare_remote
from plan.test_plan import VARIED
from plan.test_world import experiments


@pytest.mark.parametrize("name", scenarios())
def test_a_scenario_s_plans_are_equal(name: str) -> None:
    for case in load(scenarios()[name]):
        for seed in (1, 2**63):
            assert compare(case.experiment, read_attachments(case), seed) == "planned"


@pytest.mark.parametrize("name", VARIED)
def test_an_experiment_s_plans_are_equal(name: str) -> None:
    case = parse(VARIED[name], Path("mine.toml"))[0]
    assert compare(case.experiment, read_attachments(case), 1) == "planned"


@given(experiments(), st.integers(0, 2**63 - 1))
def test_plans_of_any_experiment_are_equal(text: str, seed: int) -> None:
    try:
        case = parse(text, Path("any.toml"))[0]
    except DumbbellError:
        return
    compare(case.experiment, read_attachments(case), seed)


@given(documents(), traces(), st.integers(0, 2**63 - 1))
def test_plans_with_every_key_are_equal(document: dict[str, Any], trace: tuple[tuple[int, int], ...], seed: int) -> None:
    bottleneck = document["path"].get("bottleneck")
    if trace and bottleneck:
        bottleneck.pop("rate", None)
        bottleneck["trace"] = "rates"
    try:
        case = read(document, Path("any.toml"))[0]
    except DumbbellError as error:
        event(f"no experiment: {error}"[:60])
        return
    script = case.experiment.path.tc and read_script(list(case.experiment.path.tc.commands), "eth0")
    attachments = Attachments(script, trace if bottleneck else ())
    event(compare(case.experiment, attachments, seed))


@given(documents_for_hosts(), st.integers(0, 2**63 - 1))
def test_plans_for_real_hosts_are_equal(document: dict[str, Any], seed: int) -> None:
    try:
        case = read(document, Path("any.toml"))[0]
    except DumbbellError as error:
        event(f"no experiment: {error}"[:60])
        return
    event(compare_remote(case, seed))
