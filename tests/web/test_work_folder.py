"""The workbench's temporary folder."""

import gc
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dumbbell.web.handlers import WorkFolder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_no_folder_is_created_before_its_first_use(temporary: Path) -> None:
    WorkFolder().close()
    assert list(temporary.iterdir()) == []


def test_every_path_is_unique_and_the_folder_is_private(temporary: Path) -> None:
    folder = WorkFolder()
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: folder.new("a.log"), range(50)))
    assert len(set(paths)) == 50
    assert {path.name for path in paths} == {"a.log"}
    assert not any(path.exists() for path in paths)
    (created,) = temporary.iterdir()
    assert stat.S_IMODE(created.stat().st_mode) == 0o700
    folder.close()
    assert list(temporary.iterdir()) == []


def test_a_folder_that_was_not_closed_is_deleted_too(temporary: Path) -> None:
    folder = WorkFolder()
    folder.new("x").write_text("left")
    del folder
    gc.collect()
    assert list(temporary.iterdir()) == []
