"""What a machine must be and have, before anything on it is changed; each lack is told by name, with what would help.

A pure function of the facts that an agent tells (`crates/agent/src/remote/facts.rs`).
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.engine.records import FLOW_RECORD, PROBE_RECORD, QUEUE_RECORD
from dumbbell.errors import HostError
from dumbbell.machine.rows import rows
from dumbbell.machine.sources import Reading
from dumbbell.plan.remote import Machine, RemotePlan

__all__ = ["asked", "check", "described"]

MEMORY_PART = 0.5
"""Of the free memory, what records may take: the agent keeps them there until the end."""


def asked(plan: RemotePlan, machine: Machine) -> dict[str, Any]:
    """What is asked of a machine's agent."""
    sender, receiver = plan.machine("sender").address, plan.machine("receiver").address
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


def check(plan: RemotePlan, machine: Machine, facts: Mapping[str, Any]) -> list[str]:
    """Warnings. Raises `HostError` for what can't be."""
    name = f"{machine.role} ({machine.ssh})"
    for tool in facts["missing_tools"]:
        raise HostError(f"{name}: no '{tool}' there; install it with: sudo apt-get install -y iproute2")
    for device in machine.devices:
        _device(plan, name, machine, device, facts["devices"].get(device))
    _routes(plan, name, machine, facts["routes"])
    if machine.role == "router" and not facts["forwards"]:
        raise HostError(f"{name}: it forwards no packets; switch it on there: sysctl -w net.ipv4.ip_forward=1")
    if machine.role != "router":
        _controllers(plan, name, facts["controllers"])
    _memory(plan, name, facts["memory_available_bytes"])
    control = _routed(facts["control"]).get("dev")
    if control in machine.devices:
        return [
            f"{name}: ssh itself comes through '{control}', the device under test, so both share its queue; a device "
            "of its own for one of them would keep them apart"
        ]
    return []


def described(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a birth certificate says of a machine."""
    keys = ("host", "release", "version", "cpu", "clocksource", "governor", "hypervisor")
    return {key: facts[key] if facts[key] != "" else None for key in keys} | {"cpus": facts["cores"]}


def _device(plan: RemotePlan, name: str, machine: Machine, device: str, told: str | None) -> None:
    links = _parsed(told)
    if not links:
        raise HostError(f"{name}: it has no device '{device}'; ip link shows which there are")
    link = links[0]
    if "UP" not in link.get("flags", []):
        raise HostError(f"{name}: device '{device}' is down; ip link set {device} up")
    if link.get("operstate") == "DOWN":
        raise HostError(f"{name}: device '{device}' has no carrier: is the cable in, and the other end up?")
    mtu = plan.plan.net.mtu
    if link.get("mtu") != mtu:
        raise HostError(
            f"{name}: device '{device}' has an mtu of {link.get('mtu')}, and path.mtu is {mtu}; make them agree"
        )
    addresses = [each.get("local") for each in link.get("addr_info", [])]
    if machine.address is not None and machine.address not in addresses:
        there = ", ".join(str(each) for each in addresses) or "none"
        raise HostError(f"{name}: device '{device}' doesn't have the address {machine.address}; it has {there}")


def _routes(plan: RemotePlan, name: str, machine: Machine, told: list[str | None]) -> None:
    """Do packets to the other end leave by the device under test?"""
    sender, receiver = plan.machine("sender").address, plan.machine("receiver").address
    goals = {"sender": [receiver], "receiver": [sender], "router": [receiver, sender]}[machine.role]
    for device, goal, answer in zip(machine.devices, goals, told, strict=True):
        found = _routed(answer).get("dev")
        if found is None:
            raise HostError(
                f"{name}: it has no route to {goal}; ip route add {goal}/32 dev {device}, or via the router"
            )
        if found != device:
            raise HostError(
                f"{name}: packets to {goal} leave by '{found}', not by '{device}'; "
                f"a route of its own would lead them: ip route add {goal}/32 dev {device}"
            )


def _controllers(plan: RemotePlan, name: str, there: list[str]) -> None:
    for flow in plan.plan.flows:
        if flow.cc is not None and flow.cc not in there:
            raise HostError(
                f"{name}: its kernel has no congestion control '{flow.cc}' (modprobe tcp_{flow.cc}); "
                "another one, or --engine kernel"
            )


def _memory(plan: RemotePlan, name: str, available_bytes: int) -> None:
    rows = plan.plan.duration_ns // plan.plan.sample_ns
    probes = sum(plan.plan.duration_ns // probe.interval_ns for probe in plan.plan.probes)
    needed = (
        rows * (len(plan.plan.flows) * FLOW_RECORD.itemsize + len(plan.plan.queues) * QUEUE_RECORD.itemsize)
        + probes * PROBE_RECORD.itemsize
    )
    if available_bytes and needed > MEMORY_PART * available_bytes:
        raise HostError(
            f"{name}: the records may take {needed >> 20:,} MiB, and it has {available_bytes >> 20:,} MiB left; "
            "sample less often, such as --set sample=100ms"
        )


def _routed(told: str | None) -> Mapping[str, Any]:
    routes = _parsed(told)
    return routes[0] if routes else {}


def _parsed(told: str | None) -> list[dict[str, Any]]:
    """What `ip -j` printed there; nothing where it is anything else."""
    found, _ = rows(Reading("ip", told))
    # A device that doesn't match is an empty object.
    return [each for each in found if each]
