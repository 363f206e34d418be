"""Damaged results: for any value, column or byte of a result, a command succeeds or raises a `DumbbellError`."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from hostile.damage import RUN_COMMANDS, SWEEP_COMMANDS, call, damaged_run, damaged_sweep
from hostile.fuzzing import search

SEEDS = st.integers(0, 2**63)
"""A seed gives one damaged result, reproducibly; smaller seeds do not give simpler ones."""


@pytest.mark.slow(keep="stats BAD")
@pytest.mark.parametrize("command", RUN_COMMANDS, ids=" ".join)
def test_the_undamaged_run_is_read_by_every_command(command: tuple[str, ...], good_run: Path, tmp_path: Path) -> None:
    other = shutil.copytree(good_run, tmp_path / "other")
    assert call(command, other, good_run, tmp_path / "out") is None


@pytest.mark.slow(keep="stats BAD")
@pytest.mark.parametrize("command", SWEEP_COMMANDS, ids=" ".join)
def test_the_undamaged_sweep_is_read_by_every_command(
    command: tuple[str, ...], good_sweep: Path, tmp_path: Path
) -> None:
    assert call(command, good_sweep, good_sweep, tmp_path / "out") is None


def test_fuzz_a_damaged_run_is_a_result_or_an_error(good_run: Path, tmp_path: Path) -> None:
    search(SEEDS, _checks(good_run, tmp_path, damaged_run, RUN_COMMANDS), examples=25)


def test_fuzz_a_damaged_sweep_is_a_result_or_an_error(good_sweep: Path, tmp_path: Path) -> None:
    search(SEEDS, _checks(good_sweep, tmp_path, damaged_sweep, SWEEP_COMMANDS), examples=20)


def _checks(
    good: Path,
    folder: Path,
    damage: Callable[[Path, Path, random.Random], None],
    commands: tuple[tuple[str, ...], ...],
) -> Callable[[int], None]:
    def check(seed: int) -> None:
        rng = random.Random(seed)
        damaged = folder / "bad"
        damage(good, damaged, rng)
        message = call(rng.choice(commands), damaged, good, folder / "out")
        assert message is None or message.strip()

    return check
