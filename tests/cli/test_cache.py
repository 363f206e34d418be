"""`dumbbell cache`: every folder is declared, sizes are shown, and prune leaves kernels and what is in use."""

import fcntl
import json
import re
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.publish.cache import FOLDERS, cache_folder

SOURCE = Path(__file__).parents[2] / "python/dumbbell"
KILOBYTES = b"x" * 100_000


def _fill(cache: Path, *names: str) -> None:
    for name in names:
        folder = cache / name / "part"
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(KILOBYTES)


def test_code_uses_only_declared_folders_of_the_cache() -> None:
    outside = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.parent.name != "publish" and re.search(r"cache_dir\(\) */", file.read_text())
    ]
    assert outside == []
    with pytest.raises(KeyError):
        cache_folder("another")


def test_sizes_are_shown(dumbbell: Dumbbell, empty_cache: Path) -> None:
    _fill(empty_cache, "build")
    shown = json.loads(dumbbell("cache", "--json").stdout)
    assert shown["folder"] == str(empty_cache)
    sizes = {each["name"]: each["bytes"] for each in shown["folders"]}
    assert list(sizes) == list(FOLDERS)
    assert sizes["build"] >= len(KILOBYTES)
    assert sum(sizes.values()) == sizes["build"]
    assert "build" in dumbbell("cache").stdout


def test_prune_leaves_kernels_and_what_is_in_use(dumbbell: Dumbbell, empty_cache: Path) -> None:
    _fill(empty_cache, "build", "kernels", "sent", "running")
    (empty_cache / "build/busy").mkdir()
    with (empty_cache / "build/busy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "build" in dumbbell("cache", "prune", "--dry-run").stderr
        assert (empty_cache / "build/part/file").exists()
        done = dumbbell("cache", "prune")
        assert (done.returncode, "busy: another process is using it" in done.stderr) == (0, True)
        fcntl.flock(lock, fcntl.LOCK_UN)
    left = sorted(str(path.relative_to(empty_cache)) for path in empty_cache.rglob("*") if path.is_file())
    assert left == ["build/busy.lock", "kernels/part/file", "running/part/file"]
    assert dumbbell("cache", "prune", "kernels", "build").returncode == 0
    assert not list((empty_cache / "kernels").iterdir())
    assert not list((empty_cache / "build").iterdir())


def test_prune_does_not_follow_a_linked_folder(dumbbell: Dumbbell, empty_cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_bytes(KILOBYTES)
    empty_cache.mkdir()
    (empty_cache / "build").symlink_to(mine)
    done = dumbbell("cache", "prune")
    assert (done.returncode, "build: a link; what it leads to stays" in done.stderr) == (0, True)
    assert (mine / "file").exists()


@pytest.mark.parametrize("name", ["another", "running", "../.."])
def test_what_cannot_be_pruned_is_an_error_with_the_choices(dumbbell: Dumbbell, empty_cache: Path, name: str) -> None:
    _fill(empty_cache, "running")
    done = dumbbell("cache", "prune", name)
    assert done.returncode != 0
    assert f"got '{name}'; there is: kernels, build" in done.stderr
    assert (empty_cache / "running/part/file").exists()
