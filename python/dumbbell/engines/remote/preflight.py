"""Checks a host's properties before anything is changed; errors state what would help.

Pure functions of the facts that an agent reports (`crates/agent/src/remote/facts.rs`).
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.errors import HostError
from dumbbell.host.sources import Reading, rows
from dumbbell.linux.agent_records import FLOW_RECORD, PROBE_RECORD, QUEUE_RECORD
from dumbbell.plan.planning import RemoteHost, RemotePlan

__all__ = ["check", "facts_request", "host_entry"]

MEMORY_FRACTION = 0.5
"""Share of the free memory that records may take: the agent keeps them in memory until the end."""


def facts_request(plan: RemotePlan, machine: RemoteHost) -> dict[str, Any]:
    """The request for a host's facts."""
    sender, receiver = plan.host("sender").address, plan.host("receiver").address
    routes = {
        "sender": [[sender, receiver]],
        "receiver": [[receiver, sender]],
        "router": [[None, receiver], [None, sender]],
    }
    commands = [command for command in plan.plan.setup if command.host == machine.role and command.argv[0] == "sysctl"]
    return {
        "devices": list(machine.devices),
        "routes": routes[machine.role],
        "controllers": sorted({flow.cc for flow in plan.plan.flows if flow.cc is not None}),
        "sysctls": [command.argv[-1].partition("=")[0] for command in commands],
    }


def check(plan: RemotePlan, machine: RemoteHost, facts: Mapping[str, Any]) -> list[str]:
    """Returns warnings. Raises `HostError` for what prevents the run."""
    name = f"{machine.role} ({machine.ssh})"
    for tool in facts["missing_tools"]:
        raise HostError(f"{name}: '{tool}' is missing; install it there with: sudo apt-get install -y iproute2")
    for device in machine.devices:
        _device(plan, name, machine, device, facts["devices"].get(device))
    _routes(plan, name, machine, facts["routes"])
    if machine.role == "router" and not facts["forwards"]:
        raise HostError(f"{name}: packet forwarding is off; turn it on there: sysctl -w net.ipv4.ip_forward=1")
    if machine.role != "router":
        _controllers(plan, name, facts["controllers"])
    _memory(plan, name, facts["memory_available_bytes"])
    control = _routed(facts["control"]).get("dev")
    if control in machine.devices:
        return [
            f"{name}: the ssh connection uses '{control}', the device under test, so both share its queue; use "
            "another device for one of them"
        ]
    return []


def host_entry(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest entry of a host."""
    keys = ("host", "release", "version", "cpu", "clocksource", "governor", "hypervisor")
    return {key: facts[key] if facts[key] != "" else None for key in keys} | {"cpus": facts["cores"]}


def _device(plan: RemotePlan, name: str, machine: RemoteHost, device: str, output: str | None) -> None:
    links = _parsed(output)
    if not links:
        raise HostError(f"{name}: it has no device '{device}'; ip link lists its devices")
    link = links[0]
    if "UP" not in link.get("flags", []):
        raise HostError(f"{name}: device '{device}' is down; ip link set {device} up")
    if link.get("operstate") == "DOWN":
        raise HostError(f"{name}: device '{device}' has no carrier: check the cable and the other end")
    mtu = plan.plan.net.mtu
    if link.get("mtu") != mtu:
        raise HostError(f"{name}: device '{device}' has mtu {link.get('mtu')}, but path.mtu is {mtu}; make them equal")
    addresses = [each.get("local") for each in link.get("addr_info", [])]
    if machine.address is not None and machine.address not in addresses:
        available = ", ".join(str(each) for each in addresses) or "none"
        raise HostError(f"{name}: device '{device}' lacks the address {machine.address}; it has {available}")


def _routes(plan: RemotePlan, name: str, machine: RemoteHost, output: list[str | None]) -> None:
    """Do packets to the other end leave through the device under test?"""
    sender, receiver = plan.host("sender").address, plan.host("receiver").address
    goals = {"sender": [receiver], "receiver": [sender], "router": [receiver, sender]}[machine.role]
    for device, goal, answer in zip(machine.devices, goals, output, strict=True):
        found = _routed(answer).get("dev")
        if found is None:
            raise HostError(
                f"{name}: no route to {goal}; add one: ip route add {goal}/32 dev {device}, or via the router"
            )
        if found != device:
            raise HostError(
                f"{name}: packets to {goal} leave through '{found}', not '{device}'; "
                f"add a route: ip route add {goal}/32 dev {device}"
            )


def _controllers(plan: RemotePlan, name: str, available: list[str]) -> None:
    for flow in plan.plan.flows:
        if flow.cc is not None and flow.cc not in available:
            raise HostError(
                f"{name}: its kernel has no congestion control '{flow.cc}' (modprobe tcp_{flow.cc}); "
                "use another one, or --engine kernel"
            )


def _memory(plan: RemotePlan, name: str, available_bytes: int) -> None:
    rows = plan.plan.duration_ns // plan.plan.sample_ns
    probes = sum(plan.plan.duration_ns // probe.interval_ns for probe in plan.plan.probes)
    needed = (
        rows * (len(plan.plan.flows) * FLOW_RECORD.itemsize + len(plan.plan.queues) * QUEUE_RECORD.itemsize)
        + probes * PROBE_RECORD.itemsize
    )
    if available_bytes and needed > MEMORY_FRACTION * available_bytes:
        raise HostError(
            f"{name}: the records may take {needed >> 20:,} MiB, but only {available_bytes >> 20:,} MiB are available; "
            "sample less often, such as --set sample=100ms"
        )


def _routed(output: str | None) -> Mapping[str, Any]:
    routes = _parsed(output)
    return routes[0] if routes else {}


def _parsed(output: str | None) -> list[dict[str, Any]]:
    """Output of `ip -j`; empty if invalid."""
    found, _ = rows(Reading("ip", output))
    # Devices that don't match are empty objects.
    return [each for each in found if each]
