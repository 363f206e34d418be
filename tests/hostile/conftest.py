"""Valid results, made once; tests damage copies of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.calls import Calls, preloaded
from hostile.damage import make_run, make_sweep


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("good") / "run")


@pytest.fixture(scope="session")
def good_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("good") / "sweep")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    with preloaded(tmp_path_factory.mktemp("library")) as found:
        yield found
