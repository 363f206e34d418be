"""`action.yml`: the step that runs tests in other people's CI."""

import os
import re
import subprocess
from pathlib import Path

import yaml

from conftest import COMMAND
from engines.measured import CUBIC, experiment

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())


def test_every_input_is_declared_and_used() -> None:
    steps = str(ACTION["runs"]["steps"])
    assert set(re.findall(r"inputs\.(\w+)", steps)) == set(ACTION["inputs"])


def test_the_step_runs_experiments_and_writes_junit(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.toml").write_text('expect = ["utilization > 2"]\n' + experiment(CUBIC, duration="1s"))
    (tmp_path / "dumbbell/bin").mkdir(parents=True)
    (tmp_path / "dumbbell/bin/dumbbell").symlink_to(COMMAND)
    step = ACTION["runs"]["steps"][1]
    inputs = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
    inputs |= {"paths": "tests", "arguments": "--seed 1..2"}
    environment = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], value)
        for name, value in step["env"].items()
    }
    # As GitHub runs `shell: bash`.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, check=False,
        env=os.environ | environment | {"RUNNER_TEMP": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "not ok 2 a.toml seed 2 # utilization > 2 (" in done.stdout
    assert 'failures="2"' in (tmp_path / "dumbbell-results.xml").read_text()
