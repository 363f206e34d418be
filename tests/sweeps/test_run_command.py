"""A run's own command asks for exactly that run."""

import shlex
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.document import read, split_setting
from dumbbell.sweeps.run_command import command_for, setting
from dumbbell.sweeps.task import base_of, tasks_at
from dumbbell.sweeps.task_runner import case_of
from sweeps.conftest import SMALL, asked

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SINGLE = st.one_of(TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans())
VALUES = st.recursive(
    SINGLE, lambda held: st.lists(held, max_size=3) | st.dictionaries(TEXTS, held, max_size=3), max_leaves=6
)


@given(VALUES)
def test_a_setting_is_read_back_as_it_was(value: Any) -> None:
    assert split_setting(setting("path.rtt", value)) == ("path.rtt", value)


def test_the_command_of_a_run_asks_for_that_run(tmp_path: Path) -> None:
    sweep = asked(SMALL, tmp_path)
    base = base_of(sweep)
    for task in tasks_at(sweep, sweep.points()[7], [3]):
        words = shlex.split(command_for(task, "experiment.toml"))
        assert words[:7] == ["dumbbell", "run", "experiment.toml", "--engine", "sim", "--seed", "3"]
        (case,) = read(
            dict(base.experiment), base.file, [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        )
        assert case.experiment == case_of(base, task).experiment
