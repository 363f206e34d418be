"""Polling programs let virtual time advance; a program that only computes is reported."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell.engines import KernelEngine, Request
from dumbbell.engines.guest_failures import FILE_NAME, program_of
from dumbbell.errors import GuestHang
from dumbbell.spec import parse
from engines.measured import PYTHON, experiment, measure

IPERF3 = shutil.which("iperf3", path="/usr/bin:/bin:/usr/local/bin")
POLL = """
import select, socket, time
one, other = socket.socketpair()
began = time.monotonic()
while time.monotonic() < began + 0.1:
    select.select([], [one], [])
print(round(time.monotonic() - began, 3))
"""
SPIN = "while True: pass"


def program(script: str) -> str:
    return (
        f'[[programs]]\nname = "one"\non = "receiver"\nrun = ["{PYTHON}", "main.py"]\n'
        f"[programs.files]\n\"main.py\" = '''\n{script}'''\n"
    )


@pytest.mark.slow
@pytest.mark.kernel
def test_a_polling_program_lets_virtual_time_advance(tmp_path: Path) -> None:
    outcome = measure(tmp_path, experiment(program(POLL)))
    assert outcome.problems == []
    assert (outcome.run.folder / "programs" / "one.out").read_text() == "0.1\n"


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.skipif(IPERF3 is None, reason="iperf3 is not installed (make test tries to)")
def test_iperf3_as_the_sending_client_exits(tmp_path: Path) -> None:
    """Its client polls for the server's messages."""
    outcome = measure(
        tmp_path,
        experiment(
            f'[[programs]]\nname = "server"\non = "receiver"\nrun = ["{IPERF3}", "-s", "-1"]\nserves = 5201\n'
            f'[[programs]]\nname = "client"\non = "sender"\nrun = ["{IPERF3}", "-c", "receiver", "-t", "2"]\n',
            duration="10s",
        ),
    )
    assert outcome.problems == []
    output = (outcome.run.folder / "programs" / "client.out").read_text()
    assert output.endswith("iperf Done.\n")
    received = next(line for line in output.splitlines() if line.endswith("receiver")).split()
    # At 10 Mbit/s, with 1,448 of 1,514 bytes of data; slow start takes the first tenth of a second.
    assert 9.56 * 0.95 < float(received[received.index("Mbits/sec") - 1]) <= 9.57


@pytest.mark.slow
@pytest.mark.kernel
def test_an_endless_loop_is_reported_by_name(tmp_path: Path) -> None:
    case = parse(experiment(program(SPIN)), tmp_path / "experiment.toml")[0]
    notices: list[str] = []

    def stop_when_named(_: float) -> None:
        if notices:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KernelEngine().run(Request("spin", case, 1, tmp_path / "out", notice=notices.append), stop_when_named)
    assert notices == [
        f"program '{PYTHON}' has computed for 5 s without a system call: virtual time stops until it sleeps or exits "
        "(Ctrl-C stops the run)"
    ]


@pytest.mark.slow
@pytest.mark.kernel
def test_the_timeout_error_names_the_program(tmp_path: Path) -> None:
    case = parse(experiment(program(SPIN)), tmp_path / "experiment.toml")[0]
    with pytest.raises(GuestHang, match=f"and was stopped; program '{PYTHON}' computed without a system call"):
        KernelEngine(wall_limit_s=15).run(Request("spin", case, 1, tmp_path / "out"), lambda _: None)


def test_other_processes_have_no_program_name() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert program_of(process.pid) is None
        process.kill()
    assert program_of(process.pid) is None


@pytest.mark.parametrize(
    ("end", "name"),
    [
        (b"USER=root\0/usr/bin/my tool\0" + bytes(8), b"/usr/bin/my tool"),
        (b"TERM=xterm\0./a\0" + bytes(8), b"./a"),
        (b"\xff\x7f" + bytes(20), None),
        (b"/usr/bin/tool\0" + bytes(4), None),
    ],
)
def test_the_name_is_at_the_end_of_the_stack(end: bytes, name: bytes | None) -> None:
    found = FILE_NAME.search(end)
    assert (found and found[1]) == name
