"""Hosts for tests of real hosts: connected network namespaces with an sshd in each.

```text
admin ── ssh ── sender ──┐
     ── ssh ── router   eth1 … eth1/eth2 … eth1      (the router is optional)
     ── ssh ── receiver ┘
```

Each host is a process with its own network, mount (own /run) and UTS namespaces; it ends with the test, and its
namespaces with it. The test creates its own keys and ssh configuration.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SSHD = "/usr/sbin/sshd"
SENDER, RECEIVER = "192.168.7.1", "192.168.8.2"
DIRECT_RECEIVER = "192.168.7.2"
SENDER_6, RECEIVER_6 = "2001:db8:7::1", "2001:db8:8::2"


@cache
def ssh_testbed_error() -> str:
    """The reason that the testbed can't be created; empty if it can."""
    if not Path(SSHD).exists() or shutil.which("ssh") is None:
        return "no sshd or no ssh (packages openssh-server and openssh-client)"
    probed = subprocess.run(
        ["unshare", "-n", "-m", "-u", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    return f"no namespaces: {probed.stderr.strip()}" if probed.returncode else ""


@dataclass
class RemoteHost:
    """One host."""

    name: str
    holder: subprocess.Popen[bytes]
    sshd: subprocess.Popen[bytes] | None = None

    @property
    def inside(self) -> list[str]:
        """Command prefix to run a command in the host."""
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "-u"]

    def run(self, line: str, *, check: bool = True) -> str:
        """Run a command line in the host."""
        done = subprocess.run(
            [*self.inside, "sh", "-c", line], capture_output=True, text=True, check=False, timeout=30
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{self.name}: {line}: {done.stderr}"
        return done.stdout

    def snapshot(self) -> dict[str, str]:
        """Everything that a run may change in the host, as text."""
        return {
            "qdiscs": self.run("tc qdisc show; for d in $(ls /sys/class/net); do tc class show dev $d; done"),
            "links": self.run("ip -d link show | sed 's/promiscuity.*//'"),
            "addresses": self.run("ip addr show"),
            "routes": self.run("ip route show table all; ip rule show"),
            "offloads": self.run("for d in eth1 eth2; do ethtool -k $d 2>/dev/null; done; true"),
            "sysctls": self.run("cd /proc/sys/net/ipv4; for f in tcp_* ip_*; do echo $f $(cat $f 2>/dev/null); done"),
            "run": self.run("ls -A /run /run/dumbbell 2>/dev/null; true"),
        }


@dataclass
class SshTestbed:
    """All hosts."""

    folder: Path
    six: bool = False
    """Whether experiments use IPv6."""
    all_hosts: dict[str, RemoteHost] = field(default_factory=dict)

    def __getitem__(self, name: str) -> RemoteHost:
        return self.all_hosts[name]

    @property
    def hosts(self) -> list[RemoteHost]:
        """The hosts that take part in an experiment."""
        return [host for name, host in self.all_hosts.items() if name != "admin"]

    @property
    def ssh(self) -> str:
        """Value of `DUMBBELL_SSH`."""
        return f"nsenter -t {self['admin'].holder.pid} -n ssh -F {self.folder / 'config'}"

    def snapshots(self) -> dict[str, dict[str, str]]:
        """Snapshots of all hosts."""
        return {host.name: host.snapshot() for host in self.hosts}

    def agents(self) -> list[int]:
        """PIDs of agents in any of the hosts."""
        spaces = {str(Path(f"/proc/{host.holder.pid}/ns/net").readlink()) for host in self.hosts}
        return [number for number, program, space in processes() if program == "agent" and space in spaces]

    def table(self) -> str:
        """The `[hosts]` table of an experiment."""
        has_router = "router" in self.all_hosts
        receiver = RECEIVER if has_router else DIRECT_RECEIVER
        sender, receiver = (SENDER_6, RECEIVER_6) if self.six else (SENDER, receiver)
        lines = [
            "[hosts.sender]", 'ssh = "sender"', f'address = "{sender}"', 'device = "eth1"',
            "[hosts.receiver]", 'ssh = "receiver"', f'address = "{receiver}"', 'device = "eth1"',
        ]  # fmt: skip
        if has_router:
            lines += ["[hosts.router]", 'ssh = "router"', 'to_receiver = "eth2"', 'to_sender = "eth1"']
        return "\n".join(lines) + "\n"


def processes() -> Iterator[tuple[int, str, str]]:
    """PID, program name and network namespace of every readable process."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(entry.name), (entry / "comm").read_text().strip(), str((entry / "ns/net").readlink())


@contextmanager
def connected_hosts(folder: Path, *, router: bool, six: bool = False) -> Iterator[SshTestbed]:
    """Yields the hosts, reachable by ssh; removes them at the end of the block. `six` needs a router."""
    testbed = SshTestbed(folder, six)
    names = ["admin", "sender", *(["router"] if router else []), "receiver"]
    try:
        for name in names:
            testbed.all_hosts[name] = RemoteHost(name, _start_host(name))
        _connect(testbed, names, router=router)
        if six:
            _connect_six(testbed)
        _open(testbed)
        yield testbed
    finally:
        for host in testbed.all_hosts.values():
            for process in (host.sshd, host.holder):
                if process is not None:
                    process.kill()
                    process.wait()
            if host.holder.stdout is not None:
                host.holder.stdout.close()


def _start_host(name: str) -> subprocess.Popen[bytes]:
    script = (
        f"mount -t tmpfs none /run && mkdir /run/sshd && hostname {name} && mount -t sysfs none /sys && "
        "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 && echo up && exec sleep 7200"
    )
    holder = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "-n", "-m", "-u", "sh", "-c", script], stdout=subprocess.PIPE
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"up\n"
    return holder


def _connect(testbed: SshTestbed, names: list[str], *, router: bool) -> None:
    def pair(left: RemoteHost, left_device: str, right: RemoteHost, right_device: str) -> None:
        left.run(f"ip link add {left_device} type veth peer name {right_device} netns {right.holder.pid}")
        for host, device in ((left, left_device), (right, right_device)):
            host.run(f"ip link set {device} up; ip link set lo up")

    admin = testbed["admin"]
    for number, name in enumerate(names[1:], start=1):
        pair(admin, f"to{number}", testbed[name], "eth0")
        admin.run(f"ip addr add 10.99.{number}.1/24 dev to{number}")
        testbed[name].run(f"ip addr add 10.99.{number}.2/24 dev eth0")
    sender, receiver = testbed["sender"], testbed["receiver"]
    if not router:
        pair(sender, "eth1", receiver, "eth1")
        sender.run(f"ip addr add {SENDER}/24 dev eth1")
        receiver.run(f"ip addr add {DIRECT_RECEIVER}/24 dev eth1")
        return
    router_host = testbed["router"]
    pair(sender, "eth1", router_host, "eth1")
    pair(router_host, "eth2", receiver, "eth1")
    sender.run(f"ip addr add {SENDER}/24 dev eth1; ip route add 192.168.8.0/24 via 192.168.7.254")
    receiver.run(f"ip addr add {RECEIVER}/24 dev eth1; ip route add 192.168.7.0/24 via 192.168.8.254")
    router_host.run("ip addr add 192.168.7.254/24 dev eth1; ip addr add 192.168.8.254/24 dev eth2")
    router_host.run("sysctl -qw net.ipv4.ip_forward=1")


def _connect_six(testbed: SshTestbed) -> None:
    """IPv6 addresses beside those of IPv4."""

    def add(name: str, device: str, address: str) -> None:
        testbed[name].run(
            f"sysctl -qw net.ipv6.conf.{device}.accept_dad=0 net.ipv6.conf.{device}.disable_ipv6=0; "
            f"ip -6 addr add {address}/64 dev {device} nodad"
        )

    add("sender", "eth1", SENDER_6)
    add("receiver", "eth1", RECEIVER_6)
    add("router", "eth1", "2001:db8:7::fe")
    add("router", "eth2", "2001:db8:8::fe")
    testbed["router"].run("sysctl -qw net.ipv6.conf.all.forwarding=1")
    testbed["sender"].run("ip -6 route add 2001:db8:8::/64 via 2001:db8:7::fe")
    testbed["receiver"].run("ip -6 route add 2001:db8:7::/64 via 2001:db8:8::fe")


def _open(testbed: SshTestbed) -> None:
    """Start an sshd in each host and write the client's configuration."""
    folder = testbed.folder
    folder.mkdir(parents=True, exist_ok=True)
    for key in ("host", "person"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / key], check=True, timeout=20
        )  # fmt: skip
    shutil.copy(folder / "person.pub", folder / "authorized")
    config, known = [], []
    for number, host in enumerate(testbed.hosts, start=1):
        address = f"10.99.{number}.2"
        server = folder / f"sshd-{host.name}"
        server.write_text(
            f"ListenAddress {address}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nPidFile none\n"
            "StrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        )
        with (folder / f"log-{host.name}").open("wb") as log:
            host.sshd = subprocess.Popen([*host.inside, SSHD, "-D", "-e", "-f", server], stderr=log)
        config.append(f"Host {host.name}\n  HostName {address}\n  User root\n")
        known.append(f"{address} {(folder / 'host.pub').read_text()}")
    (folder / "known").write_text("".join(known))
    (folder / "config").write_text(
        "".join(config) + f"Host *\n  IdentityFile {folder}/person\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile /dev/null\n"
    )
    for host in testbed.hosts:
        deadline = time.monotonic() + 60
        while ":22 " not in host.run("ss -Hltn"):
            assert time.monotonic() < deadline, f"sshd of {host.name} does not listen"
            time.sleep(0.05)
