"""Real hosts are left as they were, whatever is killed: agents, wardens, all of them, ssh, Python, or the line itself.

`DUMBBELL_KILLS=10` tries ten moments of each; otherwise there are two.
"""

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

from engine.yard import Yard, lacking, processes, yard

MOMENTS = int(os.environ.get("DUMBBELL_KILLS", "2"))
LIMIT_S = 15.0
"""Until everything is as it was."""
LONGEST_S = 4.0
"""Between the first agent, whose experiment takes 3 s and some for setting up, and what is done to it."""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "machines for tests can be made here"),
]

EXPERIMENT = """
title = "to be cut off"
duration = "3s"
[path]
rtt = "0ms"
[path.bottleneck]
qdisc = "tbf rate 20mbit burst 10kb limit 100kb"
[[flows]]
cc = "cubic"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with yard(tmp_path_factory.mktemp("yard"), router=False) as made:
        (made.folder / "x.toml").write_text(EXPERIMENT + made.table())
        yield made


def start(hosts: Yard, out: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "dumbbell", "run", str(hosts.folder / "x.toml"), "--engine", "host"]
    words += ["--hosts", "sender,receiver"]
    return subprocess.Popen(
        [*words, *more, "--out", str(out)], env=os.environ | {"DUMBBELL_SSH": hosts.ssh}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def agents(hosts: Yard) -> list[int]:
    """Parents before children: speaker, warden, lab of each host."""
    return sorted(hosts.agents())


def strike_speakers(hosts: Yard, _run: subprocess.Popen[bytes]) -> None:
    """The first of each host's agents; found before any is killed, for then its warden has another parent."""
    for number in [each for each in agents(hosts) if parent_name(each) != "agent"]:
        kill(number)


def strike_wardens(hosts: Yard, _run: subprocess.Popen[bytes]) -> None:
    for number in agents(hosts):
        if parent_name(number) == "agent":
            kill(number)
            return


def strike_all_agents(hosts: Yard, _run: subprocess.Popen[bytes]) -> None:
    for number in agents(hosts):
        kill(number)


def strike_ssh(_hosts: Yard, run: subprocess.Popen[bytes]) -> None:
    for number, program, _ in processes():
        if program == "ssh" and str(run.pid) in ancestors(number):
            kill(number)
            return


def strike_python(_hosts: Yard, run: subprocess.Popen[bytes]) -> None:
    kill(run.pid)


def cut_the_line(hosts: Yard, _run: subprocess.Popen[bytes]) -> None:
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


STRIKES: dict[str, Callable[[Yard, subprocess.Popen[bytes]], None]] = {
    "speakers": strike_speakers,
    "warden": strike_wardens,
    "all agents": strike_all_agents,
    "ssh": strike_ssh,
    "python": strike_python,
    "line": cut_the_line,
}


@pytest.mark.parametrize("moment", range(MOMENTS))
@pytest.mark.parametrize("what", STRIKES)
def test_hosts_are_left_as_they_were(
    hosts: Yard, what: str, moment: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    before = hosts.pictures()
    later_s = random.Random(f"{what}/{moment}").uniform(0, LONGEST_S)
    # Behind a cut line only silence says so, and the experiment must outlast it.
    run = start(hosts, tmp_path / "out", *(["--set", "duration=60s"] if what == "line" else []))
    try:
        wait_for_agents(hosts)
        time.sleep(later_s)
        STRIKES[what](hosts, run)
        if what == "all agents":
            # Nobody is left who could put anything back, but the next run: it finds what there was on file.
            run.wait(timeout=60)
            put_back = start(hosts, tmp_path / "next")
            put_back.communicate(timeout=60)
            # Its status tells of the machine's load too.
            assert (tmp_path / "next" / "run.json").exists()
        took_s = settle(hosts, before)
        record_property("moment", f"{what} after {later_s:.1f} s: as before {took_s:.1f} s later")
    finally:
        hosts["sender"].run("ip link set eth0 up")
        end(run)
    assert hosts.agents() == []
    assert hosts.pictures() == before


def wait_for_agents(hosts: Yard) -> None:
    until = time.monotonic() + 60
    while not hosts.agents():
        assert time.monotonic() < until, "no agent came"
        time.sleep(0.05)


def settle(hosts: Yard, before: dict[str, dict[str, str]]) -> float:
    """Seconds until everything is as it was, but for the line that was cut."""
    began = time.monotonic()
    while hosts.agents() or shaped(hosts.pictures()) != shaped(before):
        assert time.monotonic() - began < LIMIT_S, difference(shaped(before), shaped(hosts.pictures()))
        time.sleep(0.2)
    return time.monotonic() - began


def shaped(pictures: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """What a run may change; a cut line changes links and routes too."""
    return {
        host: {key: each[key] for key in ("qdiscs", "offloads", "sysctls", "run")} for host, each in pictures.items()
    }


def difference(before: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> str:
    return "\n".join(
        f"{host} {key}:\n{before[host][key]}\n--- is now\n{now[host][key]}"
        for host in before for key in before[host] if before[host][key] != now[host][key]
    )  # fmt: skip


def end(run: subprocess.Popen[bytes]) -> None:
    try:
        run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        run.communicate()
        raise
