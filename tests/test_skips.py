"""What tests may skip in CI: `conftest.MAY_BE_SKIPPED_IN_CI` and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import may_be_skipped_in_ci

TESTS = Path(__file__).parent
SKIPS = """
import pytest

def skips(): pytest.skip("{reason}")

@pytest.fixture
def fixture(): skips()

def test_inside(): skips()

def test_in_a_fixture(fixture): pass

@pytest.mark.skip(reason="{reason}")
def test_marked(): pass
"""


@pytest.mark.slow(keep="-6 skipped")
@pytest.mark.parametrize(("in_ci", "outcome"), [("true", "1 failed, 3 skipped, 2 errors"), ("", "6 skipped")])
def test_a_skip_in_ci_is_a_failure_unless_its_reason_is_listed(in_ci: str, outcome: str, tmp_path: Path) -> None:
    for name, reason in (("listed", "Slurm is here"), ("other", "no such program")):
        (tmp_path / f"test_{name}.py").write_text(SKIPS.replace("{reason}", reason))
    arguments = ["-q", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "CI": in_ci}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert process.stdout.splitlines()[-1].startswith(outcome), process.stdout
    assert ("was skipped in CI, which may not be: no such program" in process.stdout) == bool(in_ci)
    assert "which may not be: Slurm" not in process.stdout


def test_a_program_that_could_not_be_installed_may_be_missing_in_ci() -> None:
    reason = "no Chromium here: pages were not opened in a browser"
    assert may_be_skipped_in_ci(reason, ["chromium"])
    assert not may_be_skipped_in_ci(reason, ["tshark"])
    assert not may_be_skipped_in_ci(reason, [])
