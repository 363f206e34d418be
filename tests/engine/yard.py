"""Machines for tests of real hosts: namespaces of this one, wired up, with a real sshd in each.

```text
desk ── ssh ── sender ──┐
     ── ssh ── router   eth1 … eth1/eth2 … eth1      (the router is optional)
     ── ssh ── receiver ┘
```

Each machine is a process in namespaces of its own for network, mounts (its own /run) and name; it dies with the test,
and everything with it. Keys are made here, and ssh reads a configuration of the test's own.
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


@cache
def lacking() -> str:
    """Why there can be no yard here, found by trying; empty when there can."""
    if not Path(SSHD).exists() or shutil.which("ssh") is None:
        return "no sshd or no ssh here (packages openssh-server and openssh-client)"
    tried = subprocess.run(
        ["unshare", "-n", "-m", "-u", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass
class Machine:
    """One of them."""

    name: str
    holder: subprocess.Popen[bytes]
    sshd: subprocess.Popen[bytes] | None = None

    @property
    def inside(self) -> list[str]:
        """What stands before a command that is to run there."""
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "-u"]

    def run(self, line: str, *, check: bool = True) -> str:
        """Run a line there."""
        done = subprocess.run(
            [*self.inside, "sh", "-c", line], capture_output=True, text=True, check=False, timeout=30
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{self.name}: {line}: {done.stderr}"
        return done.stdout

    def picture(self) -> dict[str, str]:
        """Everything that a run may change there, as a person would look at it."""
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
class Yard:
    """All of them."""

    folder: Path
    machines: dict[str, Machine] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    @property
    def hosts(self) -> list[Machine]:
        """Those that an experiment runs on."""
        return [machine for name, machine in self.machines.items() if name != "desk"]

    @property
    def ssh(self) -> str:
        """What `DUMBBELL_SSH` is to say."""
        return f"nsenter -t {self['desk'].holder.pid} -n ssh -F {self.folder / 'config'}"

    def pictures(self) -> dict[str, dict[str, str]]:
        """Of every host."""
        return {machine.name: machine.picture() for machine in self.hosts}

    def agents(self) -> list[int]:
        """Processes of agents that live in any of the hosts."""
        spaces = {str(Path(f"/proc/{machine.holder.pid}/ns/net").readlink()) for machine in self.hosts}
        return [number for number, program, space in processes() if program == "agent" and space in spaces]

    def table(self) -> str:
        """`[hosts]` of an experiment."""
        has_router = "router" in self.machines
        receiver = RECEIVER if has_router else DIRECT_RECEIVER
        lines = [
            "[hosts.sender]", 'ssh = "sender"', f'address = "{SENDER}"', 'device = "eth1"',
            "[hosts.receiver]", 'ssh = "receiver"', f'address = "{receiver}"', 'device = "eth1"',
        ]  # fmt: skip
        if has_router:
            lines += ["[hosts.router]", 'ssh = "router"', 'to_receiver = "eth2"', 'to_sender = "eth1"']
        return "\n".join(lines) + "\n"


def processes() -> Iterator[tuple[int, str, str]]:
    """Number, name of the program and network namespace of every process that can be looked at."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(entry.name), (entry / "comm").read_text().strip(), str((entry / "ns/net").readlink())


@contextmanager
def yard(folder: Path, *, router: bool) -> Iterator[Yard]:
    """The machines, up and reachable; all are gone when the block ends."""
    made = Yard(folder)
    names = ["desk", "sender", *(["router"] if router else []), "receiver"]
    try:
        for name in names:
            made.machines[name] = Machine(name, _hold(name))
        _wire(made, names, router=router)
        _open(made)
        yield made
    finally:
        for machine in made.machines.values():
            for process in (machine.sshd, machine.holder):
                if process is not None:
                    process.kill()
                    process.wait()
            if machine.holder.stdout is not None:
                machine.holder.stdout.close()


def _hold(name: str) -> subprocess.Popen[bytes]:
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


def _wire(made: Yard, names: list[str], *, router: bool) -> None:
    def pair(left: Machine, one: str, right: Machine, other: str) -> None:
        left.run(f"ip link add {one} type veth peer name {other} netns {right.holder.pid}")
        for machine, device in ((left, one), (right, other)):
            machine.run(f"ip link set {device} up; ip link set lo up")

    desk = made["desk"]
    for number, name in enumerate(names[1:], start=1):
        pair(desk, f"to{number}", made[name], "eth0")
        desk.run(f"ip addr add 10.99.{number}.1/24 dev to{number}")
        made[name].run(f"ip addr add 10.99.{number}.2/24 dev eth0")
    sender, receiver = made["sender"], made["receiver"]
    if not router:
        pair(sender, "eth1", receiver, "eth1")
        sender.run(f"ip addr add {SENDER}/24 dev eth1")
        receiver.run(f"ip addr add {DIRECT_RECEIVER}/24 dev eth1")
        return
    middle = made["router"]
    pair(sender, "eth1", middle, "eth1")
    pair(middle, "eth2", receiver, "eth1")
    sender.run(f"ip addr add {SENDER}/24 dev eth1; ip route add 192.168.8.0/24 via 192.168.7.254")
    receiver.run(f"ip addr add {RECEIVER}/24 dev eth1; ip route add 192.168.7.0/24 via 192.168.8.254")
    middle.run("ip addr add 192.168.7.254/24 dev eth1; ip addr add 192.168.8.254/24 dev eth2")
    middle.run("sysctl -qw net.ipv4.ip_forward=1")


def _open(made: Yard) -> None:
    """An sshd in each host, and the client's configuration."""
    folder = made.folder
    folder.mkdir(parents=True, exist_ok=True)
    for key in ("host", "person"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / key], check=True, timeout=20
        )  # fmt: skip
    shutil.copy(folder / "person.pub", folder / "authorized")
    config, known = [], []
    for number, machine in enumerate(made.hosts, start=1):
        address = f"10.99.{number}.2"
        server = folder / f"sshd-{machine.name}"
        server.write_text(
            f"ListenAddress {address}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nPidFile none\n"
            "StrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        )
        with (folder / f"log-{machine.name}").open("wb") as log:
            machine.sshd = subprocess.Popen([*machine.inside, SSHD, "-D", "-e", "-f", server], stderr=log)
        config.append(f"Host {machine.name}\n  HostName {address}\n  User root\n")
        known.append(f"{address} {(folder / 'host.pub').read_text()}")
    (folder / "known").write_text("".join(known))
    (folder / "config").write_text(
        "".join(config) + f"Host *\n  IdentityFile {folder}/person\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile /dev/null\n"
    )
    for machine in made.hosts:
        until = time.monotonic() + 60
        while ":22 " not in machine.run("ss -Hltn"):
            assert time.monotonic() < until, f"sshd of {machine.name} does not listen"
            time.sleep(0.05)
