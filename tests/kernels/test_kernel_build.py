"""`kernel build`: tarballs, source folders, incremental builds."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_linux import PROGRAM, files_below, make_tarball, make_tree

from dumbbell.errors import KernelError, ToolMissing
from dumbbell.kernels import Kernel, build, find, kernels


class Heard:
    """Keeps what progress was told, and checks that it makes sense."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[int, int]] = {}

    def __call__(self, phase: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        assert done >= self.last.get(phase, (0, 0))[0]
        self.last[phase] = (done, total)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DUMBBELL_KERNEL", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


def compilations(cache: Path, name: str) -> int:
    return (cache / f"build/{name}/tree/compilations").read_text().count("run")


def test_a_tarball_becomes_a_kernel(linux: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-DSTRAY")
    tarball, on_line = make_tarball(linux, tmp_path / "linux-6.99.tar.xz"), Heard()
    kernel = build(source=tarball, progress=on_line)
    assert (kernel.name, kernel.release, kernel.absent) == ("linux-6.99", "6.99.0-rc1", ("NET_SCH_DUALPI2",))
    assert kernel.source.startswith("linux-6.99.tar.xz sha256:")
    assert [found.name for found in kernels()] == ["linux-6.99"]
    assert files_below(kernel.folder) == {"linux", "config", "seeded_getrandom.so", "kernel.json"}
    assert "gcc" in json.loads((kernel.folder / "kernel.json").read_text())["builders"]["gcc"]
    assert on_line.last["configure"] == (1, 1)
    assert on_line.last["build"] == (1, 1)
    assert on_line.last["extract"] == (tarball.stat().st_size,) * 2
    assert (cache / "build/linux-6.99/tree/seen.environment").read_text() == "dumbbell dumbbell 1 \n"
    assert tarball.exists()


def test_a_second_build_of_the_same_does_nothing(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, quiet = build(source=linux), Heard()
    monkeypatch.setattr("dumbbell.kernels.tools._BUILD", None)  # So that a build could not even begin.
    assert build(source=linux, progress=quiet) == first
    assert quiet.last == {}


def test_a_folder_that_changed_is_built_again_incrementally(linux: Path, cache: Path) -> None:
    before = {file: (linux / file).read_bytes() for file in files_below(linux)}
    first = build(source=linux)
    assert first.name == "linux-6.99.0-rc1"
    assert {file: (linux / file).read_bytes() for file in files_below(linux)} == before
    (linux / "net/ipv4/tcp_mine.c").write_text("")
    second = build(source=linux)
    assert second.source != first.source
    assert compilations(cache, second.name) == 1
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(changed)"))
    os.utime(linux / "main.c", (time.time() + 5,) * 2)
    assert "(changed)" in build(source=linux).version
    assert compilations(cache, second.name) == 2
    assert [kernel.name for kernel in kernels()] == [first.name]


def test_a_file_whose_time_went_back_is_compiled_again(linux: Path) -> None:
    build(source=linux)
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(older)"))
    os.utime(linux / "main.c", (1, 1))
    assert "(older)" in build(source=linux).version


def test_of_a_git_tree_the_commit_and_what_was_changed_since_make_the_kernel(linux: Path) -> None:
    (linux / ".gitignore").write_text("*.o\n")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"]):
        subprocess.run(["git", "-C", str(linux), *command], check=True)
    head = subprocess.run(["git", "-C", str(linux), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    first = build(source=linux)
    assert first.source == f"{linux} commit:{head.stdout.strip()}"
    os.utime(linux / "main.c", (time.time() + 5,) * 2)
    assert build(source=linux) == first  # Saved, and nothing changed.
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(mine)"))
    second = build(source=linux)
    assert "(mine)" in second.version
    assert second.source.startswith(f"{first.source} changed:")
    subprocess.run(["git", "-C", str(linux), "worktree", "add", "-q", "--detach", "../beside"], check=True)
    beside = build("beside", source=linux.parent / "beside")
    assert beside.source == f"{linux.parent / 'beside'} commit:{head.stdout.strip()}"
    assert "(gcc)" in beside.version


def test_another_tree_of_the_same_version_needs_a_name_of_its_own(linux: Path, tmp_path: Path) -> None:
    first = build(source=linux)
    other = make_tree(tmp_path / "other")
    with pytest.raises(
        KernelError, match=rf"'{first.name}' already exists, built from {linux} .*--name {first.name}-mine"
    ):
        build(source=other)
    assert build("mine", source=other).name == "mine"
    assert find().name == first.name  # A run's default changes only on request.


def test_a_persons_fragment_makes_a_kernel_of_its_own(linux: Path, tmp_path: Path) -> None:
    with (linux / "Kconfig").open("a") as file:
        file.write("config TCP_MD5SIG\n")
    (tmp_path / "md5.config").write_text("CONFIG_TCP_MD5SIG=y\n")
    first = build(source=linux)
    second = build(source=linux, config=tmp_path / "md5.config")
    assert (first.name, second.name) == ("linux-6.99.0-rc1", "linux-6.99.0-rc1-md5")
    assert " config:md5.config sha256:" in second.source
    assert "CONFIG_TCP_MD5SIG=y" in (second.folder / "config").read_text()
    assert "CONFIG_TCP_MD5SIG=y" not in (first.folder / "config").read_text()
    assert build(source=linux, config=tmp_path / "md5.config") == second


def test_a_damaged_kernel_is_built_again(linux: Path) -> None:
    kernel = build(source=linux)
    kernel.binary.write_bytes(b"damaged")
    assert build(source=linux).binary_sha256 == kernel.binary_sha256
    assert find().name == kernel.name


def test_what_the_compiler_found_wrong_is_in_the_error(tmp_path: Path, cache: Path) -> None:
    linux = make_tree(tmp_path / "linux", program="int main(void) { return nonsense; }\n")
    with pytest.raises(KernelError, match=r"make failed with status 2; full log: (.*build\.log)\n.*'nonsense'") as told:
        build("broken", source=linux)
    assert "undeclared" in (cache / "build/broken/build.log").read_text()
    assert len(str(told.value).splitlines()) <= 6
    assert kernels() == []


def test_a_program_that_is_no_kernel_is_not_kept(tmp_path: Path) -> None:
    linux = make_tree(tmp_path / "linux", program=PROGRAM.replace("inf-cpu", ""))
    with pytest.raises(KernelError, match="has no virtual clock"):
        build(source=linux)
    assert kernels() == []


@pytest.mark.parametrize(
    ("tool", "package"),
    [("make", "make"), ("gcc", "gcc"), ("ld", "binutils"), ("flex", "flex"), ("bison", "bison"), ("bc", "bc")],
)
def test_each_missing_tool_names_its_package(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, package: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in {"make", "gcc", "ld", "flex", "bison", "bc"} - {tool}:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(ToolMissing, match=f"'{tool}' is needed .*install -y {package}$"):
        build(source=linux)


def test_missing_headers_of_libc_are_told_from_a_missing_compiler(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "gcc", "ld", "flex", "bison", "bc"):
        (programs / name).write_text("#!/bin/sh\necho 'fatal error: stdlib.h' >&2; exit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(ToolMissing, match=r"'stdlib\.h' .*install -y libc6-dev$"):
        build(source=linux)


def test_two_builds_of_one_name_do_not_meet(linux: Path, cache: Path) -> None:
    (cache / "build").mkdir(parents=True)
    with (cache / "build/mine.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        with pytest.raises(KernelError, match=r"'mine' is already being built by process 4711 \(lock: .*mine\.lock\)"):
            build("mine", source=linux)
    assert build("mine", source=linux).name == "mine"


def test_ctrl_c_ends_every_compiler_and_the_next_build_goes_on(linux: Path, tmp_path: Path, cache: Path) -> None:
    makefile = (linux / "Makefile").read_text()
    slow = (
        makefile.replace("linux: main.o\n", "linux: main.o slow\n")
        + "slow: main.o\n\t@echo $$$$ > slow.pid; sleep 60; touch slow\n"
    )
    (linux / "Makefile").write_text(slow)
    tarball = make_tarball(linux, tmp_path / "linux-6.99.tar")
    pid_file = cache / "build/linux-6.99/tree/slow.pid"

    def press_ctrl_c() -> None:
        while not (pid_file.is_file() and pid_file.read_text().strip()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    # polars, which other tests import, has put a handler of its own there that restarts a blocked read.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=press_ctrl_c, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        build(source=tarball)
    assert not Path(f"/proc/{pid_file.read_text().strip()}").exists()
    assert kernels() == []
    (pid_file.parent / "slow").touch()
    assert build(source=tarball).name == "linux-6.99"
    assert compilations(cache, "linux-6.99") == 1


def test_a_folder_that_is_not_linux_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="not a Linux source tree: it has no Makefile"):
        build(source=tmp_path)
    with pytest.raises(KernelError, match="nowhere: neither a folder nor a file"):
        build(source=tmp_path / "nowhere")


APT = """#!/bin/sh
case "$0 $*" in
*apt-cache*) {search} ;;
*--print-uris*) echo "'http://x/l.deb' linux-source-6.12_6.12.9-1_all.deb 600 SHA256:0" ;;
*"apt-get download linux-source-6.12=6.12.9-1")
  echo fetched >> {folder}/downloads; touch linux-source-6.12_6.12.9-1_all.deb ;;
*dpkg-deb*) mkdir -p contents/usr/src; cp {folder}/linux-source-6.12.tar.xz contents/usr/src/ ;;
*) exit 9 ;;
esac
"""


@pytest.mark.parametrize(
    ("search", "right"), [("true", "sudo apt-get update"), ("echo 'linux-source-4.19 - old'", "4.19")]
)
def test_without_a_package_the_error_gives_the_command_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: str, right: str
) -> None:
    fake_apt(tmp_path, monkeypatch, search)
    with pytest.raises(KernelError, match=f"{right}.*--source FOLDER|TARBALL"):
        build()


def test_the_package_is_downloaded_once_even_when_its_extraction_fails(
    linux: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = fake_apt(tmp_path, monkeypatch, "echo 'linux-source-6.1 - a'; echo 'linux-source-6.12 - b'")
    whole = make_tarball(linux, tmp_path / "whole.tar.xz").read_bytes()
    (programs / "linux-source-6.12.tar.xz").write_bytes(whole[:-200])
    with pytest.raises(KernelError, match="tar failed"):
        build()
    (cache / "build/linux-6.12.9/package/contents/usr/src/linux-source-6.12.tar.xz").write_bytes(whole)
    kernel = build()
    assert (kernel.name, kernel.source) == ("linux-6.12.9", "linux-source-6.12 6.12.9-1")
    assert (programs / "downloads").read_text() == "fetched\n"
    assert not (cache / "build/linux-6.12.9/package").exists()


def test_a_package_is_chosen_by_its_name_or_version(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = fake_apt(tmp_path, monkeypatch, "echo 'linux-source-6.1 - a'; echo 'linux-source-6.12 - b'")
    make_tarball(linux, programs / "linux-source-6.12.tar.xz")
    assert build(package="linux-source-6.12").source == "linux-source-6.12 6.12.9-1"
    assert build(package="6.12").name == "linux-6.12.9"
    with pytest.raises(
        KernelError, match=r"no package linux-source-5\.15; available: linux-source-6\.1, linux-source-6\.12"
    ):
        build(package="5.15")
    with pytest.raises(KernelError, match="exclude each other"):
        build(package="6.12", source=linux)


def fake_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: str) -> Path:
    """A distribution: what is tested is what we make of its answers, not its network."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("apt-cache", "apt-get", "dpkg-deb"):
        (programs / name).write_text(APT.format(search=search, folder=programs))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


def random_numbers(kernel: Kernel, **environment: str) -> subprocess.CompletedProcess[str]:
    """Two draws by the library alone, in a process of their own."""
    draw = (
        "import ctypes, sys; own = ctypes.CDLL(sys.argv[1]); a = ctypes.create_string_buffer(11);"
        "b = ctypes.create_string_buffer(8);"
        "print(own.getrandom(a, 11, 0), own.getentropy(b, 8), own.getentropy(b, 257));"
        "print(a.raw[:11].hex(), b.raw[:8].hex())"
    )
    command = [sys.executable, "-c", draw, str(kernel.preload)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_random_numbers_are_a_function_of_the_seed(linux: Path) -> None:
    kernel = build(source=linux)
    first = random_numbers(kernel, DUMBBELL_SEED="0000000000000000").stdout
    # The first three words of splitmix64 from 0 are published: e220a8397b1dcdaf 6e789e6aa1b965f4 06c45d188009454f.
    assert first == "11 0 -1\nafcd1d7b39a820e2f465b9 4f450980185dc406\n"
    assert random_numbers(kernel, DUMBBELL_SEED="0000000000000000").stdout == first
    assert random_numbers(kernel, DUMBBELL_SEED="00000000000000Ff").stdout != first


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({}, "DUMBBELL_SEED is not set"),
        ({"DUMBBELL_SEED": "1"}, "is not 16 hexadecimal digits"),
        ({"DUMBBELL_SEED": "0x00000000000000"}, "is not 16 hexadecimal digits"),
    ],
)
def test_without_a_seed_there_are_no_random_numbers(linux: Path, environment: dict[str, str], problem: str) -> None:
    ran = random_numbers(build(source=linux), **environment)
    assert ran.returncode == -signal.SIGABRT
    assert problem in ran.stderr
