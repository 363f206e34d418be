"""Source trees extracted from tarballs."""

import os
from pathlib import Path

import pytest
from fake_linux import commit_all, files_below, make_tarball, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernels.tree import extract, files_of, is_bulk, shadow

BULK = {"drivers/gpu/drm/card.c", "arch/arm/kernel/head.S", "Documentation/index.rst"}


def check_progress(phase: str, done: int, total: int) -> None:
    assert phase == "extract"
    assert done <= total


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


@pytest.mark.parametrize("ending", ["tar", "tar.xz", "tar.gz", "tar.bz2"])
def test_a_tarball_is_extracted_without_bulk_files(linux: Path, tmp_path: Path, ending: str) -> None:
    tarball = make_tarball(linux, tmp_path / f"linux-6.99.{ending}")
    extract(tarball, tmp_path / "tree", log=tmp_path / "log", progress=check_progress)
    assert files_below(tmp_path / "tree") == files_below(linux) - BULK


def test_is_bulk_selects_the_files_that_tar_excludes(linux: Path) -> None:
    assert {file for file in files_below(linux) if is_bulk(file)} == BULK


def test_an_interrupted_extraction_is_repeated_in_place(linux: Path, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/Makefile").write_text("VERS")
    extract(make_tarball(linux, tmp_path / "l.tar"), tmp_path / "tree", log=tmp_path / "log", progress=check_progress)
    assert (tmp_path / "tree/Makefile").read_text() == (linux / "Makefile").read_text()


def test_a_file_that_is_no_linux_tarball_is_an_error(linux: Path, tmp_path: Path) -> None:
    (tmp_path / "image.tar.xz").write_bytes(b"PNG" * 200)
    with pytest.raises(KernelError, match=r"image\.tar\.xz: not a tar archive"):
        extract(tmp_path / "image.tar.xz", tmp_path / "tree", log=tmp_path / "log", progress=check_progress)
    (linux / "arch/um/Kconfig").unlink()
    tarball = make_tarball(linux, tmp_path / "other.tar")
    with pytest.raises(KernelError, match=r"other\.tar: not a Linux source tree: it has no arch/um/Kconfig"):
        extract(tarball, tmp_path / "tree", log=tmp_path / "log", progress=check_progress)


def test_a_truncated_tarball_gives_tar_s_error(linux: Path, tmp_path: Path) -> None:
    tarball = make_tarball(linux, tmp_path / "l.tar.xz")
    tarball.write_bytes(tarball.read_bytes()[:-200])
    with pytest.raises(KernelError, match=r"tar failed with status 2; full log: .*log\n.*Unexpected end"):
        extract(tarball, tmp_path / "tree", log=tmp_path / "log", progress=check_progress)


def test_a_missing_compressor_is_an_error(linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tarball = make_tarball(linux, tmp_path / "l.tar.xz")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KernelError, match=r"'xz' is needed to unpack l\.tar\.xz .* install -y xz-utils"):
        extract(tarball, tmp_path / "tree", log=tmp_path / "log", progress=check_progress)


def test_a_shadow_tree_follows_its_original_and_never_changes_it(linux: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    before = {file: (linux / file).read_bytes() for file in files_below(linux)}
    shadow(linux, files_of(linux), tree, progress=check_progress)
    assert files_below(tree) - {"arch/um/.Kconfig.original", ".shadow.json"} == files_below(linux) - BULK
    assert (tree / "main.c").readlink() == linux / "main.c"
    (tree / "arch/um/Kconfig").write_text("edited")
    (tree / "main.o").write_text("object")
    assert {file: (linux / file).read_bytes() for file in files_below(linux)} == before

    (linux / "net/ipv4/tcp_mine.c").write_text("")
    (linux / "drivers/net/tun.c").unlink()
    shadow(linux, files_of(linux), tree, progress=check_progress)
    assert (tree / "net/ipv4/tcp_mine.c").is_symlink()
    assert not (tree / "drivers/net/tun.c").is_symlink()
    assert (tree / "main.o").read_text() == "object"
    assert (tree / "arch/um/Kconfig").read_text() == "edited"

    (linux / "arch/um/Kconfig").write_text("new")
    shadow(linux, files_of(linux), tree, progress=check_progress)
    assert (tree / "arch/um/Kconfig").read_text() == "new"


def test_a_changed_file_with_an_older_time_gets_a_new_link(linux: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shadow(linux, files_of(linux), tree, progress=check_progress)
    first = {file: (tree / file).lstat().st_ctime_ns for file in ("main.c", "drivers/net/tun.c")}
    (linux / "main.c").write_text("int old;\n")
    os.utime(linux / "main.c", (1, 1))
    shadow(linux, files_of(linux), tree, progress=check_progress)
    assert (tree / "main.c").lstat().st_ctime_ns > first["main.c"]
    assert (tree / "drivers/net/tun.c").lstat().st_ctime_ns == first["drivers/net/tun.c"]


def test_in_a_git_worktree_git_selects_the_sources(linux: Path) -> None:
    (linux / ".gitignore").write_text("*.o\n.config\n")
    commit_all(linux)
    (linux / "main.o").write_text("object")
    (linux / ".config").write_text("built in")
    (linux / "net/ipv4/tcp_mine.c").write_text("not added yet")
    (linux / "main.c").unlink()
    files = set(files_of(linux))
    assert "net/ipv4/tcp_mine.c" in files
    assert files.isdisjoint({"main.o", ".config", "main.c"})


def test_a_tree_with_build_output_is_refused(linux: Path) -> None:
    (linux / ".config").touch()
    with pytest.raises(KernelError, match="linux: contains build output; clean a copy of it with: make mrproper"):
        files_of(linux)
