"""The workbench's temporary folder."""

import gc
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dumbbell.web.work_folder import WorkFolder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the machine keeps what is temporary."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_nothing_is_made_before_it_is_needed(place: Path) -> None:
    WorkFolder().close()
    assert list(place.iterdir()) == []


def test_every_path_is_given_once_and_nobody_else_may_look(place: Path) -> None:
    room = WorkFolder()
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: room.new("a.log"), range(50)))
    assert len(set(paths)) == 50
    assert {path.name for path in paths} == {"a.log"}
    assert not any(path.exists() for path in paths)
    (folder,) = place.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    room.close()
    assert list(place.iterdir()) == []


def test_a_room_that_nobody_closed_is_gone_too(place: Path) -> None:
    room = WorkFolder()
    room.new("x").write_text("left")
    del room
    gc.collect()
    assert list(place.iterdir()) == []
