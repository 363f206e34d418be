"""The plan in Rust equals the plan in Python: for the agent, for the simulator, as a script, and every error."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError
from dumbbell.spec import load, parse, scenarios
from dumbbell.spec.attachments import read_attachments
from plan.native import compare
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
