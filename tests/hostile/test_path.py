"""Programs on an experiment's hosts that change the path under test: the run is invalid, with the reason.

Each attack is a small program in a guest: on the router, whose queue is under test, or at either end. Either it is
detected, and the run is invalid with a reason that names the changed object, or the guest refuses it, and the run does
not change. Changes that a program reverts are detected too. Changes by the experiment itself are distinguished from
these. Programs that only read leave a run valid. On the host engine, root of the host makes the change.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import pytest

from dumbbell.engines import HostEngine, KernelEngine, Request
from dumbbell.engines.base import Permissions
from dumbbell.engines.programs import Typed
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.spec import parse
from engines.measured import CUBIC, PYTHON, Outcome, experiment, measure
from engines.on_host import host_engine_error, plain

FLOWING_BYTES = 100_000
RATE_CHANGE = '[[changes]]\nat = "1s"\nrate = "5mbit"\n'
FORGE = """
import socket, struct
sender = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
message = struct.pack("=IHHII", 36, 36, 0, 0, 1) + struct.pack("=BxxxiIIi", 0, 3, 0x10000, 0xFFFFFFFF, 2)
for port in (1, 0x44620001, 0x44620002):
    try:
        sender.sendto(message, (port, 0))
        print("sent")
    except ConnectionRefusedError:
        pass
"""
REACH_AGENT = """
import ctypes, os
libc = ctypes.CDLL(None)
agent = libc.syscall(434, 1, 0)
assert agent >= 0
assert all(libc.syscall(438, agent, number, 0) == -1 for number in range(40)), "pidfd_getfd"
assert libc.ptrace(16, 1, 0, 0) == -1, "PTRACE_ATTACH"
def opens(path, mode):
    try:
        open(path, mode, buffering=0).write(b"1000000000")
        return True
    except OSError:
        return False
assert not any(opens(f"/proc/1/fd/{number}", "wb") for number in range(40))
for path in ("/proc/1/mem", "/proc/1/timerslack_ns", "/proc/kcore", "/proc/sysrq-trigger"):
    assert not opens(path, "r+b"), path
"""


def attacked(folder: Path, host: str, script: str | Sequence[str], more: str = "", flow: str = CUBIC) -> Outcome:
    """A run of two seconds with a program that starts after 0.5 s."""
    argv = ["/bin/sh", "-c", script] if isinstance(script, str) else list(script)
    program = f'[[programs]]\nname = "attack"\non = "{host}"\nrun = {json.dumps(argv)}\nstart = "500ms"\n'
    return measure(folder, experiment(more + flow + program))


AND_RESTORE = "; sleep 0.5; "
FOUND = {
    "root deleted": ("router", "tc qdisc del dev right root", "qdisc 1: of 'right'", "→ none"),
    "limit": (
        "router",
        "tc qdisc change dev right parent 1:1 handle 10: pfifo limit 999",
        "qdisc 10: of 'right'",
        "pfifo limit 100 → pfifo parent 1:1 limit 999p",
    ),
    "limit and back": (
        "router",
        f"tc qdisc change dev right parent 1:1 handle 10: pfifo limit 999{AND_RESTORE}"
        "tc qdisc change dev right parent 1:1 handle 10: pfifo limit 100",
        "qdisc 10: of 'right'",
        "limit 999p → pfifo parent 1:1 limit 100p",
    ),
    "rate": (
        "router",
        "tc class change dev right parent 1: classid 1:1 htb rate 50mbit",
        "class 1:1 of 'right'",
        "rate 50Mbit",
    ),
    "delay": ("router", "tc qdisc change dev left root handle 1: netem delay 1ms", "qdisc 1: of 'left'", "delay 1ms"),
    "queue at the sender": ("sender", "tc qdisc add dev right root fq", "of 'right' in 'sender'", "fq"),
    "filter and back": (
        "router",
        f"tc qdisc add dev left clsact; tc filter add dev left ingress matchall action drop{AND_RESTORE}"
        "tc qdisc del dev left clsact",
        "a filter of 'left'",
        "added or changed",
    ),
    "action": ("router", "tc actions add action gact drop index 5", "a filter", "added"),
    "mtu": ("receiver", "ip link set left mtu 1400", "link 'left' in 'receiver'", "mtu 1500 → mtu 1400"),
    "mtu and back": (
        "sender",
        "ip link set right mtu 1400; ip link set right mtu 1500",
        "link 'right' in 'sender'",
        "mtu 1400 → mtu 1500",
    ),
    "rename": ("router", "ip link set right name wrong", "link 'right' in 'router'", "right → wrong"),
    "down and up": ("router", "ip link set left down; ip link set left up", "link 'left' in 'router'", "up → down"),
    "moved": ("router", "ip link set right netns 1", "link 'right' in 'router'", "there → none"),
    "link around the queue": (
        "router",
        "ip link add by type veth peer name by netns 1",
        "link 'by' in 'router'",
        "none → there",
    ),
    "burst": ("sender", "ip link set right gso_max_size 3000", "link 'right'", "gso_max_size 3000"),
    "offloads and back": (
        "sender",
        f"ethtool -K right tso on gso on{AND_RESTORE}ethtool -K right tso off gso off",
        "link 'right' in 'sender'",
        "offloads",
    ),
    "route": ("sender", "ip route change default via 10.0.1.2 initcwnd 100", "route default", "initcwnd 100"),
    "rule and back": (
        "sender",
        "ip rule add from all lookup 100; ip rule del from all lookup 100",
        "rule",
        "none → set",
    ),
    "next hop": ("sender", "ip nexthop add id 5 blackhole", "a next hop of routes", "added"),
    "address": ("receiver", "ip addr add 10.9.9.9/24 dev left", "address 10.9.9.9/24 of 'left'", "none → set"),
    "neighbour and back": (
        "router",
        f"ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:99 dev right nud permanent{AND_RESTORE}"
        "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev right nud permanent",
        "neighbour 10.0.2.2 of 'right'",
        "02:00:00:00:02:99",
    ),
}


@pytest.mark.kernel
@pytest.mark.parametrize("attack", FOUND)
def test_a_change_of_the_path_makes_a_run_invalid_with_a_reason(tmp_path: Path, attack: str) -> None:
    host, script, thing, change_text = FOUND[attack]
    found = attacked(tmp_path, host, script).problems
    problems = [text for text in found if text.startswith("unexpected change of the path")]
    assert any(thing in text and change_text in text for text in problems), problems
    # Linux sends no notification about a link's limits for bursts.
    assert all("at 0.5" in text or "at 1.0" in text or attack == "burst" for text in problems), problems
    assert attack == "burst" or "while program 'attack' ran there" in problems[0]


REFUSED = {
    "sysctl": ("sender", "! sysctl -w net.ipv4.tcp_ecn=1 net.core.rmem_max=9999"),
    "forwarding": ("router", "! sysctl -w net.ipv4.ip_forward=0"),
    "clock": ("sender", "! date -s 2030-01-01"),
    "realtime": ("sender", "! chrt -f -p 99 $$ && ! chrt -i -p 0 1 && ! renice -n -5 $$"),
    "connections of others": ("sender", "ss -K dst 10.0.2.2"),
    "answers to the agent": ("router", [PYTHON, "-c", FORGE]),
    "the agent": ("sender", [PYTHON, "-c", REACH_AGENT]),
    "death of the agent": ("sender", "kill -9 1; kill -STOP 1"),
}


@pytest.mark.kernel
@pytest.mark.parametrize("attack", REFUSED)
def test_a_refused_change_has_no_effect_on_the_run(tmp_path: Path, attack: str) -> None:
    host, script = REFUSED[attack]
    outcome = attacked(tmp_path, host, script)
    assert outcome.problems == []
    assert "sent" not in (outcome.run.folder / "programs" / "attack.out").read_text()
    undisturbed = measure(tmp_path, experiment(), name="calm")
    assert outcome.mbps() == pytest.approx(undisturbed.mbps(), rel=0.02)
    assert outcome.queue("bottleneck")["drops"] == undisturbed.queue("bottleneck")["drops"]


HARMLESS = {
    "nothing": "true",
    "tc and ss": "tc -s qdisc show; tc -s class show dev right; tc filter show dev right; ss -tinm; ip -s -d link",
    "routes": "ip route get 10.0.2.2; ip route show table all; ip rule; ip neigh; ip addr; ethtool -k lo; nstat",
    "settings": "sysctl -a 2>&1 | wc -l",
    "download": "curl -s -o /dev/null --max-time 1 http://127.0.0.1:9/; true",
}


@pytest.mark.kernel
@pytest.mark.parametrize("host", ["sender", "router", "receiver"])
@pytest.mark.parametrize("program", HARMLESS)
def test_a_program_that_only_reads_leaves_a_run_valid(tmp_path: Path, host: str, program: str) -> None:
    assert attacked(tmp_path, host, HARMLESS[program], RATE_CHANGE).problems == []


@pytest.mark.kernel
def test_changes_of_the_experiment_are_expected_and_programs_change_no_byte(tmp_path: Path) -> None:
    with_program = attacked(tmp_path, "router", "true", RATE_CHANGE)
    without = measure(tmp_path, experiment(RATE_CHANGE + CUBIC), name="without")
    assert with_program.problems == without.problems == []
    for table in TABLES:
        first_table, second_table = (each.run.folder / f"{table}.parquet" for each in (with_program, without))
        assert first_table.read_bytes() == second_table.read_bytes(), table


@pytest.mark.kernel
def test_a_program_cannot_prevent_a_change_that_the_agent_makes(tmp_path: Path) -> None:
    killed = attacked(tmp_path, "router", "kill -9 -1", RATE_CHANGE)
    assert killed.problems == []
    assert killed.queue("bottleneck")["rates"][-1] == [1.0, 5_000_000]


@pytest.mark.kernel
def test_a_prevented_change_of_the_experiment_is_reported(tmp_path: Path) -> None:
    problems = attacked(tmp_path, "router", "tc qdisc del dev right root", RATE_CHANGE).problems
    assert any("a change of the experiment in 'router' changed" in text for text in problems), problems


@pytest.mark.kernel
def test_many_changes_are_listed_up_to_a_limit_and_counted(tmp_path: Path) -> None:
    script = "for i in $(seq 300); do echo addr add 10.9.9.9/24 dev right; echo addr del 10.9.9.9/24 dev right; done"
    problems = attacked(tmp_path, "sender", f"{script} | ip -batch -").problems
    assert len(problems) == 17
    assert problems[-1].endswith("further changes of the path")


@pytest.mark.kernel
def test_a_run_whose_guest_ran_out_of_memory_is_invalid(tmp_path: Path) -> None:
    fill = "for folder in /tmp /run; do dd if=/dev/zero of=$folder/x bs=1M count=500; done; true"
    problems = attacked(tmp_path, "sender", fill).problems
    assert any(text.startswith("the guest ran out of memory and killed process 'dd'") for text in problems), problems


@pytest.mark.kernel
def test_a_sysctl_changed_by_a_program_with_all_capabilities_is_found_at_the_end(tmp_path: Path) -> None:
    program = (
        '[[programs]]\nname = "mine"\non = "sender"\n'
        'run = ["sysctl", "-w", "net.ipv4.tcp_limit_output_bytes=4096", "net.ipv4.conf.right.rp_filter=1"]\n'
    )
    case = parse(experiment(CUBIC + program), tmp_path / "x.toml")[0]
    typed = Typed(frozenset({"mine"}), tmp_path, "/usr/sbin:/usr/bin:/sbin:/bin", powers=True)
    run = result.load(KernelEngine().run(Request("x", case, 1, tmp_path / "out", typed=typed), lambda _seconds: None))
    problems = run.manifest.invalid
    assert any("net.ipv4.tcp_limit_output_bytes in 'sender' changed during the run" in text for text in problems), (
        problems
    )
    assert any("→ 4096" in text for text in problems)
    assert any("rp_filter" in text for text in problems)


def own_worker() -> str | None:
    """The agent process that this process has started as a worker."""
    for process in (folder for folder in Path("/proc").iterdir() if folder.name.isdigit()):
        try:
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            status = (process / "status").read_text()
        except OSError:
            continue
        if arguments[1:2] == [b"worker"] and f"PPid:\t{os.getpid()}\n" in status:
            return process.name
    return None


def change_from_outside() -> None:
    """As soon as the flow has sent data through the router's queue, change its limit."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.05)
        if (process := own_worker()) is None:
            continue
        tc = ["nsenter", "-t", process, "-m", "tc", "-n", "router"]
        shown = subprocess.run(
            [*tc, "-s", "qdisc", "show", "dev", "right"], capture_output=True, text=True, check=False
        )
        if any(int(sent) > FLOWING_BYTES for sent in re.findall(r"Sent (\d+) bytes", shown.stdout)):
            change = "qdisc change dev right parent 1:1 handle 10: pfifo limit 999"
            subprocess.run([*tc, *change.split()], check=True)
            return


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reaches into another's namespaces")
def test_a_change_by_root_is_found_on_the_host_engine(tmp_path: Path) -> None:
    if reason := host_engine_error():
        pytest.skip(reason)
    case = parse(plain("4s"), tmp_path / "x.toml")[0]
    request = Request("x", case, 1, tmp_path / "run")
    thread = Thread(target=change_from_outside)
    thread.start()
    run = result.load(HostEngine(Permissions(host=True)).run(request, lambda _seconds: None))
    thread.join()
    problems = run.manifest.invalid
    assert any("qdisc 10: of 'right' in 'router' changed at" in text for text in problems), problems
    assert any("→ pfifo parent 1:1 limit 999p" in text for text in problems), problems
