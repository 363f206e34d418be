"""Real hosts are restored after a kill of the control, watchdog, all agents, ssh or Python, and after a disconnection.

`DUMBBELL_KILLS=10` tries ten times of the kill instead of two.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engines.ssh_testbed import SshTestbed, connected_hosts, processes, ssh_testbed_error

MOMENTS = int(os.environ.get("DUMBBELL_KILLS", "2"))
LIMIT_S = 15.0
"""Time limit until the hosts are restored."""
LONGEST_S = 4.0
"""Latest time of the kill after the first agent has started; the experiment takes 3 s and some setup time."""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(ssh_testbed_error()), reason=ssh_testbed_error() or "the testbed can be created"),
]

EXPERIMENT = """
title = "to be disconnected"
duration = "3s"
[path]
rtt = "0ms"
[path.bottleneck]
qdisc = "tbf rate 20mbit burst 10kb limit 100kb"
[[flows]]
cc = "cubic"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshTestbed]:
    with connected_hosts(tmp_path_factory.mktemp("hosts"), router=False) as testbed:
        (testbed.folder / "x.toml").write_text(EXPERIMENT + testbed.table())
        yield testbed


def start(hosts: SshTestbed, out: Path, *more: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "dumbbell", "run", str(hosts.folder / "x.toml"), "--engine", "host"]
    arguments += ["--hosts", "sender,receiver"]
    return subprocess.Popen(
        [*arguments, *more, "--out", str(out)], env=os.environ | {"DUMBBELL_SSH": hosts.ssh}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def agents(hosts: SshTestbed) -> list[int]:
    """PIDs, parents before children: control, watchdog and event loop of each host."""
    return sorted(hosts.agents())


def kill_controls(hosts: SshTestbed, _run: subprocess.Popen[bytes]) -> None:
    """The first agent of each host, found before any is killed, since then the watchdog's parent changes."""
    for number in [each for each in agents(hosts) if parent_name(each) != "agent"]:
        kill(number)


def kill_watchdogs(hosts: SshTestbed, _run: subprocess.Popen[bytes]) -> None:
    for number in agents(hosts):
        if parent_name(number) == "agent":
            kill(number)
            return


def kill_all_agents(hosts: SshTestbed, _run: subprocess.Popen[bytes]) -> None:
    for number in agents(hosts):
        kill(number)


def kill_ssh(_hosts: SshTestbed, run: subprocess.Popen[bytes]) -> None:
    for number, program, _ in processes():
        if program == "ssh" and str(run.pid) in ancestors(number):
            kill(number)
            return


def kill_python(_hosts: SshTestbed, run: subprocess.Popen[bytes]) -> None:
    kill(run.pid)


def disconnect(hosts: SshTestbed, _run: subprocess.Popen[bytes]) -> None:
    hosts["sender"].run("ip link set eth0 down")


def kill(number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def parent(number: int) -> int:
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def parent_name(number: int) -> str:
    try:
        return Path(f"/proc/{parent(number)}/comm").read_text().strip()
    except OSError:
        return ""


def ancestors(number: int) -> list[str]:
    found = []
    while number > 1:
        number = parent(number)
        found.append(str(number))
    return found


KILLS: dict[str, Callable[[SshTestbed, subprocess.Popen[bytes]], None]] = {
    "controls": kill_controls,
    "watchdog": kill_watchdogs,
    "all agents": kill_all_agents,
    "ssh": kill_ssh,
    "python": kill_python,
    "line": disconnect,
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(MOMENTS))
@pytest.mark.parametrize("victim", KILLS)
def test_hosts_are_restored(
    hosts: SshTestbed, victim: str, moment: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    before = hosts.snapshots()
    later_s = random.Random(f"{victim}/{moment}").uniform(0, LONGEST_S)
    # A cut connection is detected only by a timeout, which the experiment must outlast.
    run = start(hosts, tmp_path / "out", *(["--set", "duration=60s"] if victim == "line" else []))
    try:
        wait_for_agents(hosts)
        time.sleep(later_s)
        KILLS[victim](hosts, run)
        if victim == "all agents":
            # No process is left to restore the host; the next run does it from the undo file.
            run.wait(timeout=60)
            restoring_run = start(hosts, tmp_path / "next")
            restoring_run.communicate(timeout=60)
            # Its exit status depends on the host's load, too.
            assert (tmp_path / "next" / "run.json").exists()
        took_s = wait_until_restored(hosts, before)
        record_property("moment", f"{victim} after {later_s:.1f} s: restored after {took_s:.1f} s")
    finally:
        hosts["sender"].run("ip link set eth0 up")
        wait_for_exit(run)
    assert hosts.agents() == []
    assert hosts.snapshots() == before


@pytest.mark.slow
def test_hosts_are_restored_by_a_command_without_a_run(hosts: SshTestbed, tmp_path: Path) -> None:
    before = hosts.snapshots()

    def restored() -> dict[str, list[str]]:
        command = [sys.executable, "-m", "dumbbell", "hosts", "restore", "sender", "receiver", "--json"]
        done = subprocess.run(
            command, env=os.environ | {"DUMBBELL_SSH": hosts.ssh}, capture_output=True, text=True, check=True,
            timeout=60,
        )  # fmt: skip
        return {host["ssh"]: host["restored"] for host in json.loads(done.stdout)["hosts"]}

    run = start(hosts, tmp_path / "out")
    try:
        deadline = time.monotonic() + 60
        while "tbf" not in hosts["sender"].run("tc qdisc show dev eth1"):
            assert time.monotonic() < deadline, "the bottleneck was not set up"
            time.sleep(0.02)
        kill_all_agents(hosts, run)
        run.wait(timeout=60)
        assert "tbf" in hosts["sender"].run("tc qdisc show dev eth1")
        found = restored()
        assert any("tbf" in sentence for sentence in found["sender"])
        assert hosts.snapshots() == before
        assert restored() == {"sender": [], "receiver": []}
    finally:
        wait_for_exit(run)
    assert hosts.agents() == []


def wait_for_agents(hosts: SshTestbed) -> None:
    deadline = time.monotonic() + 60
    while not hosts.agents():
        assert time.monotonic() < deadline, "no agent started"
        time.sleep(0.05)


def wait_until_restored(hosts: SshTestbed, before: dict[str, dict[str, str]]) -> float:
    """Seconds until everything is restored, except for the cut connection."""
    started = time.monotonic()
    while hosts.agents() or changeable(hosts.snapshots()) != changeable(before):
        assert time.monotonic() - started < LIMIT_S, difference(changeable(before), changeable(hosts.snapshots()))
        time.sleep(0.2)
    return time.monotonic() - started


def changeable(snapshots: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """What a run may change; a cut connection also changes links and routes."""
    return {
        host: {key: each[key] for key in ("qdiscs", "offloads", "sysctls", "run")} for host, each in snapshots.items()
    }


def difference(before: dict[str, dict[str, str]], current: dict[str, dict[str, str]]) -> str:
    return "\n".join(
        f"{host} {key}:\n{before[host][key]}\n--- is now\n{current[host][key]}"
        for host in before for key in before[host] if before[host][key] != current[host][key]
    )  # fmt: skip


def wait_for_exit(run: subprocess.Popen[bytes]) -> None:
    try:
        run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        run.communicate()
        raise
