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
from fake_linux import PROGRAM, commit_all, files_below, make_tarball, make_tree

from dumbbell.errors import KernelError, ToolMissing
from dumbbell.kernels import Kernel, build, find, kernels

pytestmark = pytest.mark.usefixtures("empty_cache")


class ProgressLog:
    """Records reported progress, and checks that it does not decrease."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[int, int]] = {}

    def __call__(self, phase: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        assert done >= self.last.get(phase, (0, 0))[0]
        self.last[phase] = (done, total)


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


def compilations(empty_cache: Path, name: str) -> int:
    return (empty_cache / f"build/{name}/tree/compilations").read_text().count("run")


def test_a_tarball_becomes_a_kernel(
    linux: Path, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-DSTRAY")
    tarball, progress = make_tarball(linux, tmp_path / "linux-6.99.tar.xz"), ProgressLog()
    kernel = build(source=tarball, progress=progress)
    assert (kernel.name, kernel.release, kernel.absent) == ("linux-6.99", "6.99.0-rc1", ("NET_SCH_DUALPI2",))
    assert kernel.source.startswith("linux-6.99.tar.xz sha256:")
    assert [found.name for found in kernels()] == ["linux-6.99"]
    assert files_below(kernel.folder) == {"linux", "config", "seeded_getrandom.so", "kernel.json"}
    assert "gcc" in json.loads((kernel.folder / "kernel.json").read_text())["builders"]["gcc"]
    assert progress.last["configure"] == (1, 1)
    assert progress.last["build"] == (1, 1)
    assert progress.last["extract"] == (tarball.stat().st_size,) * 2
    assert (empty_cache / "build/linux-6.99/tree/seen.environment").read_text() == "dumbbell dumbbell 1 \n"
    assert tarball.exists()


def test_a_second_build_of_the_same_source_does_nothing(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, progress = build(source=linux), ProgressLog()
    monkeypatch.setattr("dumbbell.kernels.process._BUILD", None)  # A build would fail.
    assert build(source=linux, progress=progress) == first
    assert progress.last == {}


def test_a_changed_folder_is_rebuilt_incrementally(linux: Path, empty_cache: Path) -> None:
    before = {file: (linux / file).read_bytes() for file in files_below(linux)}
    first = build(source=linux)
    assert first.name == "linux-6.99.0-rc1"
    assert {file: (linux / file).read_bytes() for file in files_below(linux)} == before
    (linux / "net/ipv4/tcp_mine.c").write_text("")
    second = build(source=linux)
    assert second.source != first.source
    assert compilations(empty_cache, second.name) == 1
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(changed)"))
    os.utime(linux / "main.c", (time.time() + 5,) * 2)
    assert "(changed)" in build(source=linux).version
    assert compilations(empty_cache, second.name) == 2
    assert [kernel.name for kernel in kernels()] == [first.name]


def test_a_changed_file_with_an_older_time_is_recompiled(linux: Path) -> None:
    build(source=linux)
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(older)"))
    os.utime(linux / "main.c", (1, 1))
    assert "(older)" in build(source=linux).version


def test_a_git_tree_s_kernel_is_identified_by_commit_and_changes(linux: Path) -> None:
    (linux / ".gitignore").write_text("*.o\n")
    head = commit_all(linux)
    first = build(source=linux)
    assert first.source == f"{linux} commit:{head}"
    os.utime(linux / "main.c", (time.time() + 5,) * 2)
    assert build(source=linux) == first  # Only the file's time changed.
    (linux / "main.c").write_text(PROGRAM.replace("(gcc)", "(mine)"))
    second = build(source=linux)
    assert "(mine)" in second.version
    assert second.source.startswith(f"{first.source} changed:")
    subprocess.run(["git", "-C", str(linux), "worktree", "add", "-q", "--detach", "../worktree"], check=True)
    worktree = build("worktree", source=linux.parent / "worktree")
    assert worktree.source == f"{linux.parent / 'worktree'} commit:{head}"
    assert "(gcc)" in worktree.version


def test_another_tree_of_the_same_version_needs_another_name(linux: Path, tmp_path: Path) -> None:
    first = build(source=linux)
    other = make_tree(tmp_path / "other")
    with pytest.raises(
        KernelError, match=rf"'{first.name}' already exists, built from {linux} .*--name {first.name}-mine"
    ):
        build(source=other)
    assert build("mine", source=other).name == "mine"
    assert find().name == first.name  # A run's default changes only on request.


def test_a_user_s_fragment_gives_a_separate_kernel(linux: Path, tmp_path: Path) -> None:
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


def test_a_damaged_kernel_is_rebuilt(linux: Path) -> None:
    kernel = build(source=linux)
    kernel.binary.write_bytes(b"damaged")
    assert build(source=linux).binary_sha256 == kernel.binary_sha256
    assert find().name == kernel.name


def test_a_compiler_error_is_in_the_message(tmp_path: Path, empty_cache: Path) -> None:
    linux = make_tree(tmp_path / "linux", program="int main(void) { return nonsense; }\n")
    with pytest.raises(
        KernelError, match=r"make failed with status 2; full log: (.*build\.log)\n.*'nonsense'"
    ) as caught:
        build("broken", source=linux)
    assert "undeclared" in (empty_cache / "build/broken/build.log").read_text()
    assert len(str(caught.value).splitlines()) <= 6
    assert kernels() == []


def test_a_program_that_is_no_kernel_is_not_stored(tmp_path: Path) -> None:
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


def test_missing_libc_headers_are_distinguished_from_a_missing_compiler(
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


def test_a_concurrent_build_of_the_same_name_is_refused(linux: Path, empty_cache: Path) -> None:
    (empty_cache / "build").mkdir(parents=True)
    with (empty_cache / "build/mine.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        with pytest.raises(KernelError, match=r"'mine' is already being built by process 4711 \(lock: .*mine\.lock\)"):
            build("mine", source=linux)
    assert build("mine", source=linux).name == "mine"


def slow_to_build(linux: Path) -> Path:
    """Make its build wait for a minute, and write the waiting process's number to this file of the tree."""
    makefile = (linux / "Makefile").read_text()
    slow = (
        makefile.replace("linux: main.o\n", "linux: main.o slow\n")
        + "slow: main.o\n\t@echo $$$$ > slow.pid; sleep 60; touch slow\n"
    )
    (linux / "Makefile").write_text(slow)
    return Path("tree/slow.pid")


def wait_for(pid_file: Path) -> None:
    while not (pid_file.is_file() and pid_file.read_text().strip()):
        time.sleep(0.01)


def test_an_interrupted_command_says_that_it_can_be_continued(linux: Path, empty_cache: Path) -> None:
    pid_file = empty_cache / "build/linux-6.99.0-rc1" / slow_to_build(linux)
    program = [str(Path(sys.executable).with_name("dumbbell")), "kernel", "build", "--source", str(linux)]
    command = subprocess.Popen(
        ["env", "--default-signal=INT", *program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(pid_file)
    command.send_signal(signal.SIGINT)
    errors = command.communicate(timeout=60)[1]
    assert command.returncode == 130
    assert "interrupted; the same command continues what was downloaded and compiled" in errors
    assert not Path(f"/proc/{pid_file.read_text().strip()}").exists()


def test_ctrl_c_ends_every_compiler_and_the_next_build_continues(
    linux: Path, tmp_path: Path, empty_cache: Path
) -> None:
    slow = slow_to_build(linux)
    tarball = make_tarball(linux, tmp_path / "linux-6.99.tar")
    pid_file = empty_cache / "build/linux-6.99" / slow

    def press_ctrl_c() -> None:
        wait_for(pid_file)
        os.kill(os.getpid(), signal.SIGINT)

    # polars, which other tests import, installs a handler that restarts a blocked read.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=press_ctrl_c, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        build(source=tarball)
    assert not Path(f"/proc/{pid_file.read_text().strip()}").exists()
    assert kernels() == []
    (pid_file.parent / "slow").touch()
    assert build(source=tarball).name == "linux-6.99"
    assert compilations(empty_cache, "linux-6.99") == 1


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
    ("search", "message"), [("true", "sudo apt-get update"), ("echo 'linux-source-4.19 - old'", "4.19")]
)
def test_without_a_package_the_error_gives_the_command_and_an_alternative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: str, message: str
) -> None:
    fake_apt(tmp_path, monkeypatch, search)
    with pytest.raises(KernelError, match=f"{message}.*--source FOLDER|TARBALL"):
        build()


def test_the_package_is_downloaded_once_even_when_its_extraction_fails(
    linux: Path, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = fake_apt(tmp_path, monkeypatch, "echo 'linux-source-6.1 - a'; echo 'linux-source-6.12 - b'")
    tarball = make_tarball(linux, tmp_path / "tarball.tar.xz").read_bytes()
    (programs / "linux-source-6.12.tar.xz").write_bytes(tarball[:-200])
    with pytest.raises(KernelError, match="tar failed"):
        build()
    (empty_cache / "build/linux-6.12.9/package/contents/usr/src/linux-source-6.12.tar.xz").write_bytes(tarball)
    kernel = build()
    assert (kernel.name, kernel.source) == ("linux-6.12.9", "linux-source-6.12 6.12.9-1")
    assert (programs / "downloads").read_text() == "fetched\n"
    assert not (empty_cache / "build/linux-6.12.9/package").exists()


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
    """Programs in place of the distribution's package tools, so that no test needs the network."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("apt-cache", "apt-get", "dpkg-deb"):
        (programs / name).write_text(APT.format(search=search, folder=programs))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


def random_numbers(kernel: Kernel, **environment: str) -> subprocess.CompletedProcess[str]:
    """Two draws by the library alone, in a separate process."""
    draw = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); a = ctypes.create_string_buffer(11);"
        "b = ctypes.create_string_buffer(8);"
        "print(library.getrandom(a, 11, 0), library.getentropy(b, 8), library.getentropy(b, 257));"
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
    process = random_numbers(build(source=linux), **environment)
    assert process.returncode == -signal.SIGABRT
    assert problem in process.stderr
