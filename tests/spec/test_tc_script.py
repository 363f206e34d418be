"""Scripts as people have them: what is around tc's commands, where they run, and a script as an experiment file."""

import tomllib
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.spec import parse, read
from dumbbell.spec.tc_script import experiment_of_script

LAB = """#!/bin/sh
set -e
modprobe tcp_bbr
sudo ethtool -K eth1 tso off gso off gro off
ip netns exec r1 ip link set dev eth1 mtu 1400
sudo /sbin/tc qdisc del dev eth1 root 2>/dev/null || true
ip netns exec r1 /sbin/tc qdisc add dev eth1 root handle 1: \\
    tbf rate 10mbit burst 15kb limit 150000
tc -n r1 qdisc add dev eth1 parent 1:1 handle 10: pfifo limit 50
tc -s qdisc show dev eth1
"""
DOCUMENT = """duration = "2s"
[path]
rtt = "20ms"
{}[path.tc]
interface = "eth1"
script = "lab.sh"
host = "{}"
[[flows]]
cc = "cubic"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "lab.sh").write_text(LAB)
    return tmp_path / "lab.sh"


def planned(lab: Path, host: str, more: str = "") -> Plan:
    return plan_case(parse(DOCUMENT.format(more, host), lab.with_name("x.toml"))[0], 1)


def test_a_script_runs_on_the_router(lab: Path) -> None:
    on_router, on_sender = planned(lab, "router"), planned(lab, "sender")
    assert {queue.host for queue in on_router.queues if queue.name.startswith("tc-")} == {"router"}
    assert {queue.host for queue in on_sender.queues if queue.name.startswith("tc-")} == {"sender"}
    assert [text for text in on_router.warnings if "own device" in text] == []
    assert any("back-pressure" in text for text in on_sender.warnings)


def test_lines_without_effect_are_named_with_their_key(lab: Path) -> None:
    found = [text for text in planned(lab, "router").warnings if "has no effect" in text]
    assert [text.split("'")[0] for text in found] == ["path.tc: line 4 (", "path.tc: line 5 ("]
    assert found[0].endswith("path.offloads turns offloads on or off")
    assert found[1].endswith("path.mtu sets the MTU")


def test_a_router_has_one_queue(lab: Path) -> None:
    with pytest.raises(ExperimentError, match=r"path\.tc\.host: a script on the router, and a bottleneck"):
        planned(lab, "router", '[path.bottleneck]\nrate = "10mbit"\n')
    lab.write_text(LAB + "iptables -t mangle -A POSTROUTING -p tcp --dport 5201 -j MARK --set-mark 1\n")
    with pytest.raises(ExperimentError, match="marks of iptables on a router"):
        planned(lab, "router")


def test_a_drop_on_a_router_is_a_loss_and_on_a_sender_is_none(dumbbell: Dumbbell, lab: Path) -> None:
    for host, losses in (("router", True), ("sender", False)):
        lab.with_name("x.toml").write_text(DOCUMENT.format("", host).replace("2s", "10s"))
        done = dumbbell("run", lab.with_name("x.toml"), "--out", lab.with_name(host), "--json")
        assert ('"retransmits":0' not in done.stdout.replace(" ", "")) == losses


def test_a_script_becomes_an_experiment(dumbbell: Dumbbell, lab: Path) -> None:
    out = lab.with_name("made.toml")
    done = dumbbell("import", lab, "--out", out)
    assert done.returncode == 0
    made = tomllib.loads(out.read_text())
    assert made["path"]["tc"] == {"interface": "eth1", "host": "router", "commands": LAB.strip() + "\n"}
    assert made["path"]["offloads"] is False
    assert "is a guess: the script runs in the namespace r1" in done.stderr
    assert dumbbell("run", out, "--set", "duration=1s", "--out", lab.with_name("run")).returncode == 0


def test_ports_of_filters_become_groups(tmp_path: Path) -> None:
    script = tmp_path / "two.sh"
    script.write_text(
        "tc qdisc add dev eth0 root handle 1: htb default 10\n"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit\n"
        "tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 5202 0xffff flowid 1:10\n"
    )
    text, notes = experiment_of_script(script)
    assert [flow["port"] for flow in tomllib.loads(text)["flows"]] == [5202]
    assert "names no router" in notes[0]
    assert experiment_of_script(script, "router")[1] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello\n", "no tc command that adds"),
        ("".join(f"tc qdisc add dev {name} root pfifo\n" for name in "abc"), "sets up more than two devices"),
    ],
)
def test_other_scripts_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.sh").write_text(text)
    with pytest.raises(ExperimentError, match=message):
        experiment_of_script(tmp_path / "x.sh")


WONDER = """#!/bin/sh
modprobe ifb
ip link add ifb0 type ifb
ip link set dev ifb0 up
tc qdisc del dev eth0 ingress 2>/dev/null
tc qdisc add dev eth0 root handle 1: htb default 1a
tc class add dev eth0 parent 1: classid 1:1a htb rate 5mbit
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root handle 2: tbf rate 20mbit burst 15kb limit 100kb
"""


def test_an_ifb_gets_what_arrives(tmp_path: Path) -> None:
    script = tmp_path / "wonder.sh"
    script.write_text(WONDER)
    text, _ = experiment_of_script(script, "receiver")
    made = plan_case(parse(text, script.with_suffix(".toml"))[0], 1)
    queues = [queue for queue in made.queues if queue.key.startswith("path.tc")]
    assert [(queue.name, queue.device) for queue in queues] == [
        ("tc-1", "left"), ("tc-ffff", "left"), ("tc-ifb0-2", "ifb0"),
    ]  # fmt: skip
    steps = [str(step) for step in made.setup]
    assert steps.index("[receiver] ip link add ifb0 type ifb") < steps.index("[receiver] ip link set ifb0 up")
    assert "[receiver] tc qdisc add dev left handle ffff: ingress" in steps
    assert not any("own device" in warning for warning in made.warnings)


def test_a_router_s_two_devices_become_two_scripts(dumbbell: Dumbbell, tmp_path: Path) -> None:
    script = tmp_path / "router.sh"
    script.write_text(
        "tc qdisc add dev eth1 root tbf rate 10mbit burst 15kb limit 60kb\n"
        "ethtool -K eth0 gro off\n"
        "tc qdisc add dev eth0 root tbf rate 1mbit burst 15kb limit 30kb\n"
    )
    out = tmp_path / "made.toml"
    done = dumbbell("import", script, "--out", out)
    assert done.returncode == 0
    assert "eth1 leads to the receivers and eth0 to the senders" in done.stderr
    first, second = tomllib.loads(out.read_text())["path"]["tc"]
    assert [(each["interface"], each["host"], each["towards"]) for each in (first, second)] == [
        ("eth1", "router", "receivers"), ("eth0", "router", "senders"),
    ]  # fmt: skip
    assert ("eth0" in first["commands"], "ethtool" in second["commands"]) == (False, True)
    devices = {queue.name: queue.device for queue in plan_case(parse(out.read_text(), out)[0], 1).queues}
    assert (devices["tc-db00"], devices["tc2-db00"]) == ("right", "left")


@pytest.mark.parametrize(
    ("tc", "message"),
    [
        (
            {"host": "nobody"},
            "path.tc.host: this path has no such host, got 'nobody'; one of: receiver, router, sender",
        ),
        ({"host": "receiver", "towards": "receivers"}, 'no device on this side; towards = "senders"'),
        ({"queue": "ifb0 1:"}, "one of: 1:, ffff:, ifb0 2:"),
    ],
)
def test_places_that_a_path_lacks_are_named(tmp_path: Path, tc: dict[str, str], message: str) -> None:
    document = {"duration": "1s", "path": {"rtt": "20ms"}, "flows": [{"cc": "cubic"}]}
    document["path"]["tc"] = {"interface": "eth0", "commands": WONDER} | tc  # type: ignore[index]
    with pytest.raises(ExperimentError) as error:
        plan_case(read(document, tmp_path / "x.toml")[0], 1)
    assert message in str(error.value)


def test_an_ifb_of_two_scripts_is_refused(tmp_path: Path) -> None:
    tc = {"interface": "eth0", "commands": WONDER, "host": "receiver"}
    document = {"duration": "1s", "path": {"rtt": "20ms", "tc": [tc, tc]}, "flows": [{"cc": "cubic"}]}
    with pytest.raises(ExperimentError, match=r"path\.tc\.1\.host: 'tc-1' is on the same device"):
        plan_case(read(document, tmp_path / "x.toml")[0], 1)
    arrivals = "\n".join(line for line in WONDER.splitlines() if "dev eth0 root" not in line and "class" not in line)
    document["path"]["tc"] = [tc | {"commands": arrivals}] * 2  # type: ignore[index]
    with pytest.raises(ExperimentError, match=r"path\.tc\.1: a second script with the device ifb0"):
        plan_case(read(document, tmp_path / "x.toml")[0], 1)


def test_loopback_delays_both_directions(tmp_path: Path) -> None:
    script = tmp_path / "lo.sh"
    script.write_text("tc qdisc add dev lo root netem delay 10ms limit 10000\n")
    text, notes = experiment_of_script(script)
    made = plan_case(parse(text.replace('rtt = "20ms"', 'rtt = "0ms"'), script.with_suffix(".toml"))[0], 1)
    netems = [queue for queue in made.queues if queue.key.startswith("path.tc")]
    assert [(queue.host, queue.device) for queue in netems] == [("sender", "right"), ("receiver", "left")]
    assert "a delay counts twice a round trip" in notes[0]


def test_plain_variables_are_put_in(tmp_path: Path) -> None:
    script = tmp_path / "variables.sh"
    script.write_text(
        'TC=/sbin/tc\nexport DEV="eth1"  # the way out\nRATE=10mbit\n'
        "$TC qdisc add dev $DEV root handle 1: tbf rate ${RATE} burst 15kb limit 60kb\n"
    )
    commands = tomllib.loads(experiment_of_script(script)[0])["path"]["tc"]["commands"]
    assert commands == "/sbin/tc qdisc add dev eth1 root handle 1: tbf rate 10mbit burst 15kb limit 60kb\n"
    script.write_text("RATE=$1\ntc qdisc add dev eth1 root handle 1: tbf rate $RATE burst 15kb limit 60kb\n")
    text = experiment_of_script(script)[0]
    with pytest.raises(ExperimentError, match=r"line 1 \('RATE=\$1'\)"):
        plan_case(parse(text, script.with_suffix(".toml"))[0], 1)
