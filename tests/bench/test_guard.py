"""The simulator needs no more instructions than `bench/guard.json` states."""

import shutil

import pytest
from guard import MAX_GROWTH, RUNS_S, counts, mismatch, stored


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind, which counts instructions, is not installed")
    if reason := mismatch(stored()):
        pytest.skip(reason)
    return counts()


@pytest.mark.slow
def test_no_run_needs_many_more_instructions(counted: dict[str, int]) -> None:
    stored_counts = stored().instructions
    grown = {
        name: f"{counted[name] / stored_counts[name] - 1:+.1%}"
        for name in RUNS_S
        if counted[name] > stored_counts[name] * (1 + MAX_GROWTH)
    }
    assert not grown, f"instructions grew; if they must, run: python bench/guard.py --update ({grown})"


def test_the_file_has_every_run() -> None:
    assert stored().instructions.keys() == RUNS_S.keys()
