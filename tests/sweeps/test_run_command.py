"""The command of a run repeats exactly that run."""

import shlex
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.document import read, split_setting
from dumbbell.sweeps.task import base_of, tasks_at
from dumbbell.sweeps.task_runner import case_of, command_for, setting
from sweeps.conftest import SMALL, sweep_from

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SINGLE = st.one_of(TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans())
VALUES = st.recursive(
    SINGLE, lambda held: st.lists(held, max_size=3) | st.dictionaries(TEXTS, held, max_size=3), max_leaves=6
)


@given(VALUES)
def test_a_setting_is_read_back_as_it_was(value: Any) -> None:
    assert split_setting(setting("path.rtt", value)) == ("path.rtt", value)


def test_the_command_of_a_run_gives_that_run(tmp_path: Path) -> None:
    sweep = sweep_from(SMALL, tmp_path)
    base = base_of(sweep)
    for task in tasks_at(sweep, sweep.points()[7], [3]):
        arguments = shlex.split(command_for(task, "experiment.toml"))
        assert arguments[:7] == ["dumbbell", "run", "experiment.toml", "--engine", "sim", "--seed", "3"]
        (case,) = read(
            dict(base.experiment),
            base.file,
            [arguments[at + 1] for at, word in enumerate(arguments) if word == "--set"],
        )
        assert case.experiment == case_of(base, task).experiment
