"""How a test's end is judged, and how two runs are compared."""

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.errors import GuestPanic
from dumbbell.testing.guest import Ended
from dumbbell.testing.results import Status
from dumbbell.testing.scripts import Script
from dumbbell.testing.selftests import first_difference, judge

PACKETS = Script(Path("/a.pkt"), "a.pkt ipv4", "ipv4")
SHELL = Script(Path("/tests/a.sh"), "a.sh")
FINE = Ended(0, None, stopped=False, fault="", duration_ns=1_000, output=b"", dropped_bytes=0)
WRONG = b"a.pkt:5: error handling packet: expected: 44\nscript packet: 1\nactual packet: 2\n"


@pytest.mark.parametrize(
    ("script", "end", "status", "reason"),
    [
        (PACKETS, FINE, Status.PASSED, ""),
        (PACKETS, replace(FINE, status=1, output=WRONG), Status.FAILED,
         "exit status 1: a.pkt:5: error handling packet: expected: 44"),
        (PACKETS, replace(FINE, status=1, output=b"assertion len >= sizeof(struct _tcp_info) failed at code.c\n"),
         Status.FAILED, "exit status 1: assertion len >= sizeof(struct _tcp_info) failed at code.c: packetdrill's "
         "tcp_info is newer than this kernel's, take an older revision"),
        (SHELL, replace(FINE, status=1, output=b"one\ntwo\n\n"), Status.FAILED, "exit status 1: two"),
        (SHELL, replace(FINE, status=1), Status.FAILED, "exit status 1"),
        (SHELL, replace(FINE, status=4, output=b"# SKIP: needs bpftrace\n"), Status.SKIPPED, "needs bpftrace"),
        (SHELL, replace(FINE, status=4, output=b"Skipping test\nbye\n"), Status.SKIPPED, "test"),
        (SHELL, replace(FINE, status=4), Status.SKIPPED, "it did not say why"),
        # packetdrill has no such status.
        (PACKETS, replace(FINE, status=4), Status.FAILED, "exit status 4"),
        (SHELL, replace(FINE, status=None, signal=11), Status.FAILED, "killed by SIGSEGV"),
        (SHELL, replace(FINE, status=None, signal=9, stopped=True), Status.TIMEOUT,
         "not done after 20 s of virtual time"),
        (SHELL, replace(FINE, status=1, fault="starting './a.sh': Exec format error"), Status.FAILED,
         "did not start: starting './a.sh': Exec format error"),
        (SHELL, replace(FINE, warnings=("kernel warning at net/ipv4/tcp.c:1, in tcp_close",)), Status.FAILED,
         "kernel warning at net/ipv4/tcp.c:1, in tcp_close"),
    ],
)  # fmt: skip
def test_an_end_is_judged(script: Script, end: Ended, status: Status, reason: str) -> None:
    assert judge(script, end, 20_000_000_000) == (status, reason)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("./ip_defrag.sh: 9: modprobe: not found", "modprobe"),
        ("./a.sh: line 3: bpftrace: command not found", "bpftrace"),
        ("/usr/bin/env: ‘python4’: No such file or directory", "python4"),
    ],
)
def test_a_program_that_is_not_installed_skips_a_test(line: str, program: str) -> None:
    end = replace(FINE, status=127, output=f"{line}\n".encode())
    assert judge(SHELL, end, 1) == (Status.SKIPPED, f"{program} is not installed")
    assert judge(SHELL, replace(end, status=1), 1)[0] is Status.FAILED
    assert judge(PACKETS, end, 1)[0] is Status.FAILED


def test_a_helper_that_is_not_compiled_skips_a_test(tmp_path: Path) -> None:
    script = Script(tmp_path / "udpgso.sh", "udpgso.sh")
    end = replace(FINE, status=1, output=b"./udpgso.sh: line 9: ./udpgso: No such file or directory\n")
    assert judge(script, end, 1)[0] is Status.FAILED
    (tmp_path / "udpgso.c").touch()
    assert judge(script, end, 1) == (Status.SKIPPED, "udpgso is not compiled: run make in the test's folder")
    (tmp_path / "udpgso").touch()
    assert judge(script, end, 1)[0] is Status.FAILED


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (FINE, ""),
        (replace(FINE, output=b"one\nTWO\n"), "line 2 of its output is 'TWO' instead of 'two'"),
        (replace(FINE, output=b"one\n"), "line 2 of its output is missing instead of 'two'"),
        (replace(FINE, output=b"one\ntwo\n3\n"), "line 3 of its output is '3' instead of missing"),
        (replace(FINE, output=b"one\ntwo\n", status=1), "status is 1 instead of 0"),
        (replace(FINE, output=b"one\ntwo\n", duration_ns=1_001), "duration_ns is 1001 instead of 1000"),
        (GuestPanic("it died\nmore"), "it died instead of exit status 0"),
    ],
)
def test_the_first_difference_is_named(other: Ended | GuestPanic, difference: str) -> None:
    first = replace(FINE, output=b"one\ntwo\n") if difference else FINE
    assert first_difference(first, other) == difference


def test_the_same_failure_of_a_guest_is_no_difference() -> None:
    assert first_difference(GuestPanic("it died"), GuestPanic("it died")) == ""
