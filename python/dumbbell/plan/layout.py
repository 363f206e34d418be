"""Hosts, wires, addresses: who is connected to whom.

A path is drawn from left (senders) to right (receivers), and devices are called so: every host's
`right` looks towards the receivers, its `left` towards the senders. A wire is a veth pair with
a /24 of its own; neighbours are permanent, so that no ARP packet ever stands in a queue.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

__all__ = ["Command", "Host", "Layout", "Wire"]


@dataclass(frozen=True)
class Command:
    """One line that a person could type; `host` is a network namespace, empty for the machine itself.

    `write FILE TEXT` is ours for `echo TEXT > FILE`.
    """

    host: str
    argv: tuple[str, ...]

    @staticmethod
    @lru_cache(maxsize=4096)  # Most are the same in every run of a sweep.
    def of(host: str, line: str) -> "Command":
        """From a line of plain words."""
        return Command(host, tuple(line.split()))

    @cached_property
    def line(self) -> str:
        """As typed."""
        return " ".join(self.argv)

    @cached_property
    def placed(self) -> str:
        """As typed, behind the host's name."""
        return f"[{self.host}] {self.line}" if self.host else self.line


@dataclass(frozen=True)
class Wire:
    """A veth pair between neighbours."""

    number: int
    left_host: str
    left_device: str
    """The left host's device; it looks right."""
    right_host: str
    right_device: str

    @property
    def net(self) -> str:
        """The first three numbers of its addresses."""
        return f"10.{self.number >> 8}.{self.number & 255}"

    @property
    def left_address(self) -> str:
        """Address of the left host on this wire."""
        return f"{self.net}.1"

    @property
    def right_address(self) -> str:
        """Address of the right host on this wire."""
        return f"{self.net}.2"

    def mac(self, side: int) -> str:
        """Hardware address; side 1 is left."""
        return f"02:00:00:{self.number >> 8:02x}:{self.number & 255:02x}:{side:02x}"


@dataclass
class Host:
    """One network namespace."""

    name: str
    routes: bool
    """Does it forward packets of others?"""
    lefts: list[Wire] = field(default_factory=list)
    rights: list[Wire] = field(default_factory=list)
    initial_window: int | None = None
    """Packets that this sender begins with; none: Linux's 10."""
    ecn: bool = False
    """Does this sender ask for ECN, by its route?"""
    quickack: bool = False
    """Is this sender's data to be acknowledged at once?"""

    @property
    def route_options(self) -> str:
        """What a sender's default route says beside where it goes."""
        window = [f"initcwnd {self.initial_window}"] if self.initial_window else []
        return " ".join(window + ["features ecn"] * self.ecn)


@dataclass
class Layout:
    """All hosts and wires, in the order in which they are made."""

    hosts: dict[str, Host] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)

    def add(self, name: str, *, routes: bool = True) -> Host:
        """A new host."""
        self.hosts[name] = Host(name, routes)
        return self.hosts[name]

    def connect(self, left: str, right: str) -> Wire:
        """A wire between two hosts."""
        left_host, right_host = self.hosts[left], self.hosts[right]
        wire = Wire(
            len(self.wires) + 1,
            left,
            _numbered("right", len(left_host.rights)),
            right,
            _numbered("left", len(right_host.lefts)),
        )
        left_host.rights.append(wire)
        right_host.lefts.append(wire)
        self.wires.append(wire)
        return wire

    def commands(self, senders: list[str], receivers: list[str], mtu: int, *, offloads: bool) -> list[Command]:
        """Namespaces, wires, addresses, neighbours, routes, in an order that ip accepts."""
        commands = [Command.of("", f"ip netns add {name}") for name in self.hosts]
        commands += [_veth(wire, mtu) for wire in self.wires]
        for host in self.hosts.values():
            commands += self._host(host, senders, receivers)
        for wire in self.wires:
            commands += _offloads(wire, "on" if offloads else "off")
        return commands

    def _host(self, host: Host, senders: list[str], receivers: list[str]) -> list[Command]:
        commands = [*_begun(host.name, routes=host.routes)]
        for wire in host.rights:
            commands += _left_end(wire)
        for wire in host.lefts:
            commands += _right_end(wire)
        lines = []
        if host.rights:
            lines.append(f"ip route add default via {host.rights[0].right_address} {host.route_options}".rstrip())
        for sender in senders:
            lines += self._route_back(host, sender, receivers)
        return commands + [Command.of(host.name, line) for line in lines]

    def _route_back(self, host: Host, sender: str, receivers: list[str]) -> list[str]:
        """How `host` reaches a sender to its left that is not its neighbour."""
        home = self.hosts[sender].rights[0]
        toward = next((wire for wire in host.lefts if self._leads_to(wire.left_host, sender)), None)
        if toward is None:
            return []
        options = " quickack 1" if host.name in receivers and self.hosts[sender].quickack else ""
        if toward is home:
            device = f"dev {home.right_device}"
            return [f"ip route replace {home.left_address}/32 {device}{options}"] if options else []
        return [f"ip route add {home.net}.0/24 via {toward.left_address}{options}"]

    def _leads_to(self, host: str, sender: str) -> bool:
        return host == sender or any(self._leads_to(wire.left_host, sender) for wire in self.hosts[host].lefts)


def _numbered(name: str, taken: int) -> str:
    return name if taken == 0 else f"{name}{taken + 1}"


# Of a wire or a host alone: a sweep makes the same ones for every run.


@lru_cache(maxsize=1024)
def _veth(wire: Wire, mtu: int) -> Command:
    size = "" if mtu == 1500 else f" mtu {mtu}"
    return Command.of(
        "",
        f"ip link add {wire.left_device} address {wire.mac(1)}{size} netns {wire.left_host} type veth "
        f"peer name {wire.right_device} address {wire.mac(2)}{size} netns {wire.right_host}",
    )


@lru_cache(maxsize=1024)
def _begun(host: str, *, routes: bool) -> tuple[Command, ...]:
    quiet = [f"sysctl -w net.ipv6.conf.{which}.disable_ipv6=1" for which in ("all", "default")]
    forward = ["sysctl -w net.ipv4.ip_forward=1"] if routes else []
    return tuple(Command.of(host, line) for line in [*quiet, *forward, "ip link set lo up"])


@lru_cache(maxsize=1024)
def _left_end(wire: Wire) -> tuple[Command, ...]:
    return _end(wire.left_host, wire.left_device, wire.left_address, wire.right_address, wire.mac(2))


@lru_cache(maxsize=1024)
def _right_end(wire: Wire) -> tuple[Command, ...]:
    return _end(wire.right_host, wire.right_device, wire.right_address, wire.left_address, wire.mac(1))


def _end(host: str, device: str, address: str, peer: str, peer_mac: str) -> tuple[Command, ...]:
    lines = (
        f"ip addr add {address}/24 dev {device}",
        f"ip link set {device} up",
        f"ip neigh add {peer} lladdr {peer_mac} dev {device} nud permanent",
    )
    return tuple(Command.of(host, line) for line in lines)


@lru_cache(maxsize=1024)
def _offloads(wire: Wire, state: str) -> tuple[Command, ...]:
    ends = ((wire.left_host, wire.left_device), (wire.right_host, wire.right_device))
    return tuple(Command.of(host, f"ethtool -K {device} tso {state} gso {state} gro {state}") for host, device in ends)
