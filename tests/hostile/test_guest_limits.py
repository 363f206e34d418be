"""Hosts on which a guest cannot run: full or restricted file systems, low limits, no ptrace. Errors name the cause."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import COMMAND
from dumbbell.engines.guest import claimed
from dumbbell.errors import LocalHostError
from dumbbell.kernels import boot

EXPERIMENT = """
duration = "1s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "20mbit"
qdisc = "pfifo limit 1bdp"
[[flows]]
cc = "cubic"
"""
PROGRAM = '[[programs]]\nname = "idle"\non = "sender"\nrun = ["sleep", "0.1"]\n'
MEMORY_USER = """
[[programs]]
name = "eater"
on = "sender"
run = ["dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=80"]
"""
UNSHARE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
mounts = pytest.mark.skipif(
    subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode
    != 0,
    reason="this user may not mount in a namespace of its own",
)
DENIED = """
import ctypes, os, struct, sys
def word(code, yes, no, value): return struct.pack("HBBI", code, yes, no, value)
program = word(0x20, 0, 0, 0) + word(0x15, 0, 1, int(sys.argv[1])) + word(6, 0, 0, 0x50001) + word(6, 0, 0, 0x7FFF0000)
text = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(text)), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a command for which seccomp(2) denies one system call with EPERM."""
PTRACE, PERSONALITY, SETAFFINITY = 101, 135, 203
"""Numbers of system calls on x86-64."""


def run(folder: Path, *, setup: str = "true", text: str = EXPERIMENT, denied: int | None = None) -> tuple[int, str]:
    """Exit status and error output of a run in a separate mount namespace; it leaves a result, or nothing."""
    (folder / "x.toml").write_text(text)
    command = f"{COMMAND} run x.toml --engine kernel --out result"
    if denied is not None:
        (folder / "denied.py").write_text(DENIED)
        command = f"{sys.executable} denied.py {denied} {command}"
    (folder / "small").mkdir()
    script = f"set -e; {setup}; TMPDIR=${{place-$PWD/small}} exec {command}"
    namespace = UNSHARE if "mount" in setup else ()
    done = subprocess.run(
        [*namespace, "sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert "Traceback" not in done.stderr
    assert (folder / "result").exists() == (done.returncode == 0)
    assert list(folder.glob(".*")) == []
    return done.returncode, done.stderr.strip()


def mounted(folder: str, options: str) -> str:
    return f"mount -t tmpfs -o {options} none {folder}"


@pytest.mark.slow(keep="mount -t tmpfs -o size=16m none /dev/shm")
@pytest.mark.kernel
@mounts
@pytest.mark.parametrize(
    "setup",
    [
        mounted("/dev/shm", "size=16m"),
        mounted("/dev/shm", "noexec"),
        mounted("/dev/shm", "ro"),
        mounted("small", "ro"),
        f"{mounted('small', 'size=8k')}; cat /dev/zero > small/full 2>&- || true",
        mounted("/proc/sys", "ro"),
        'mount --bind "$HOME" "$HOME"; mount -o remount,ro,bind "$HOME"',
        "ulimit -n 64; place=/nonexistent",
    ],
)
def test_a_guest_runs_wherever_there_is_space(tmp_path: Path, setup: str) -> None:
    """Once the guest failed in the first two."""
    assert run(tmp_path, setup=setup) == (0, "")


@pytest.mark.kernel
@mounts
def test_a_guest_without_space_for_its_memory_is_not_started(tmp_path: Path) -> None:
    setup = f"{mounted('/dev/shm', 'size=16m')}; {mounted('small', 'noexec')}"
    status, errors = run(tmp_path, setup=setup)
    assert status == 2
    assert "32 to 768 MiB: /dev/shm has 16 MiB free; " in errors
    assert f"{tmp_path}/small is mounted noexec; set TMPDIR to a folder" in errors


@pytest.mark.kernel
@mounts
def test_a_full_file_system_of_the_guest_s_memory_is_named(tmp_path: Path) -> None:
    setup = f"{mounted('/dev/shm', 'size=40m')}; {mounted('small', 'size=8m')}"
    status, errors = run(tmp_path, setup=setup, text=EXPERIMENT + MEMORY_USER)
    assert status == 4
    assert "/dev/shm is full: it holds the guest's memory, up to " in errors
    assert "40 MiB free when the guest started; free some space, or set TMPDIR" in errors


@pytest.mark.slow(keep="ulimit -f 400000-None-the size of a file is limited to 195 MiB")
@pytest.mark.kernel
@pytest.mark.parametrize(
    ("setup", "denied", "message"),
    [
        ("true", PTRACE, "forbids ptrace(2)"),
        ("true", PERSONALITY, "forbids personality(2)"),
        ("ulimit -n 14", None, "limit of open files, 14; raise it: ulimit -n"),
        ("ulimit -f 400000", None, "the size of a file is limited to 195 MiB"),
        ("ulimit -v 700000", None, "the memory of a process is limited to 683 MiB"),
    ],
)
def test_a_restriction_of_the_host_is_named(tmp_path: Path, setup: str, denied: int | None, message: str) -> None:
    """Once the error was only "the guest kernel died without a result"."""
    status, errors = run(tmp_path, setup=setup, denied=denied, text=EXPERIMENT + PROGRAM)
    assert (status, message in errors) == (2, True), errors


@pytest.mark.kernel
def test_a_guest_runs_without_cpu_affinity(tmp_path: Path) -> None:
    assert run(tmp_path, denied=SETAFFINITY) == (0, "")


@pytest.mark.parametrize(
    ("console", "cause"),
    [
        (
            "start_ptraced_child : fork failed: Resource temporarily unavailable",
            "reached this user's limit of processes",
        ),
        ("Checking PROT_EXEC mmap\nOperation not permitted\n/tmp must be not mounted noexec", "forbids execution"),
        ("setup_physmem - mapping 792723456 bytes of memory at 0x0 failed - errno = -12", "ulimit -v unlimited"),
        ("ptrace: Operation not permitted\ncheck_ptrace : expected SIGSTOP, got status = 9", "forbids ptrace(2)"),
        ("Kernel panic - not syncing: Attempted to kill init!", ""),
    ],
)
def test_the_console_of_a_failed_guest_gives_the_cause(console: str, cause: str) -> None:
    """The first was printed under `ulimit -u 9`, the others on hosts like those above."""
    found = boot.cause_of_death(console)
    assert cause in found
    assert bool(found) == bool(cause)


def test_the_file_system_with_most_space_is_used_if_none_has_enough() -> None:
    file_systems = {
        folder: os.statvfs(folder) for folder in (boot.SHARED, tempfile.gettempdir()) if Path(folder).is_dir()
    }
    free = {folder: status.f_bavail * status.f_frsize for folder, status in file_systems.items()}
    assert boot.memory_for(2 * max(free.values())).place == max(free, key=lambda folder: free[folder])


def test_links_in_a_planted_lock_folder_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user may create the folder of core locks first. Once the file behind such a link was emptied."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    protected = tmp_path / "precious"
    protected.write_text("kept")
    folder = tmp_path / f"dumbbell-cores-{os.getuid()}"
    folder.mkdir()
    for core in os.sched_getaffinity(0):
        (folder / str(core)).symlink_to(protected)
    with claimed() as core:
        assert core in os.sched_getaffinity(0)
    assert protected.read_text() == "kept"
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    with claimed():
        assert not (tmp_path / str(core)).exists()


def test_a_missing_folder_for_guest_memory_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "SHARED", str(tmp_path / "nowhere"))
    monkeypatch.setattr(boot, "_temporary", list)
    with pytest.raises(LocalHostError, match="nowhere: No such file or directory; set TMPDIR"):
        boot.memory_for(boot.LEAST_BYTES)
