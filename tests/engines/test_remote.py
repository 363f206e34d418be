"""Real hosts, as network namespaces with an sshd in each: runs and refusals."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND
from dumbbell.engines.base import Permissions, Request
from dumbbell.engines.host import HostEngine
from dumbbell.engines.host_load import HELP
from dumbbell.errors import DumbbellError, HostError, HostLost
from dumbbell.results import result
from dumbbell.spec import parse
from dumbbell.spec.document import ssh_destinations
from engines.on_host import host_engine_error
from engines.ssh_testbed import SshTestbed, connected_hosts, ssh_testbed_error

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(ssh_testbed_error()), reason=ssh_testbed_error() or "the testbed can be created"),
]

PATH = '[path]\nrtt = "0ms"\n[path.bottleneck]\nqdisc = "tbf rate 20mbit burst 10kb limit 100kb"\n'
DEEP = PATH.replace("100kb", "10mb")
"""A buffer for 4 s without loss. A lost request would stop a flow for seconds: its RTO doubles (RFC 6298, 5.5)."""
LATE_SAMPLES = 10
"""Samples of 10 ms: the maximum difference between two hosts, even under load."""
BOTH = '[[flows]]\ncc = "cubic"\n[[flows]]\ncc = "bbr"\n'


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshTestbed]:
    with connected_hosts(tmp_path_factory.mktemp("hosts"), router=True) as remote_run:
        yield remote_run


@pytest.fixture(autouse=True)
def use_testbed(hosts: SshTestbed, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hosts are reachable by ssh; the test must leave them unchanged."""
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh)
    before = hosts.snapshots()
    yield
    assert hosts.agents() == []
    assert hosts.snapshots() == before


def run(hosts: SshTestbed | None, out: Path, flows: str = BOTH, path: str = PATH, duration: str = "3s") -> result.Run:
    text = f'title = "t"\nduration = "{duration}"\n{path}{flows}' + (hosts.table() if hosts else "")
    case = parse(text, Path("x.toml"))[0]
    targets = tuple(sorted(ssh_destinations(case.experiment)))
    HostEngine(Permissions(host=True, hosts=targets)).run(Request("x", case, 1, out), lambda _: None)
    return result.load(out)


def disturbed(*runs: result.Run) -> bool:
    """Was this machine too busy for one of the runs? Each invalid run must give that reason."""
    for each in runs:
        assert each.manifest.valid or any(HELP in reason for reason in each.manifest.invalid)
    return not all(each.manifest.valid for each in runs)


def rate_mbps(remote_run: result.Run) -> float:
    """Sum over all flows, at their receivers."""
    got = sum(flow["bytes_received"] for flow in remote_run.manifest["flows"])
    return float(got * 8e-6 / remote_run.manifest["duration_s"])


@pytest.mark.slow
def test_real_hosts_measure_the_same_as_the_host_engine(hosts: SshTestbed, tmp_path: Path) -> None:
    on_hosts = run(hosts, tmp_path / "there")
    assert [flow.cc for flow in on_hosts.manifest.flows] == ["cubic", "bbr"]
    assert set(on_hosts.manifest.machines) == {"sender", "router", "receiver"}
    assert {row[0] for row in on_hosts.queues.select("queue").unique().iter_rows()} == {"bottleneck"}
    assert on_hosts.flows.filter(pl.col("bytes_received") > 0).height > 300
    assert on_hosts.flows["cwnd_packets"].null_count() == 0
    busy = on_hosts.flows.filter(pl.col("time_ns") > 10**9)
    # Data must be sent before it arrives; sample times on two hosts differ by their timers' lateness.
    sent = busy.select("bytes_received", pl.col("bytes_sent").shift(-LATE_SAMPLES).over("flow")).drop_nulls()
    assert sent.height > 300
    assert (sent["bytes_received"] <= sent["bytes_sent"]).all()
    if host_engine_error():
        pytest.skip(f"no run on this host to compare with: {host_engine_error()}")
    on_host_engine = run(None, tmp_path / "here")
    # All hosts share this machine's cores; a run that lacked them says so, and has no rate to compare.
    if not disturbed(on_hosts, on_host_engine):
        assert rate_mbps(on_hosts) == pytest.approx(rate_mbps(on_host_engine), rel=0.05)
    assert on_hosts.flows.columns == on_host_engine.flows.columns


@pytest.mark.slow
def test_every_kind_of_flow_and_probe_runs_between_two_hosts(hosts: SshTestbed, tmp_path: Path) -> None:
    flows = (
        '[[flows]]\nname = "sized"\ncc = "cubic"\nbytes = "200kB"\ncount = 2\n'
        '[[flows]]\nname = "requests"\ncc = "cubic"\nrequest = "100"\nresponse = "20kB"\nthink = "50ms"\n'
        '[[flows]]\nname = "even"\nkind = "udp"\nrate = "1mbit"\nstop = "1s"\n'
        '[[flows]]\nname = "bursts"\ncc = "bbr"\non = "200ms"\noff = "200ms"\n'
        '[[probes]]\nkind = "udp"\n[[probes]]\nkind = "ping"\n'
    )
    remote_run = run(hosts, tmp_path / "run", flows, path=DEEP, duration="2s")
    by_name = {flow.name: flow for flow in remote_run.manifest.flows}
    for name in ("sized-1", "sized-2"):
        assert by_name[name]["completed"]
        assert by_name[name]["bytes_received"] == 200_000
    assert len(by_name["requests"]["exchanges_s"]) > 5
    assert remote_run.queues["drops_packets"].max() == 0
    assert 60_000 < by_name["even"]["bytes_received"] <= 126_000
    assert 0 < by_name["bursts"]["bytes_received"] < 20e6 / 8 * 2
    assert remote_run.probes.group_by("kind").agg(pl.col("rtt_ns").is_not_null().sum() > 10)["rtt_ns"].all()
    assert not any(flow.error for flow in remote_run.manifest.flows)


def test_completed_flows_end_the_run(hosts: SshTestbed, tmp_path: Path) -> None:
    remote_run = run(hosts, tmp_path / "run", '[[flows]]\ncc = "cubic"\nbytes = "100kB"\n', duration="30s")
    assert remote_run.manifest.duration_s < 5
    assert remote_run.manifest.flows[0]["completed"]


@pytest.mark.slow
def test_missing_kernel_features_are_reported_and_the_host_is_restored(hosts: SshTestbed, tmp_path: Path) -> None:
    """No kernel has this sysctl."""
    broken = PATH.replace("[path.bottleneck]", '[tcp]\nsysctl = { "net.ipv4.tcp_no_such" = 1 }\n[path.bottleneck]')
    with pytest.raises(HostLost, match=r"this kernel has no net\.ipv4\.tcp_no_such|reading /proc/sys"):
        run(hosts, tmp_path / "run", path=broken)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_configured_root_qdisc_is_refused_and_kept(hosts: SshTestbed, tmp_path: Path) -> None:
    hosts["router"].run("tc qdisc add dev eth2 root handle 7: tbf rate 1gbit burst 100kb limit 1mb")
    try:
        with pytest.raises(DumbbellError, match=r"router.*'eth2' has a configured root qdisc \(tbf 7:"):
            run(hosts, tmp_path / "run")
        assert "tbf 7:" in hosts["router"].run("tc qdisc show dev eth2")
    finally:
        hosts["router"].run("tc qdisc del dev eth2 root")


@pytest.mark.slow
def test_device_problems_are_reported_before_any_change(hosts: SshTestbed, tmp_path: Path) -> None:
    hosts["receiver"].run("ip link set eth1 mtu 1400")
    try:
        with pytest.raises(HostError, match=r"receiver.*mtu 1400, but path\.mtu is 1500"):
            run(hosts, tmp_path / "run")
    finally:
        hosts["receiver"].run("ip link set eth1 mtu 1500")


@pytest.mark.slow(keep="IdentityFile /nowhere-refused the login")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("IdentityFile /nowhere", "refused the login"),
        ("UserKnownHostsFile /dev/null", "log in once by hand"),
        ("Port 2", "the port is closed"),
    ],
)
def test_ssh_errors_are_reported_with_a_remedy(
    hosts: SshTestbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    other = tmp_path / "config"
    key = change.split(maxsplit=1)[0]
    other_lines = [line for line in (hosts.folder / "config").read_text().splitlines() if key not in line]
    other.write_text(f"{change}\n" + "\n".join(other_lines) + "\n")
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh.replace(str(hosts.folder / "config"), str(other)))
    with pytest.raises(HostError, match=message):
        run(hosts, tmp_path / "run")


@pytest.mark.slow
def test_the_command_plans_and_runs(hosts: SshTestbed, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f'title = "t"\nduration = "1s"\n{PATH}{BOTH}' + hosts.table())
    shown = subprocess.run([COMMAND, "plan", str(file)], capture_output=True, text=True, check=True, timeout=60)
    assert "router 'tc qdisc add dev eth2" in shown.stdout
    command = [str(COMMAND), "run", str(file), "--engine", "host", "--hosts", "sender,router,receiver", "--json"]
    done = subprocess.run(
        [*command, "--out", tmp_path / "out"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["engine"] == "host"
