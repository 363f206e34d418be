"""Real hosts, as namespaces of this machine with a real sshd in each: runs, and whatever is refused by name."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND
from dumbbell import result
from dumbbell.engine.base import Request
from dumbbell.engine.host import HostEngine
from dumbbell.engine.permissions import Permissions
from dumbbell.errors import DumbbellError, HostError, HostLost
from dumbbell.spec import parse
from engine.host_lab import why_not
from engine.yard import Yard, lacking, yard

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "machines for tests can be made here"),
]

PATH = '[path]\nrtt = "0ms"\n[path.bottleneck]\nqdisc = "tbf rate 20mbit burst 10kb limit 100kb"\n'
DEEP = PATH.replace("100kb", "10mb")
"""Of 4 s: nothing is lost. A lost request is silence for up to seconds: its RTO doubles (RFC 6298, section 5.5)."""
LATE_SAMPLES = 10
"""Of 10 ms: further apart no two machines look, however busy."""
BOTH = '[[flows]]\ncc = "cubic"\n[[flows]]\ncc = "bbr"\n'


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with yard(tmp_path_factory.mktemp("yard"), router=True) as made:
        yield made


@pytest.fixture(autouse=True)
def called(hosts: Yard, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hosts are reached from the desk, and are as they were when a test ends."""
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh)
    before = hosts.pictures()
    yield
    assert hosts.agents() == []
    assert hosts.pictures() == before


def run(hosts: Yard | None, out: Path, flows: str = BOTH, path: str = PATH, duration: str = "3s") -> result.Run:
    text = f'title = "t"\nduration = "{duration}"\n{path}{flows}' + (hosts.table() if hosts else "")
    case = parse(text, Path("x.toml"))[0]
    named = tuple(sorted(case.experiment.hosts.targets)) if case.experiment.hosts else ()
    HostEngine(Permissions(host=True, hosts=named)).run(Request("x", case, 1, out), lambda _: None)
    return result.load(out)


def rate_mbps(made: result.Run) -> float:
    """Of all flows together, as their receivers saw it."""
    got = sum(flow["bytes_received"] for flow in made.birth["flows"])
    return float(got * 8e-6 / made.birth["duration_s"])


def test_a_run_on_hosts_measures_what_a_run_on_this_machine_does(hosts: Yard, tmp_path: Path) -> None:
    there = run(hosts, tmp_path / "there")
    assert [flow["cc"] for flow in there.birth["flows"]] == ["cubic", "bbr"]
    assert set(there.birth["machines"]) == {"sender", "router", "receiver"}
    assert {row[0] for row in there.queues.select("queue").unique().iter_rows()} == {"bottleneck"}
    assert there.flows.filter(pl.col("bytes_received") > 0).height > 300
    assert there.flows["cwnd_packets"].null_count() == 0
    busy = there.flows.filter(pl.col("time_ns") > 10**9)
    # What has arrived was sent before; two machines look at one moment as well as their own timers let them.
    sent = busy.select("bytes_received", pl.col("bytes_sent").shift(-LATE_SAMPLES).over("flow")).drop_nulls()
    assert sent.height > 300
    assert (sent["bytes_received"] <= sent["bytes_sent"]).all()
    if why_not():
        pytest.skip(f"no run on this machine to compare with: {why_not()}")
    here = run(None, tmp_path / "here")
    assert rate_mbps(there) == pytest.approx(rate_mbps(here), rel=0.05)
    assert there.flows.columns == here.flows.columns


def test_every_kind_of_flow_and_probe_has_its_ends_on_two_machines(hosts: Yard, tmp_path: Path) -> None:
    flows = (
        '[[flows]]\nname = "sized"\ncc = "cubic"\nbytes = "200kB"\ncount = 2\n'
        '[[flows]]\nname = "asked"\ncc = "cubic"\nrequest = "100"\nresponse = "20kB"\nthink = "50ms"\n'
        '[[flows]]\nname = "even"\nkind = "udp"\nrate = "1mbit"\nstop = "1s"\n'
        '[[flows]]\nname = "bursts"\ncc = "bbr"\non = "200ms"\noff = "200ms"\n'
        '[[probes]]\nkind = "udp"\n[[probes]]\nkind = "ping"\n'
    )
    made = run(hosts, tmp_path / "run", flows, path=DEEP, duration="2s")
    by_name = {flow["name"]: flow for flow in made.birth["flows"]}
    for name in ("sized-1", "sized-2"):
        assert by_name[name]["completed"]
        assert by_name[name]["bytes_received"] == 200_000
    assert len(by_name["asked"]["exchanges_s"]) > 5
    assert made.queues["drops_packets"].max() == 0
    assert 60_000 < by_name["even"]["bytes_received"] <= 126_000
    assert 0 < by_name["bursts"]["bytes_received"] < 20e6 / 8 * 2
    assert made.probes.group_by("kind").agg(pl.col("rtt_ns").is_not_null().sum() > 10)["rtt_ns"].all()
    assert not any(flow["error"] for flow in made.birth["flows"])


def test_flows_that_are_done_end_the_run(hosts: Yard, tmp_path: Path) -> None:
    made = run(hosts, tmp_path / "run", '[[flows]]\ncc = "cubic"\nbytes = "100kB"\n', duration="30s")
    assert made.birth["duration_s"] < 5
    assert made.birth["flows"][0]["completed"]


def test_what_a_machine_s_kernel_lacks_is_told_and_nothing_is_left(hosts: Yard, tmp_path: Path) -> None:
    """Every kernel lacks this one."""
    broken = PATH.replace("[path.bottleneck]", '[tcp]\nsysctl = { "net.ipv4.tcp_no_such" = 1 }\n[path.bottleneck]')
    with pytest.raises(HostLost, match=r"this kernel has no net\.ipv4\.tcp_no_such|reading /proc/sys"):
        run(hosts, tmp_path / "run", path=broken)
    assert list(tmp_path.iterdir()) == []


def test_a_discipline_of_somebody_s_own_stays_and_is_named(hosts: Yard, tmp_path: Path) -> None:
    hosts["router"].run("tc qdisc add dev eth2 root handle 7: tbf rate 1gbit burst 100kb limit 1mb")
    try:
        with pytest.raises(DumbbellError, match=r"router.*'eth2' has a root discipline that somebody set: tbf 7:"):
            run(hosts, tmp_path / "run")
        assert "tbf 7:" in hosts["router"].run("tc qdisc show dev eth2")
    finally:
        hosts["router"].run("tc qdisc del dev eth2 root")


def test_what_a_device_lacks_is_told_before_anything_is_changed(hosts: Yard, tmp_path: Path) -> None:
    hosts["receiver"].run("ip link set eth1 mtu 1400")
    try:
        with pytest.raises(HostError, match=r"receiver.*an mtu of 1400, and path\.mtu is 1500"):
            run(hosts, tmp_path / "run")
    finally:
        hosts["receiver"].run("ip link set eth1 mtu 1500")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("IdentityFile /nowhere", "refused the login"),
        ("UserKnownHostsFile /dev/null", "log in once by hand"),
        ("Port 2", "nobody listens there"),
    ],
)
def test_what_ssh_can_t_do_is_told_with_what_would_help(
    hosts: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, says: str
) -> None:
    other = tmp_path / "config"
    key = change.split(maxsplit=1)[0]
    kept = [line for line in (hosts.folder / "config").read_text().splitlines() if key not in line]
    other.write_text(f"{change}\n" + "\n".join(kept) + "\n")
    monkeypatch.setenv("DUMBBELL_SSH", hosts.ssh.replace(str(hosts.folder / "config"), str(other)))
    with pytest.raises(HostError, match=says):
        run(hosts, tmp_path / "run")


def test_the_command_plans_and_runs(hosts: Yard, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f'title = "t"\nduration = "1s"\n{PATH}{BOTH}' + hosts.table())
    shown = subprocess.run([COMMAND, "plan", str(file)], capture_output=True, text=True, check=True, timeout=60)
    assert "router 'tc qdisc add dev eth2" in shown.stdout
    words = [str(COMMAND), "run", str(file), "--engine", "host", "--hosts", "sender,router,receiver", "--json"]
    done = subprocess.run([*words, "--out", tmp_path / "out"], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["engine"] == "host"
