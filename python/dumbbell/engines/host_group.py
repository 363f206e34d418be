"""All real hosts of a run: checked before anything is changed, then messages to and from all, a heartbeat every second.

An agent that receives nothing for ten seconds restores its host and exits; the same limit applies here. There is one
thread and no polling: it sleeps until data arrives or the next heartbeat is due. The checks are pure functions of the
facts that an agent reports (`crates/agent/src/remote/facts.rs`); errors state what would help.
"""

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dumbbell import _sim
from dumbbell.engines.agent_connection import AgentConnection, Frame, Reachable, order
from dumbbell.engines.remote_records import Reading
from dumbbell.errors import DumbbellError, HostError, HostLost
from dumbbell.host import sources
from dumbbell.plan import RemoteHost, RemotePlan

__all__ = [
    "HostGroup",
    "check",
    "connect_hosts",
    "facts_request",
    "host_entry",
]


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
    return {
        "devices": list(machine.devices),
        "routes": routes[machine.role],
        "controllers": sorted({flow.cc for flow in plan.plan.flows if flow.cc is not None}),
        "sysctls": [key for host, key, _ in plan.plan.sysctls if host == machine.role],
    }


def check(plan: RemotePlan, machine: RemoteHost, facts: Mapping[str, Any]) -> list[str]:
    """Returns warnings. Raises `HostError` for what prevents the run."""
    name = f"{machine.role} ({machine.ssh})"
    for tool in facts["missing_tools"]:
        raise HostError(f"{name}: '{tool}' is missing; install it there with: sudo apt-get install -y iproute2")
    for device in machine.devices:
        _device(plan, name, machine, device, facts["devices"].get(device))
    _routes(plan, name, machine, facts["routes"])
    is_six = ":" in (plan.host("sender").address or "")
    if machine.role == "router" and not facts["forwards"][is_six]:
        key = "net.ipv6.conf.all.forwarding" if is_six else "net.ipv4.ip_forward"
        raise HostError(f"{name}: packet forwarding is off; turn it on there: sysctl -w {key}=1")
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
    mtu = plan.plan.mtu
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
    size = _sim.RECORD_BYTES
    rows = plan.plan.duration_ns // plan.plan.sample_ns
    probes = sum(plan.plan.duration_ns // probe.interval_ns for probe in plan.plan.probes)
    needed = (
        rows * (len(plan.plan.flows) * size["flows"] + len(plan.plan.queues) * size["queues"]) + probes * size["probes"]
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
    found, _ = sources.rows(sources.Reading("ip", output))
    # Devices that don't match are empty objects.
    return [each for each in found if each]


BEAT_S = 1.0
SILENCE_S = 10.0
CONNECT_S = 60.0
"""Time limit for the shell's greeting and the transfer of the agent (two megabytes)."""
ANSWER_S = 30.0


class HostGroup:
    """The connections to all hosts."""

    def __init__(self, connections: Mapping[str, AgentConnection], tick: Callable[[], None]) -> None:
        """`connections` by role; `tick` is called at least once a second and may raise."""
        self.connections = connections
        self.tick = tick
        self.readings: dict[str, list[Reading]] = {role: [] for role in connections}
        self.samples_clocks = False
        """Does every heartbeat also read the clock?"""
        self._beat_s = 0.0
        self._requested_ns: dict[str, int] = {}
        self.changed = False
        """May a host have been changed already?"""

    def expect(self, role: str, kind: str, within_s: float = ANSWER_S) -> Frame:
        """The next frame of a host, which must be of this kind.

        Raises `HostError` or, if a host may have been changed, `HostLost`.
        """
        frame = self.next(role, within_s)
        if frame.kind == "restored" != kind:
            # The host's setup failed: its agent restores it first and sends the reason next, which `next` raises.
            frame = self.next(role, within_s)
        if frame.kind != kind:
            raise self._lost(self.connections[role], f"it sent '{frame.kind}' instead of '{kind}'")
        return frame

    def next(self, role: str, within_s: float) -> Frame:
        """The next frame of a host; raises like `expect`."""
        until_s = time.monotonic() + within_s
        connection = self.connections[role]
        while not connection.frames:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise self._lost(connection, f"no answer within {within_s:g} s")
            self.listen(left_s)
        return connection.frames.popleft()

    def read_clock(self, role: str) -> None:
        """Request a host's time and store the reading."""
        known = len(self.readings[role])
        self._request_clock(role)
        until_s = time.monotonic() + ANSWER_S
        while len(self.readings[role]) == known:
            if time.monotonic() > until_s:
                raise self._lost(self.connections[role], "it did not report its time")
            self.listen(1.0)

    def listen(self, max_s: float) -> None:
        """Exchange data once; raises if a host failed, disconnected, or has been silent for too long."""
        self.exchange(max_s)
        for connection in self.connections.values():
            for frame in connection.frames:
                if frame.kind == "failed":
                    raise self._failed(connection, str(frame.head.get("reason", "")))
            if connection.done:
                continue
            if connection.closed and not connection.frames:
                raise self._lost(connection, connection.why())
            if (
                connection.agent_ready
                and not connection.frames
                and time.monotonic() - connection.last_data_s > SILENCE_S
            ):
                raise self._lost(connection, f"no data for {SILENCE_S:g} s: the connection is lost")

    def exchange(self, max_s: float) -> None:
        """Read and write what is possible; sleep until then, at most until the next heartbeat."""
        now_s = time.monotonic()
        if now_s >= self._beat_s + BEAT_S:
            self._beat_s = now_s
            self._beat()
        self.tick()
        open_connections = [connection for connection in self.connections.values() if not connection.closed]
        readers = {connection.reads_from: connection for connection in open_connections}
        writers = {connection.writes_to: connection for connection in open_connections if connection.outbox}
        sleep_s = max(0.0, min(max_s, self._beat_s + BEAT_S - now_s))
        readable, writable, _ = select.select(list(readers), list(writers), [], sleep_s)
        answered_ns = time.monotonic_ns()
        for descriptor in readable:
            readers[descriptor].last_data_s = answered_ns / 1e9
            readers[descriptor].read()
        for descriptor in writable:
            writers[descriptor].write()
        self._keep_readings(answered_ns)

    def _beat(self) -> None:
        for role, connection in self.connections.items():
            if connection.agent_ready and not connection.closed:
                if self.samples_clocks and role not in self._requested_ns and not connection.frames:
                    self._request_clock(role)
                elif not connection.outbox:
                    connection.send(order("beat"))

    def _request_clock(self, role: str) -> None:
        connection = self.connections[role]
        connection.send(order("time"))
        self._requested_ns[role] = time.monotonic_ns()
        connection.write()

    def _keep_readings(self, answered_ns: int) -> None:
        for role, connection in self.connections.items():
            for frame in [frame for frame in connection.frames if frame.kind == "time"]:
                connection.frames.remove(frame)
                remote_ns, requested_ns = frame.head.get("now_ns"), self._requested_ns.pop(role, None)
                if isinstance(remote_ns, int) and requested_ns is not None:
                    self.readings[role].append(Reading(requested_ns, remote_ns, answered_ns))

    def _lost(self, connection: AgentConnection, why: str) -> DumbbellError:
        if self.changed:
            return HostLost(
                f"{connection.name}: {why}; the run is over, and every host restores its settings within "
                f"{SILENCE_S + 5:g} s"
            )
        return HostError(f"{connection.name}: {why}")

    def _failed(self, connection: AgentConnection, reason: str) -> DumbbellError:
        kind = HostLost if self.changed else HostError
        return kind(f"{connection.name}: {_with_help(reason)}")


@contextmanager
def connect_hosts(machines: Sequence[Reachable], agent: bytes, tick: Callable[[], None]) -> Iterator[HostGroup]:
    """Connect to all hosts and start an agent on each; closes the connections at the end of the block."""
    connections: dict[str, AgentConnection] = {}
    try:
        for machine in machines:
            connections[machine.role] = AgentConnection(machine, agent)
            connections[machine.role].last_data_s = time.monotonic()
        yield HostGroup(connections, tick)
    finally:
        for connection in connections.values():
            connection.disconnect()
        for connection in connections.values():
            connection.wait_closed()


_KIND_UNKNOWN = "Specified qdisc kind is unknown"


def _with_help(reason: str) -> str:
    """An agent's error with advice, if known."""
    if _KIND_UNKNOWN in reason:
        words = reason.split()
        kind = next(
            (word for word in words if word in ("netem", "htb", "fq", "fq_codel", "codel", "red", "cake")), "it"
        )
        return (
            f"{reason}; this kernel has no {kind} (CONFIG_NET_SCH_{kind.upper()}, modprobe sch_{kind}); "
            "--engine kernel has it"
        )
    return reason
