"""A plan for real hosts: which host runs which command, and which settings real hosts can not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis.expect import check_expected
from dumbbell.errors import ExperimentError
from dumbbell.plan import RemotePlan, plan_case, plan_remote
from dumbbell.spec.document import read

FILE = Path("x.toml")
ENDS: dict[str, Any] = {
    "sender": {"ssh": "one", "address": "192.168.7.1", "device": "eth1"},
    "receiver": {"ssh": "two", "address": "192.168.8.2", "device": "eth5"},
}
ROUTER = {"router": {"ssh": "three", "to_receiver": "eth2", "to_sender": "eth3"}}
PATH: dict[str, Any] = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}}


def planned(hosts: dict[str, Any] | None = None, **keys: Any) -> RemotePlan:
    document = {"duration": "5s", "path": PATH, "flows": [{"cc": "cubic", "count": 2}, {"cc": "bbr"}]}
    return plan_remote(read(document | {"hosts": hosts or ENDS} | keys, FILE)[0], 1)


def tc(plan: RemotePlan, role: str) -> list[str]:
    return [command.line for command in plan.plan.setup if command.host == role and command.argv[0] == "tc"]


def test_with_a_router_each_discipline_has_its_own_device() -> None:
    plan = planned(ENDS | ROUTER, path=PATH | {"loss": "1%"})
    assert [line.split()[6:9] for line in tc(plan, "sender")] == [["handle", "1:", "netem"]]
    assert "loss 1%" in tc(plan, "sender")[0]
    forward, reverse = tc(plan, "router")[:3], tc(plan, "router")[3:]
    assert all("dev eth2" in line for line in forward)
    assert "htb rate 10mbit" in forward[1]
    assert forward[2].endswith("fq_codel")
    assert len(reverse) == 1
    assert "dev eth3" in reverse[0]
    assert "delay 20ms" in reverse[0]
    assert tc(plan, "receiver") == []
    assert plan.plan.warnings == []


def test_without_a_router_the_queue_is_on_the_sender_with_a_warning() -> None:
    plan = planned()
    assert all("dev eth1" in line for line in tc(plan, "sender"))
    assert len(tc(plan, "sender")) == 3
    assert ["dev eth5" in line and "delay 20ms" in line for line in tc(plan, "receiver")] == [True]
    assert "sender's own device" in plan.plan.warnings[0]


def test_without_a_delay_there_is_no_netem() -> None:
    plan = planned(path=PATH | {"rtt": "0ms"})
    assert not any("netem" in line for role in ("sender", "receiver") for line in tc(plan, role))


def test_without_a_bottleneck_the_path_s_netem_is_on_the_sender() -> None:
    plan = planned(path={"rtt": "0ms", "loss": "1%"})
    assert ["loss 1%" in line for line in tc(plan, "sender")] == [True]
    assert plan.plan.bottleneck is None


def test_tc_changes_only_the_devices_in_hosts() -> None:
    plan = planned(ENDS | ROUTER, path=PATH | {"loss": "1%"})
    for command in plan.plan.setup:
        if command.argv[0] == "tc":
            device = command.argv[command.argv.index("dev") + 1]
            assert device in plan.host(command.host).devices


def test_every_flow_has_its_own_port() -> None:
    flows = [{"cc": "cubic", "count": 3, "port": 5202}, {"cc": "bbr", "count": 2}, {"kind": "udp", "rate": "1mbit"}]
    ports = [flow.port for flow in planned(flows=flows).plan.flows]
    assert len(set(ports)) == len(ports) == 6


def test_a_host_s_plan_has_only_its_own_commands_and_flows() -> None:
    plan = planned(ENDS | ROUTER)
    host_plans = {role: json.loads(plan.for_agent(role)) for role in ("sender", "router", "receiver")}
    for host_plan in host_plans.values():
        assert host_plan["hosts"] == [""]
        assert {command["host"] for command in host_plan["setup"]} == {""}
    assert {flow["ends"] for flow in host_plans["sender"]["flows"]} == {"sender"}
    assert {flow["from"] for flow in host_plans["receiver"]["flows"]} == {"192.168.7.1"}
    assert host_plans["router"]["flows"] == host_plans["router"]["probes"] == []
    commands = sum(len(host_plan["setup"]) for host_plan in host_plans.values())
    assert commands == len(plan.plan.setup)


def test_a_change_is_made_on_the_host_of_its_device() -> None:
    changes = [{"at": "2s", "rate": "5mbit"}, {"at": "3s", "rtt": "40ms"}, {"at": "4s", "loss": "2%"}]
    plan = planned(ENDS | ROUTER, changes=changes)
    assert [change.step.host for change in plan.plan.changes] == ["router", "router", "sender"]


@pytest.mark.parametrize(
    ("hosts", "keys", "key"),
    [
        (ENDS, {"path": PATH | {"loss": "1%"}}, "path.loss"),
        (ENDS, {"path": PATH | {"forward_delay": "5ms"}}, "path.forward_delay"),
        (ENDS, {"changes": [{"at": "1s", "loss": "1%"}]}, "changes"),
        (ENDS | ROUTER, {"path": PATH | {"links": [{"name": "more", "rate": "5mbit"}]}}, "path.links"),
        (ENDS | ROUTER, {"path": PATH | {"reverse": {"rate": "5mbit"}}}, "path.reverse"),
        (ENDS, {"path": {"rtt": "0ms", "tc": {"interface": "eth0", "commands": "tc qdisc add dev eth0 root fq"}}},
         "path.tc"),
        (ENDS | ROUTER, {"flows": [{"cc": "bbr", "access": {"rate": "5mbit"}}]}, "flows.0.access"),
        (ENDS | ROUTER, {"flows": [{"cc": "bbr"}, {"cc": "bbr", "initial_window": 20}]}, "flows.1.initial_window"),
        (ENDS | ROUTER, {"flows": [{"cc": "bbr", "ecn": "classic"}]}, "flows.0.ecn"),
        (ENDS | ROUTER, {"flows": [{"cc": "bbr", "delayed_ack": False}]}, "flows.0.delayed_ack"),
        (ENDS | ROUTER, {"flows": [{"cc": "bbr", "host_qdisc": "fq"}]}, "flows.0.host_qdisc"),
        (ENDS | ROUTER, {"flows": [{"cc": "cubic", "cc_parameters": {"hystart": 0}}]}, "flows.0.cc_parameters"),
        (ENDS | ROUTER, {"programs": [{"name": "a", "run": ["true"], "host": "sender"}]}, "programs"),
    ],
)  # fmt: skip
def test_settings_that_real_hosts_can_t_have_are_refused_with_their_key(
    hosts: dict[str, Any], keys: dict[str, Any], key: str
) -> None:
    with pytest.raises(ExperimentError) as caught:
        planned(hosts, **keys)
    assert caught.value.key == key
    assert caught.value.file == "x.toml"
    assert "--engine kernel" in caught.value.right


def test_other_engines_ignore_hosts_with_a_warning() -> None:
    document = {"duration": "5s", "path": PATH, "flows": [{"cc": "cubic"}], "hosts": ENDS}
    plan = plan_case(read(document, FILE)[0], 1)
    assert "sender" in plan.hosts
    assert any("[hosts]" in warning for warning in plan.warnings)
    del document["hosts"]
    plan_without_hosts = plan_case(read(document, FILE)[0], 1)
    assert plan_without_hosts.setup == plan.setup
    assert plan_without_hosts.warnings == []


def test_the_script_has_every_command_with_its_host() -> None:
    plan = planned(ENDS | ROUTER, changes=[{"at": "2s", "rate": "5mbit"}])
    script = plan.script("a title")
    for command in plan.plan.setup:
        line = " ".join(f'"{word}"' if " " in word else word for word in command.argv)
        assert f"\n{command.host} '{line}'\n" in script
    for role, target in (("sender", "one"), ("router", "three"), ("receiver", "two")):
        assert f"{role}() {{ ssh -n -- {target}" in script
    assert "tc class change dev eth2" in script


@pytest.mark.parametrize("hosts", [ENDS, ENDS | ROUTER])
def test_expectations_of_real_hosts_are_looked_up_before_the_run(hosts: dict[str, Any]) -> None:
    def looked_up(expected: str) -> None:
        document = {"duration": "5s", "path": PATH, "flows": [{"cc": "bbr"}], "hosts": hosts, "expect": [expected]}
        check_expected(read(document, FILE))

    looked_up("flows.bbr.throughput_mbps > 1")
    looked_up("queues.bottleneck.drops < 5")
    with pytest.raises(ExperimentError, match=r"no such metric.*did you mean 'throughput_mbps'"):
        looked_up("flows.bbr.thruput_mbps > 1")
