"""The simulator needs no more instructions than it did, or `bench/guard.json` says so in the same change."""

import shutil

import pytest
from guard import MOST_GROWTH, RUNS_S, counts, kept, stranger


@pytest.fixture(scope="module")
def now() -> dict[str, int]:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind counts the instructions")
    if why := stranger(kept()):
        pytest.skip(why)
    return counts()


def test_no_run_needs_many_more_instructions(now: dict[str, int]) -> None:
    before = kept().instructions
    grown = {
        name: f"{now[name] / before[name] - 1:+.1%}" for name in RUNS_S if now[name] > before[name] * (1 + MOST_GROWTH)
    }
    assert not grown, f"instructions grew; if they must, run: python bench/guard.py --update ({grown})"


def test_every_run_is_kept() -> None:
    assert kept().instructions.keys() == RUNS_S.keys()
