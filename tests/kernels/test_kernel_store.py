"""Where kernels are stored, and how they are found by name."""

import json
from pathlib import Path

import pytest
from fake_linux import PROGRAM, compile_program

from dumbbell.errors import KernelError
from dumbbell.kernels import check_binary, find, kernels, mark_default
from dumbbell.kernels.store import check_name, keep_default, sha256
from dumbbell.publish import cache_dir

pytestmark = pytest.mark.usefixtures("empty_cache")


def store(empty_cache: Path, name: str, built_at: str) -> Path:
    folder = empty_cache / "kernels" / name
    binary = compile_program(folder / "linux")
    (folder / "seeded_getrandom.so").write_bytes(b"")
    manifest = {
        "release": "6.99.0",
        "version": "Linux version 6.99.0",
        "config_sha256": "c0",
        "binary_sha256": sha256(binary),
        "source": "linux-source-6.99 1",
        "built_at": built_at,
        "absent": ["NET_SCH_DUALPI2"],
    }
    (folder / "kernel.json").write_text(json.dumps(manifest))
    return folder


def test_the_cache_folder_comes_from_the_most_specific_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("DUMBBELL_CACHE", "/d")
    assert cache_dir() == Path("/d")
    monkeypatch.delenv("DUMBBELL_CACHE")
    assert cache_dir() == Path("/x/dumbbell")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path("/h/.cache/dumbbell")


def test_without_a_kernel_the_error_gives_the_command() -> None:
    assert kernels() == []
    with pytest.raises(KernelError, match="no kernel is installed; install one with: pip install dumbbell-kernel"):
        find()


def test_the_default_kernel_is_the_newest_unless_set(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(empty_cache, "a", "2026-01-02")
    store(empty_cache, "b", "2026-01-03")
    store(empty_cache, "c", "2026-01-01")
    assert [kernel.name for kernel in kernels()] == ["a", "b", "c"]
    assert find().name == "b"
    mark_default("c")
    assert find().name == "c"
    monkeypatch.setenv("DUMBBELL_KERNEL", "b")
    assert find().name == "b"
    assert find("a").name == "a"
    assert find("a").absent == ("NET_SCH_DUALPI2",)
    with pytest.raises(KernelError, match="unknown kernel 'd'; available: a, b, c"):
        find("d")
    with pytest.raises(KernelError, match="unknown kernel 'd'"):
        mark_default("d")


def test_an_unambiguous_short_name_is_enough(empty_cache: Path) -> None:
    for name in ("linux-6.1.192", "linux-6.12.117", "v3-paced", "v3b"):
        store(empty_cache, name, "2026-01-01")
    short = {"6.1": "linux-6.1.192", "6.12": "linux-6.12.117", "linux-6.12": "linux-6.12.117", "v3": "v3-paced"}
    assert {given: find(given).name for given in short} == short
    assert find("v3b").name == "v3b"
    with pytest.raises(KernelError, match=r"'6' is ambiguous: linux-6\.1\.192, linux-6\.12\.117; give"):
        find("6")
    with pytest.raises(KernelError, match=r"'6\.99' is ambiguous: linux-6\.1\.192, .*, v3b"):
        find("6.99")  # The release of all four kernels.
    with pytest.raises(KernelError, match=r"unknown kernel '6\.13'; available: linux-6\.1\.192"):
        find("6.13")
    assert mark_default("v3").name == "v3-paced"
    assert find().name == "v3-paced"


def test_a_newer_kernel_of_the_user_does_not_become_the_default(empty_cache: Path) -> None:
    keep_default()
    assert kernels() == []
    store(empty_cache, "a", "2026-01-01")
    keep_default()
    store(empty_cache, "b", "2026-01-02")
    assert find().name == "a"
    mark_default("b")
    keep_default()
    assert find().name == "b"


def test_a_kernel_modified_after_its_build_is_refused(empty_cache: Path) -> None:
    folder = store(empty_cache, "a", "2026-01-01")
    with (folder / "linux").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(KernelError, match="linux: was modified after the build"):
        find("a")


def test_a_kernel_without_its_library_is_refused(empty_cache: Path) -> None:
    (store(empty_cache, "a", "2026-01-01") / "seeded_getrandom.so").unlink()
    with pytest.raises(KernelError, match=r"seeded_getrandom\.so: is missing"):
        find("a")


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"release": "6"}'])
def test_a_damaged_manifest_is_an_error_with_its_file(empty_cache: Path, damage: str) -> None:
    (store(empty_cache, "a", "2026-01-01") / "kernel.json").write_text(damage)
    with pytest.raises(KernelError, match=r"a/kernel\.json: is damaged .* dumbbell kernel build"):
        find("a")


def test_a_damaged_kernel_does_not_affect_others(empty_cache: Path) -> None:
    (store(empty_cache, "a", "2026-01-01") / "kernel.json").write_text("{")
    store(empty_cache, "b", "2026-01-01")
    assert find("b").name == "b"


def test_only_a_virtual_time_kernel_is_accepted(tmp_path: Path) -> None:
    check_binary(compile_program(tmp_path / "good"))
    (tmp_path / "text").write_text("#!/bin/sh\n")
    (tmp_path / "short").write_bytes(b"\x7fELF")
    compile_program(tmp_path / "program", PROGRAM.replace("User Mode", "Some"))
    compile_program(tmp_path / "realtime", PROGRAM.replace("inf-cpu", "cpu"))
    compile_program(tmp_path / "static", PROGRAM, "-static")
    compile_program(tmp_path / "unexecutable").chmod(0o644)
    reasons = {
        "nothing": "can't be read",
        "text": "not an x86-64 program",
        "short": "not an x86-64 program",
        "program": "not a User-Mode Linux kernel",
        "realtime": "CONFIG_UML_TIME_TRAVEL_SUPPORT=y",
        "static": "CONFIG_STATIC_LINK=n",
        "unexecutable": "not executable; run: chmod",
    }
    for name, reason in reasons.items():
        with pytest.raises(KernelError, match=f"{name}: .*{reason}"):
            check_binary(tmp_path / name)


def test_a_binary_of_the_user_uses_a_stored_library(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = compile_program(tmp_path / "mine" / "vmlinux")
    monkeypatch.setenv("DUMBBELL_KERNEL", str(binary))
    with pytest.raises(KernelError, match=r"seeded_getrandom\.so is missing next to it"):
        find()
    folder = store(empty_cache, "a", "2026-01-01")
    kernel = find()
    assert (kernel.binary, kernel.preload) == (binary, folder / "seeded_getrandom.so")
    assert (kernel.release, kernel.config_sha256) == ("6.99.0-rc1", "")
    library = binary.with_name("seeded_getrandom.so")
    library.touch()
    binary.with_name(".config").write_text("CONFIG_HZ=250\n")
    assert find().preload == library
    assert find().config_sha256 == sha256(binary.with_name(".config"))


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "default", "a b"])
def test_an_invalid_kernel_name_is_refused(name: str) -> None:
    with pytest.raises(KernelError, match="invalid kernel name"):
        check_name(name)
