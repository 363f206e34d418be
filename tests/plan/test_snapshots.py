"""The commands of ten scenarios that differ in kind, reviewed like code; every scenario can be written as a script.

After an intended change of the plan, update the snapshots and review the difference:

    DUMBBELL_UPDATE_SNAPSHOTS=1 .venv/bin/pytest tests/plan/test_snapshots.py; git diff tests/plan/snapshots
"""

import os
from pathlib import Path

import pytest

from dumbbell.plan import make
from dumbbell.spec import load, scenarios
from dumbbell.spec.attachments import read_attachments

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = os.environ.get("DUMBBELL_UPDATE_SNAPSHOTS") == "1"
REVIEWED = (
    "bufferbloat-cured",  # a rate that changes, three disciplines
    "cyclic",  # the smallest
    "cyclic-script",  # tc commands verbatim
    "heistp2020-l4s",  # dualpi2, ECN, sysctls
    "hpcc-one",  # telemetry, which a host lacks
    "lossy-download",  # loss, sized flows
    "parking-lot",  # several links
    "policer",  # police at the ingress
    "rtt-unfairness",  # access links
    "two-classes",  # classes, filters, offloads
)


def script_of(name: str) -> str:
    """The first case represents the others, which differ in a number, a controller or a discipline."""
    case = load(scenarios()[name])[0]
    title = ": ".join(each for each in (case.experiment.title, case.name) if each)
    return make(case.experiment, read_attachments(case), 1).script(title)


@pytest.mark.parametrize("name", REVIEWED)
def test_a_scenario_s_commands_equal_the_reviewed_snapshot(name: str) -> None:
    file = FOLDER / f"{name}.sh"
    script = script_of(name)
    if UPDATE:
        file.write_text(script, encoding="utf-8")
    assert script == file.read_text(encoding="utf-8"), "see the top of this file"


def test_every_scenario_becomes_a_script_that_sets_its_path_up_and_removes_it() -> None:
    for name in scenarios():
        script = script_of(name)
        assert "ip netns add" in script, name
        assert script.count("ip netns del") >= 1, name


def test_every_snapshot_is_compared() -> None:
    assert {file.stem for file in FOLDER.glob("*")} == set(REVIEWED)
