"""Every built-in scenario's commands, reviewed like code.

When a change of the plan is meant, write the snapshots anew and read the difference:

    DUMBBELL_UPDATE_SNAPSHOTS=1 .venv/bin/pytest tests/plan/test_snapshots.py; git diff tests/plan/snapshots
"""

import os
import re
from pathlib import Path

import pytest

from dumbbell.plan import as_script, make
from dumbbell.spec import load, published, scenarios
from dumbbell.spec.attachments import read_attachments

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = os.environ.get("DUMBBELL_UPDATE_SNAPSHOTS") == "1"


def snapshot(scenario: str, case: str) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", f"{scenario} {case}".lower()).strip("-")
    return FOLDER / f"{name}.sh"


CASES = [
    (name, number)
    for name, file in scenarios().items()
    for number in range(1 if name in published() else len(load(file)))
]
"""Published results have many cases that differ in one number: the first stands for them."""


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_scenario_is_told_to_linux_as_reviewed(name: str, number: int) -> None:
    case = load(scenarios()[name])[number]
    title = ": ".join(part for part in (case.experiment.title, case.name) if part)
    script = as_script(make(case.experiment, read_attachments(case), 1), title)
    kept = snapshot(name, case.name)
    if UPDATE:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(script, encoding="utf-8")
    assert script == kept.read_text(encoding="utf-8"), "see the top of this file"


def test_no_snapshot_outlives_its_scenario() -> None:
    wanted = {snapshot(name, load(scenarios()[name])[number].name).name for name, number in CASES}
    assert {file.name for file in FOLDER.glob("*")} == wanted
