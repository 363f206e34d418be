"""Tests in guests: verdicts, limits, and that a test can't write to the host."""

import os
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.host.agent import agent
from dumbbell.kernels import find
from dumbbell.testing import guest, packetdrill
from dumbbell.testing.guest import Ended, Program
from engines.measured import PYTHON

STAND_IN = Path(__file__).with_name("packetdrill_stand_in")
SOCKET = " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"


def run(folder: Path, script: str, *, limit_s: float = 5, wall_limit_s: float = 60, own_network: bool = False) -> Ended:
    program = Program(("sh", "-c", script), folder, [str(folder)], own_network)
    return guest.run(
        program, find(None), agent(), seed=1, limit_ns=round(limit_s * 1e9), wall_limit_s=wall_limit_s,
        cancelled=threading.Event(),
    )  # fmt: skip


@pytest.mark.kernel
def test_a_test_is_root_with_all_devices_and_can_t_write_to_the_host(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("before")
    mine.chmod(0o644)
    end = run(
        tmp_path,
        f"""
        echo private > /tmp/file && echo "wrote to /tmp"
        test -c /dev/net/tun && sysctl -q -w net.ipv4.tcp_sack=0 && echo "has devices and settings"
        echo other > {mine}
        mount -o remount,rw {tmp_path} && echo "remounted"; echo other > {mine}
        mkdir /tmp/host && mount -t hostfs none /tmp/host -o / && echo "mounted"
        echo other > /tmp/host{mine}; rm /tmp/host{mine}; chmod 777 /tmp/host{mine}; touch /tmp/host{tmp_path}/new
        cat {mine}
        """,
    )
    said = end.output.decode()
    for line in ("wrote to /tmp", "has devices and settings", "remounted", "mounted", "before"):
        assert line in said.splitlines(), said
    assert said.count("Read-only file system") >= 4, said
    assert mine.read_text() == "before"
    assert mine.stat().st_mode & 0o777 == 0o644
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine"]


@pytest.mark.kernel
def test_a_test_that_dies_while_its_threads_are_freed_ends(tmp_path: Path) -> None:
    """The kernel frees their files in /proc; the agent, which runs before them, waited for that without an end."""
    program = """
import os, threading, time
for _ in range(8):
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
for thread in os.listdir("/proc/self/task"):
    open(f"/proc/self/task/{thread}/stat").read()
open("/proc/self/stat").read()
os._exit(7)
"""
    (tmp_path / "threads.py").write_text(program)
    end = run(tmp_path, f"exec {PYTHON} threads.py", wall_limit_s=20, own_network=True)
    assert (end.status, end.stopped) == (7, False)


@pytest.mark.kernel
def test_a_test_that_sleeps_ends_at_its_limit_of_virtual_time(tmp_path: Path) -> None:
    end = run(tmp_path, "echo before; sleep 1000000", limit_s=3)
    assert (end.stopped, end.status, end.output) == (True, None, b"before\n")
    assert end.duration_ns == pytest.approx(3e9, abs=1e7)


@pytest.mark.kernel
def test_a_test_has_a_network_of_its_own_or_the_first_one(tmp_path: Path) -> None:
    own, first = (run(tmp_path, "ip -br link; ls /sys/class/net", own_network=own).output for own in (True, False))
    assert b"DOWN" in own
    assert b"UNKNOWN" in first
    assert own.endswith(b"lo\n")


@pytest.mark.kernel
@pytest.mark.parametrize("binary", ["/bin/true", "/bin/false", "/bin/echo"])
def test_another_program_is_no_packetdrill(tmp_path: Path, binary: str) -> None:
    def in_guest(program: Program) -> Ended:
        return guest.run(
            program, find(None), agent(), seed=1, limit_ns=10**10, wall_limit_s=60, cancelled=threading.Event()
        )

    with pytest.raises(ExperimentError, match=f"{binary} is not packetdrill"):
        packetdrill.check(Path(binary), in_guest, [str(tmp_path)])


@pytest.mark.kernel
def test_results_are_printed_and_written(dumbbell: Dumbbell, tmp_path: Path) -> None:
    scripts = {
        "right.pkt": f"`echo prepared > /tmp/state`\n{SOCKET}",
        "wrong.pkt": " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1\n",
        "syntax.pkt": "nonsense\n",
        "never.pkt": f"{SOCKET}+1 > S. 0:0(0)\n",
    }
    (tmp_path / "tests").mkdir()
    for name, text in scripts.items():
        (tmp_path / "tests" / name).write_text(text)
    done = dumbbell(
        "selftest", "tests", "--packetdrill", str(STAND_IN), "--match", "ipv4", "--repeat", "2", "--junit", "out.xml"
    )
    assert done.returncode == 1, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.startswith("# ")] == [
        "KTAP version 1",
        "1..4",
        "not ok 1 never.pkt ipv4 # exit status 1: never.pkt:2: error handling packet: Timed out waiting for packet",
        "ok 2 right.pkt ipv4 # identical in 2 runs",
        "not ok 3 syntax.pkt ipv4 # exit status 1: syntax.pkt:1: parse error at 'nonsense': syntax error",
        "not ok 4 wrong.pkt ipv4 # exit status 1: wrong.pkt:1: runtime error in socket call: "
        "Expected result -1 but got 3 with errno 2 (No such file or directory)",
    ]
    assert done.stdout.endswith("# Totals: pass:1 fail:3 xfail:0 xpass:0 skip:0 error:0\n")
    root = ET.parse(tmp_path / "out.xml").getroot()
    assert root.get("failures") == "3"
    # The wait for the packet that never comes, in virtual time.
    times = {case.get("name"): float(case.get("time") or 0) for case in root.iter("testcase")}
    assert times["never.pkt ipv4"] == pytest.approx(1, abs=0.1)


@pytest.mark.kernel
def test_a_shell_test_passes_skips_and_loops(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for name, text in {
        "a.sh": "ip link show lo | grep -q UP",
        "b.sh": "echo SKIP: needs bpftrace; exit 4",
        "c.sh": "echo begun; while :; do :; done",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = dumbbell("selftest", ".", "--wall-limit", "2", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2:4] == ["ok 1 a.sh", "ok 2 b.sh # SKIP needs bpftrace"]
    assert "# begun" in lines
    assert "not ok 3 c.sh # TIMEOUT the guest was still running after 2 s of wall time and was stopped" in lines


def test_a_request_that_can_t_be_met_is_refused_at_once(
    dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    (tmp_path / "a.pkt").write_text(SOCKET)
    (tmp_path / "packetdrill.txt").touch()
    for arguments, message in (
        ((), "--packetdrill: packetdrill runs .pkt scripts and was not found; name its file; its source is"),
        (("--packetdrill", "none"), "--packetdrill: no such file, got 'none'"),
        (("--packetdrill", "packetdrill.txt"), "--packetdrill: not executable, got 'packetdrill.txt'"),
        (("--tolerance", "5"), "--tolerance: "),
        (("--tolerance", "0.1us"), "--tolerance: too little, got '0.1us'; at least 1us"),
        (("--packetdrill", str(STAND_IN), "--junit", "none/out.xml"), "none/out.xml: can't be written"),
        (("--kernel", ","), "--packetdrill: "),
    ):
        done = dumbbell("selftest", "a.pkt", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"dumbbell: {message}"), done.stderr
    done = dumbbell("selftest", ".", "--list")
    assert (done.returncode, done.stdout) == (0, "a.pkt ipv4\na.pkt ipv6\n")
