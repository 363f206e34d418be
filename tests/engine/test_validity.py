"""A clean run is valid; each thing that can spoil one makes it invalid by itself."""

# ruff: noqa: E501 — as the kernel writes it
import copy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.engine.validity import ESTABLISHED, SOCKET_DROPS, Verdict, closed_windows, judge
from dumbbell.plan import Plan, make
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments

TEXT = """
duration = "10s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "bbr"
bytes = "1MB"
[[flows]]
cc = "cubic"
[[flows]]
kind = "udp"
rate = "1mbit"
"""
DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  left:    1000      10    0    {received}    0     0          0         0     2000      20    0    {left}    0     0       0          0
 right:    1000      10    0    0    0     0          0         0     2000      20    0    {sent}    0     0       0          0
"""
SOFTNET = "00000010 {:08x} 00000000 00000000\n00000020 00000000 00000000 00000000\n"
NETSTAT = "TcpExt: {}\nTcpExt: {}\nIpExt: InNoRoutes\nIpExt: 0\n"


def counters(*, received: int = 0, sent: int = 0, left: int = 0, softnet: int = 0, **tcp: int) -> dict[str, str]:
    values = dict.fromkeys([*SOCKET_DROPS, "TCPMemoryPressures"], 0) | tcp
    return {
        "dev": DEV.format(received=received, sent=sent, left=left),
        "softnet_stat": SOFTNET.format(softnet),
        "snmp": "Tcp: RtoMin RetransSegs\nTcp: 200 0\n",
        "netstat": NETSTAT.format(" ".join(values), " ".join(map(str, values.values()))),
    }


def report(cc: str | None, **other: Any) -> dict[str, Any]:
    return {"started_ns": 0, "connected_ns": 1, "completed_ns": None, "error": None, "cc": cc} | other


class Lab:
    """A clean run, as the agent would report it; spoil it, then judge."""

    def __init__(self) -> None:
        self.plan: Plan = make(parse(TEXT, Path("known.toml"))[0].experiment, Attachments(), 1)
        calm = {host: counters() for host in self.plan.hosts}
        self.end: dict[str, Any] = {
            "counters_before": calm,
            "counters": copy.deepcopy(calm),
            "flows": [report("bbr", completed_ns=5), report("cubic"), report(None)],
        }
        self.drops: dict[str, int] = {queue.name: 0 for queue in self.plan.queues}

    def judge(self) -> Verdict:
        return judge(self.plan, self.end, self.plan.queues, self.drops)


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_a_clean_run_is_valid_without_a_word(lab: Lab) -> None:
    assert lab.judge() == Verdict([], [])


def test_a_drop_in_the_queue_under_test_is_the_experiment(lab: Lab) -> None:
    """The shaper above counts the same drops, and so does the device."""
    lab.drops |= {"bottleneck": 500, "bottleneck.shaper": 500}
    lab.end["counters"]["router"] = counters(sent=500)
    assert lab.judge().invalid == []


def test_a_drop_of_the_shaper_itself_is_not(lab: Lab) -> None:
    lab.drops |= {"bottleneck": 500, "bottleneck.shaper": 503}
    assert lab.judge().invalid == [
        "3 packets were dropped in 'bottleneck.shaper' (htb default 1), which is not under test"
    ]


def test_a_drop_in_the_emulation_is_not(lab: Lab) -> None:
    lab.drops["reverse.netem"] = 7
    assert [reason.split(" (")[0] for reason in lab.judge().invalid] == ["7 packets were dropped in 'reverse.netem'"]


@pytest.mark.parametrize(
    ("host", "spoilt", "reason"),
    [
        ("receiver", {"received": 4}, "device 'left' of 'receiver' dropped 4 packets that it received"),
        ("sender", {"sent": 5}, "device 'right' of 'sender' dropped 5 packets that it sent"),
        ("router", {"received": 6}, "device 'left' of 'router' dropped 6 packets that it received"),
        ("router", {"left": 2}, "device 'left' of 'router' dropped 2 packets that it sent"),
    ],
)
def test_a_device_that_drops_spoils_the_run(lab: Lab, host: str, spoilt: dict[str, int], reason: str) -> None:
    lab.end["counters"][host] = counters(**spoilt)
    assert lab.judge().invalid == [reason]


def test_what_was_dropped_before_the_start_does_not_count(lab: Lab) -> None:
    old = counters(received=4, softnet=2, ListenDrops=3)
    for when in ("counters_before", "counters"):
        lab.end[when] = dict.fromkeys(lab.plan.hosts, old)
    assert lab.judge() == Verdict([], [])


def test_the_machine_s_input_backlog_counts_once(lab: Lab) -> None:
    lab.end["counters"] = {host: counters(softnet=0x12) for host in lab.plan.hosts}
    assert lab.judge().invalid == [
        "18 packets were dropped in the machine's input backlog (net.core.netdev_max_backlog)"
    ]


@pytest.mark.parametrize("counter", SOCKET_DROPS)
def test_a_socket_that_throws_data_away_spoils_the_run(lab: Lab, counter: str) -> None:
    lab.end["counters"]["receiver"] = counters(**{counter: 9})
    assert lab.judge().invalid == [f"9 {SOCKET_DROPS[counter]} in 'receiver' ({counter})"]


def test_memory_pressure_is_a_warning(lab: Lab) -> None:
    lab.end["counters"]["sender"] = counters(TCPMemoryPressures=1)
    assert lab.judge() == Verdict([], ["TCP in 'sender' came under memory pressure: windows were held back"])


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ({"cc": "reno"}, "flow 'bbr' ran 'reno', not 'bbr'"),
        ({"cc": "dctcp-reno"}, "flow 'bbr' ran 'dctcp-reno', not 'bbr'"),
        ({"connected_ns": None, "cc": None}, "flow 'bbr' never connected"),
        ({"connected_ns": None, "cc": None, "error": "refused"}, "flow 'bbr' never connected: refused"),
        ({"error": "reset"}, "flow 'bbr' broke: reset"),
    ],
)
def test_a_flow_that_is_not_what_was_asked_spoils_the_run(lab: Lab, spoilt: dict[str, Any], reason: str) -> None:
    lab.end["flows"][0] |= spoilt
    assert lab.judge().invalid == [reason]


def test_a_flow_that_had_no_time_to_start_spoils_nothing(lab: Lab) -> None:
    lab.end["flows"][0] = report(None, started_ns=None, connected_ns=None)
    assert lab.judge() == Verdict([], [])


def test_a_sized_flow_that_is_not_done_is_a_warning(lab: Lab) -> None:
    lab.end["flows"][0]["completed_ns"] = None
    assert lab.judge() == Verdict([], ["flow 'bbr' not done when the experiment ended"])


SYN_SENT = 2
"""include/net/tcp_states.h"""


def test_a_window_of_zero_is_told_of_the_flow_whose_controller_set_it() -> None:
    rows = [
        ("calm", 1, 10, ESTABLISHED), ("closed", 1, 10, ESTABLISHED), ("early", 1, 0, SYN_SENT),
        ("calm", 2, 1, ESTABLISHED), ("closed", 1_500_000_000, 0, ESTABLISHED), ("early", 2, 10, ESTABLISHED),
        ("udp", 2, None, None), ("closed", 1_600_000_000, 0, ESTABLISHED),
    ]  # fmt: skip
    flows = pl.DataFrame(rows, schema=["flow", "time_ns", "cwnd_packets", "state"], orient="row")
    assert closed_windows(flows) == [
        "flow 'closed' had a cwnd of 0 in 2 samples, first at 1.5 s: its controller set it, and Linux sends nothing "
        "while it is so"
    ]
    assert closed_windows(flows.filter(pl.col("flow") != "closed")) == []
