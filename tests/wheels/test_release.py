"""Releases: what keeps a state from being one, and the workflows' commands."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_a_tag_of_another_version_is_no_release() -> None:
    command = [sys.executable, "scripts/release.py", "v999.0.0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the tag is v999.0.0, but pyproject.toml has version" in done.stderr
    assert not (ROOT / "dist" / "SHA256SUMS").exists()


def test_workflows_run_targets_that_exist_and_may_write_only_where_they_publish() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = []
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            writes = [key for key, value in job.get("permissions", {}).items() if value == "write"]
            assert not writes or name in {"sign", "publish"}
            commands += [step["run"] for step in job["steps"] if "run" in step]
    used = {target for command in commands if command.startswith("make ") for target in command.split()[1:]}
    used = {target for target in used if "=" not in target}
    assert used >= {"quick", "release-check", "site", "test-all"}
    assert used <= targets
    assert ".ci/run" in commands
