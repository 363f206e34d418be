"""The experiments of docs/results/search still fail as they expect, on the simulator."""

from pathlib import Path

import pytest

from conftest import Dumbbell

SAVED = sorted((Path(__file__).parents[2] / "docs" / "results" / "search").glob("*-worst.toml"))


def test_every_search_has_saved_one() -> None:
    assert len(SAVED) == 7


@pytest.mark.slow(keep="bbr-cliff-worst")
@pytest.mark.parametrize("file", SAVED, ids=lambda file: file.stem)
def test_a_saved_experiment_fails_as_it_expects(dumbbell: Dumbbell, file: Path) -> None:
    done = dumbbell("run", file, "--seed", "1", "--out", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected: " in done.stdout
