"""Every built-in scenario's commands for its first case, reviewed like code.

After an intended change of the plan, update the snapshots and review the difference:

    DUMBBELL_UPDATE_SNAPSHOTS=1 .venv/bin/pytest tests/plan/test_snapshots.py; git diff tests/plan/snapshots
"""

import os
import re
from pathlib import Path

from dumbbell.plan import as_script, make
from dumbbell.spec import load, scenarios
from dumbbell.spec.attachments import read_attachments

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = os.environ.get("DUMBBELL_UPDATE_SNAPSHOTS") == "1"


def snapshot(scenario: str, case: str) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", f"{scenario} {case}".lower()).strip("-")
    return FOLDER / f"{name}.sh"


def test_a_scenario_s_commands_equal_the_reviewed_snapshot() -> None:
    """The first case represents the others, which differ in a number, a controller or a discipline."""
    for name, path in scenarios().items():
        case = load(path)[0]
        title = ": ".join(each for each in (case.experiment.title, case.name) if each)
        script = as_script(make(case.experiment, read_attachments(case), 1), title)
        file = snapshot(name, case.name)
        if UPDATE:
            file.parent.mkdir(exist_ok=True)
            file.write_text(script, encoding="utf-8")
        assert script == file.read_text(encoding="utf-8"), f"{name}: see the top of this file"


def test_every_snapshot_has_a_scenario() -> None:
    expected = {snapshot(name, load(file)[0].name).name for name, file in scenarios().items()}
    assert {file.name for file in FOLDER.glob("*")} == expected
