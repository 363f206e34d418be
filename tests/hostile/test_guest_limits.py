"""Machines on which a guest can't live: full or forbidding file systems, low limits, no ptrace. Errors name why."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import COMMAND
from dumbbell.engines.cores import claimed
from dumbbell.errors import LocalHostError
from dumbbell.kernels import guest_requirements

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
EATER = """
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
"""Runs a command that is refused (EPERM) one system call, by seccomp(2)."""
PTRACE, PERSONALITY, SETAFFINITY = 101, 135, 203
"""Numbers of system calls on x86-64."""


def run(folder: Path, *, setup: str = "true", text: str = EXPERIMENT, denied: int | None = None) -> tuple[int, str]:
    """Status and complaint of a run in mounts of its own; it leaves a result, or nothing."""
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


def mounted(place: str, options: str) -> str:
    return f"mount -t tmpfs -o {options} none {place}"


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
def test_a_guest_lives_wherever_there_is_room(tmp_path: Path, setup: str) -> None:
    """In the first two it died before."""
    assert run(tmp_path, setup=setup) == (0, "")


@pytest.mark.kernel
@mounts
def test_without_room_for_its_memory_a_guest_is_not_started(tmp_path: Path) -> None:
    setup = f"{mounted('/dev/shm', 'size=16m')}; {mounted('small', 'noexec')}"
    status, said = run(tmp_path, setup=setup)
    assert status == 2
    assert "32 to 768 MiB: /dev/shm has 16 MiB free; " in said
    assert f"{tmp_path}/small is mounted noexec; set TMPDIR to a folder" in said


@pytest.mark.kernel
@mounts
def test_a_guest_that_fills_the_place_of_its_memory_names_it(tmp_path: Path) -> None:
    setup = f"{mounted('/dev/shm', 'size=40m')}; {mounted('small', 'size=8m')}"
    status, said = run(tmp_path, setup=setup, text=EXPERIMENT + EATER)
    assert status == 1
    assert "/dev/shm is full: it holds the guest's memory, up to " in said
    assert "40 MiB free when the guest started; free some space, or set TMPDIR" in said


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("setup", "denied", "why"),
    [
        ("true", PTRACE, "forbids ptrace(2)"),
        ("true", PERSONALITY, "forbids personality(2)"),
        ("ulimit -n 14", None, "limit of open files, 14; raise it: ulimit -n"),
        ("ulimit -f 400000", None, "the size of a file is limited to 195 MiB"),
        ("ulimit -v 700000", None, "the memory of a process is limited to 683 MiB"),
    ],
)
def test_what_the_machine_forbids_is_named(tmp_path: Path, setup: str, denied: int | None, why: str) -> None:
    """Before: "the guest kernel died without a result", and for a file's size not a word more."""
    status, said = run(tmp_path, setup=setup, denied=denied)
    assert (status, why in said) == (2, True), said


@pytest.mark.kernel
def test_a_guest_that_may_not_be_tied_to_a_core_lives(tmp_path: Path) -> None:
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
def test_a_dying_guest_s_words_are_explained(console: str, cause: str) -> None:
    """The first was said under `ulimit -u 9`, the others on machines like those above."""
    found = guest_requirements.cause_of_death(console)
    assert cause in found
    assert bool(found) == bool(cause)


def test_the_roomiest_place_is_taken_where_none_has_room_for_all() -> None:
    places = {
        place: os.statvfs(place) for place in (guest_requirements.SHARED, tempfile.gettempdir()) if Path(place).is_dir()
    }
    free = {place: found.f_bavail * found.f_frsize for place, found in places.items()}
    assert guest_requirements.memory_for(2 * max(free.values())).place == max(free, key=lambda place: free[place])


def test_no_other_user_s_folder_leads_us_to_files_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of cores lie where all users write: one of them may have been there first. Before, the file was emptied."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    precious = tmp_path / "precious"
    precious.write_text("kept")
    folder = tmp_path / f"dumbbell-cores-{os.getuid()}"
    folder.mkdir()
    for core in os.sched_getaffinity(0):
        (folder / str(core)).symlink_to(precious)
    with claimed() as core:
        assert core in os.sched_getaffinity(0)
    assert precious.read_text() == "kept"
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    with claimed():
        assert not (tmp_path / str(core)).exists()


def test_a_place_that_does_not_exist_is_no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guest_requirements, "SHARED", str(tmp_path / "nowhere"))
    monkeypatch.setattr(guest_requirements, "_temporary", list)
    with pytest.raises(LocalHostError, match="nowhere: No such file or directory; set TMPDIR"):
        guest_requirements.memory_for(guest_requirements.LEAST_BYTES)
