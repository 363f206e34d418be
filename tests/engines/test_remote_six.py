"""Real hosts over IPv6: TCP, UDP, both kinds of probes, and what the columns of UDP hold."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dumbbell.analysis.summary import summary
from dumbbell.engines.base import Permissions, Request
from dumbbell.engines.host import HostEngine
from dumbbell.engines.host_load import HELP
from dumbbell.errors import HostError
from dumbbell.results import result
from dumbbell.spec import parse
from engines.ssh_testbed import RECEIVER_6, SENDER_6, SshTestbed, connected_hosts, ssh_testbed_error

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(ssh_testbed_error()), reason=ssh_testbed_error() or "the testbed can be created"),
]

TEXT = """
title = "six"
duration = "3s"
[path]
rtt = "0ms"
[path.bottleneck]
qdisc = "tbf rate 10mbit burst 10kb limit 60kb"
[[flows]]
name = "bulk"
cc = "cubic"
[[flows]]
name = "sized"
cc = "bbr"
bytes = "200kB"
[[flows]]
name = "datagrams"
kind = "udp"
rate = "4mbit"
[[probes]]
kind = "udp"
interval = "50ms"
[[probes]]
kind = "ping"
interval = "50ms"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshTestbed]:
    with connected_hosts(tmp_path_factory.mktemp("six"), router=True, six=True) as testbed:
        yield testbed


def run(hosts: SshTestbed, out: Path) -> result.Run:
    (case,) = parse(TEXT + hosts.table(), Path("x.toml"))
    HostEngine(Permissions(host=True, hosts=("receiver", "router", "sender"))).run(
        Request("x", case, 1, out), lambda _: None
    )
    return result.load(out)


@pytest.mark.slow
def test_flows_and_probes_cross_a_router_over_ipv6(
    hosts: SshTestbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh)
    before = hosts.snapshots()
    done = run(hosts, tmp_path / "run")
    # This machine may lack the time for three hosts; it then says so.
    assert done.manifest.valid or all(HELP in reason for reason in done.manifest.invalid)
    by_name = {flow.name: flow for flow in done.manifest.flows}
    assert by_name["sized"]["bytes_received"] == 200_000
    assert by_name["bulk"]["bytes_received"] > 500_000
    bulk = done.flows.filter(pl.col("flow") == "bulk")
    assert bulk["cwnd_packets"].drop_nulls().len() > 100
    probes = done.probes.filter(pl.col("rtt_ns").is_not_null()).group_by("kind").len()
    assert {kind: count > 20 for kind, count in probes.iter_rows()} == {"udp": True, "ping": True}
    machines = done.manifest.machines
    assert (machines["sender"]["address"], machines["receiver"]["address"]) == (SENDER_6, RECEIVER_6)
    # CUBIC fills the queue, so datagrams are lost and vary in their delay.
    datagrams = done.flows.filter(pl.col("flow") == "datagrams")
    assert datagrams["jitter_ns"].drop_nulls().max() > 0  # type: ignore[operator]
    assert summary(done)["flows"][2]["lost_datagrams"] == datagrams["datagrams_lost"].max()
    assert hosts.agents() == []
    after = hosts.snapshots()
    for host, snapshot in before.items():
        for what, text in snapshot.items():
            assert after[host][what].splitlines() == text.splitlines(), (host, what)


@pytest.mark.slow
def test_a_router_that_forwards_only_ipv4_is_named(
    hosts: SshTestbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh)
    hosts["router"].run("sysctl -qw net.ipv6.conf.all.forwarding=0")
    try:
        with pytest.raises(HostError, match=r"sysctl -w net\.ipv6\.conf\.all\.forwarding=1"):
            run(hosts, tmp_path / "run")
    finally:
        hosts["router"].run("sysctl -qw net.ipv6.conf.all.forwarding=1")
