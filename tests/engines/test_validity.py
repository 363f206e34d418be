"""A clean run is valid; each possible problem makes it invalid."""

# ruff: noqa: E501 — lines as in the kernel's files
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell import _sim
from dumbbell.engines.run_manifest import ESTABLISHED, Verdict, closed_windows, judge
from dumbbell.linux import FLOW_RECORD, QUEUE_RECORD, UDP
from dumbbell.plan import Plan, Queue, make
from dumbbell.results.tables import NativeTable
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
SOCKET_DROPS = dict(_sim.SOCKET_DROPS)
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


class SampleRun:
    """A clean run as reported by the agent; tests modify and judge it."""

    def __init__(self) -> None:
        self.plan: Plan = make(parse(TEXT, Path("known.toml"))[0].experiment, Attachments(), 1)
        zero_counters = {host: counters() for host in self.plan.hosts}
        self.end: dict[str, Any] = {
            "counters_before": zero_counters,
            "counters": copy.deepcopy(zero_counters),
            "flows": [report("bbr", completed_ns=5), report("cubic"), report(None)],
        }
        self.drops: dict[str, int] = {queue.name: 0 for queue in self.plan.queues}

    def judge(self, named: list[Queue] | None = None, remedy: str = "") -> Verdict:
        named = named or list(self.plan.queues)
        records = np.zeros(len(named), QUEUE_RECORD)
        records["queue"], records["drops"] = range(len(named)), [self.drops[queue.name] for queue in named]
        samples = self.plan.queue_table(records.tobytes(), named, [queue.kind for queue in named])
        return judge(self.plan, _sim.End(self.end), named, samples, remedy)


@pytest.fixture
def sample_run() -> SampleRun:
    return SampleRun()


def test_a_clean_run_is_valid_without_warnings(sample_run: SampleRun) -> None:
    assert sample_run.judge() == Verdict([], [])


def test_a_drop_in_the_queue_under_test_is_valid(sample_run: SampleRun) -> None:
    """The shaper above and the device count the same drops."""
    sample_run.drops |= {"bottleneck": 500, "bottleneck-shaper": 500}
    sample_run.end["counters"]["router"] = counters(sent=500)
    assert sample_run.judge().invalid == []


def test_a_drop_of_the_shaper_is_invalid(sample_run: SampleRun) -> None:
    sample_run.drops |= {"bottleneck": 500, "bottleneck-shaper": 503}
    assert sample_run.judge().invalid == [
        "3 packets were dropped in 'bottleneck-shaper' (htb default 1), which is not under test"
    ]


def test_a_drop_in_the_emulation_is_invalid(sample_run: SampleRun) -> None:
    sample_run.drops["reverse-netem"] = 7
    assert [reason.split(" (")[0] for reason in sample_run.judge().invalid] == [
        "7 packets were dropped in 'reverse-netem'"
    ]


@pytest.mark.parametrize(
    ("host", "changes", "reason"),
    [
        ("receiver", {"received": 4}, "device 'left' of 'receiver' dropped 4 packets that it received"),
        ("sender", {"sent": 5}, "device 'right' of 'sender' dropped 5 packets that it sent"),
        ("router", {"received": 6}, "device 'left' of 'router' dropped 6 packets that it received"),
        ("router", {"left": 2}, "device 'left' of 'router' dropped 2 packets that it sent"),
    ],
)
def test_drops_of_a_device_make_the_run_invalid(
    sample_run: SampleRun, host: str, changes: dict[str, int], reason: str
) -> None:
    sample_run.end["counters"][host] = counters(**changes)
    assert sample_run.judge().invalid == [reason]


def test_a_packet_whose_ethernet_header_netem_changed_is_no_fault(sample_run: SampleRun) -> None:
    sample_run.end["counters"]["router"] = counters(received=1)
    netem, *others = sample_run.plan.queues
    corrupting = [Queue(netem.name, netem.host, netem.device, netem.handle, "netem delay 10ms corrupt 0.1%"), *others]
    assert sample_run.judge(corrupting).invalid == []
    assert sample_run.judge().invalid != []


def test_a_full_input_backlog_is_named_as_the_cause(sample_run: SampleRun) -> None:
    """On a real kernel, which may be too slow; a guest's virtual time waits for it."""
    sample_run.end["counters"] = {host: counters(softnet=6) for host in sample_run.plan.hosts}
    sample_run.end["counters"]["router"] = counters(received=6, softnet=6)
    verdict = sample_run.judge(remedy="try this")
    assert verdict.invalid[0] == (
        "device 'left' of 'router' dropped 6 packets that it received, "
        "because the input backlog was full (net.core.netdev_max_backlog); try this"
    )
    assert "because" not in sample_run.judge().invalid[0]


def test_drops_before_the_start_do_not_count(sample_run: SampleRun) -> None:
    old = counters(received=4, softnet=2, ListenDrops=3)
    for when in ("counters_before", "counters"):
        sample_run.end[when] = dict.fromkeys(sample_run.plan.hosts, old)
    assert sample_run.judge() == Verdict([], [])


def test_the_system_s_input_backlog_counts_once(sample_run: SampleRun) -> None:
    sample_run.end["counters"] = {host: counters(softnet=0x12) for host in sample_run.plan.hosts}
    assert sample_run.judge().invalid == [
        "18 packets were dropped in the system's input backlog (net.core.netdev_max_backlog)"
    ]


@pytest.mark.parametrize("counter", SOCKET_DROPS)
def test_drops_of_a_socket_make_the_run_invalid(sample_run: SampleRun, counter: str) -> None:
    sample_run.end["counters"]["receiver"] = counters(**{counter: 9})
    assert sample_run.judge().invalid == [f"9 {SOCKET_DROPS[counter]} in 'receiver' ({counter})"]


def test_memory_pressure_is_a_warning(sample_run: SampleRun) -> None:
    sample_run.end["counters"]["sender"] = counters(TCPMemoryPressures=1)
    assert sample_run.judge() == Verdict([], ["TCP in 'sender' was under memory pressure, which limits windows"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cc": "reno"}, "flow 'bbr' ran 'reno', not 'bbr'"),
        ({"cc": "dctcp-reno"}, "flow 'bbr' ran 'dctcp-reno', not 'bbr'"),
        ({"connected_ns": None, "cc": None}, "flow 'bbr' never connected"),
        ({"connected_ns": None, "cc": None, "error": "refused"}, "flow 'bbr' never connected: refused"),
        ({"error": "reset"}, "flow 'bbr' broke: reset"),
    ],
)
def test_a_flow_that_differs_from_the_request_makes_the_run_invalid(
    sample_run: SampleRun, changes: dict[str, Any], reason: str
) -> None:
    sample_run.end["flows"][0] |= changes
    assert sample_run.judge().invalid == [reason]


def test_a_controller_that_did_not_get_ecn_is_a_warning(sample_run: SampleRun) -> None:
    sample_run.end["flows"][0] |= {"cc": "bbr-reno"}
    why = "because ECN was not negotiated: Linux repeats a lost SYN without requesting ECN"
    assert sample_run.judge() == Verdict([], [f"flow 'bbr' ran 'bbr-reno' {why}"])


def test_a_flow_that_did_not_start_does_not_make_the_run_invalid(sample_run: SampleRun) -> None:
    sample_run.end["flows"][0] = report(None, started_ns=None, connected_ns=None)
    assert sample_run.judge() == Verdict([], [])


def test_a_sized_flow_that_is_not_done_is_a_warning(sample_run: SampleRun) -> None:
    sample_run.end["flows"][0]["completed_ns"] = None
    assert sample_run.judge() == Verdict([], ["flow 'bbr' not done when the experiment ended"])


SYN_SENT = 2
"""include/net/tcp_states.h"""


def test_a_window_of_zero_set_by_a_controller_is_reported() -> None:
    plan = SampleRun().plan
    bbr, cubic, udp = range(3)
    rows = [
        (cubic, 1, 10, ESTABLISHED), (bbr, 1, 0, SYN_SENT), (cubic, 1_500_000_000, 0, ESTABLISHED),
        (bbr, 2, 10, ESTABLISHED), (udp, 2, 0, ESTABLISHED), (cubic, 1_600_000_000, 0, ESTABLISHED),
    ]  # fmt: skip
    records = np.zeros(len(rows), FLOW_RECORD)
    for record, (flow, time_ns, cwnd, state) in zip(records, rows, strict=True):
        record["flow"], record["time_ns"] = flow, time_ns
        record["info"]["snd_cwnd"], record["info"]["state"] = cwnd, state
    records["cc_kind"][records["flow"] == udp] = UDP
    closed = NativeTable("flows", plan.flow_table(records.tobytes()))
    assert closed_windows(closed) == [
        "flow 'cubic' had a cwnd of 0 in 2 samples, first at 1.5 s, set by its controller; Linux sends nothing "
        "with a cwnd of 0"
    ]
    others = records[records["flow"] != cubic]
    assert closed_windows(NativeTable("flows", plan.flow_table(others.tobytes()))) == []
