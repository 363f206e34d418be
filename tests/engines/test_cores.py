"""Locks that give each guest a separate CPU core."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from dumbbell.engines.guest import claimed

CORES = sorted(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def private_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def test_each_run_gets_its_own_core_while_cores_are_free() -> None:
    with ExitStack() as runs:
        assert sorted(runs.enter_context(claimed()) for _ in CORES) == CORES


def test_cores_are_shared_round_robin_when_all_are_taken() -> None:
    with ExitStack() as runs:
        for _ in CORES:
            runs.enter_context(claimed())
        shared = [runs.enter_context(claimed()) for _ in CORES]
        assert sorted(shared) == CORES, "each core once"


def test_a_core_is_released_even_after_an_error() -> None:
    for _ in range(len(CORES) + 1):
        with pytest.raises(RuntimeError):
            fail_on(CORES[0])


def fail_on(expected: int) -> None:
    with claimed() as core:
        assert core == expected
        raise RuntimeError


def test_only_this_user_can_hold_the_locks(tmp_path: Path) -> None:
    with claimed():
        folders = list((tmp_path / "cache").iterdir())
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700]


def test_a_planted_lock_is_left_alone(tmp_path: Path) -> None:
    """A link instead of a lock file, and instead of the folder."""
    protected = tmp_path / "precious"
    protected.mkdir()
    (protected / str(CORES[0])).write_text("precious")
    with claimed():
        (folder,) = (tmp_path / "cache").iterdir()
    (folder / str(CORES[0])).unlink()
    (folder / str(CORES[0])).symlink_to(protected / str(CORES[0]))
    with claimed() as core:
        assert core != CORES[0] or len(CORES) == 1
    folder.rename(tmp_path / "aside")
    folder.symlink_to(protected)
    with claimed() as core:
        assert core in CORES
    assert [(each.name, each.read_text()) for each in protected.iterdir()] == [(str(CORES[0]), "precious")]


def test_cores_are_shared_without_a_private_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    with claimed() as core:
        assert core in CORES
