"""Good results, made once, of which tests damage copies."""

from pathlib import Path

import pytest

from hostile.damage import make_run, make_sweep


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("good") / "run")


@pytest.fixture(scope="session")
def good_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("good") / "sweep")
