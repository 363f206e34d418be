"""Findings about the devices by which packets leave: their queue and who paces, and their offloads.

Sources: `ip -j`, `tc -s -j`, and the ioctl SIOCETHTOOL (include/uapi/linux/ethtool.h); net/ipv4/tcp_bbr.c on fq and
TCP's own pacing, net/sched/sch_fq.c.
"""

import array
import fcntl
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from dumbbell.machine.dropin import QDISC
from dumbbell.machine.finding import Finding, Mark, unknown
from dumbbell.machine.kernels import DEPARTURE_TIME, OWN_PACING, version_of
from dumbbell.machine.modules import option
from dumbbell.machine.rows import ROUTES, number, rows, word
from dumbbell.machine.sources import Machine

__all__ = ["LINKS", "QUEUES", "default_qdisc", "egress", "features", "offloads", "queues"]

GROUP = "queues"
LINKS = ("ip", "-d", "-j", "link", "show")
QUEUES = ("tc", "-s", "-j", "qdisc", "show")

SIOCETHTOOL = 0x8946
ASKED = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B, "flags": 0x25}
"""ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO, ETHTOOL_GFLAGS."""
FLAG_LRO = 1 << 15


def egress(machine: Machine) -> tuple[list[str], str]:
    """Devices that a route leads out by, loopback aside; and why there are none when that can't be known."""
    found, why = rows(machine.command(*ROUTES))
    if why:
        return [], why
    named = [word(hop, "dev") for row in found for hop in (row, *_hops(row)) if "type" not in row]
    return [name for name in dict.fromkeys(named) if name and name != "lo"], ""


def default_qdisc(machine: Machine) -> Finding:
    """What devices get that come up from now on."""
    what = ("queues.default", GROUP, "default queue")
    read = machine.sysctl(QDISC)
    if read.text is None:
        return unknown(*what, read.source, f"it can't be seen here: {read.why}; it is the machine's, not a namespace's")
    meaning = "Devices that come up from now on get it (one per hardware queue); those that are up keep theirs."
    return Finding(*what, "ok", read.text, read.text, read.source, meaning)


def queues(machine: Machine) -> Iterator[Finding]:
    """Each egress device's queue, and what it means for pacing on this kernel."""
    devices, why = egress(machine)
    if why:
        yield unknown("queues", GROUP, "queues", "ip -j route", why)
        return
    read = machine.command(*QUEUES)
    told, why = rows(read)
    if not why:
        for device in devices:
            yield _queue(machine, device, [row for row in told if word(row, "dev") == device], read.source)
        return
    yield unknown("queues", GROUP, "queues", read.source, why)


def offloads(machine: Machine, ask: Callable[[str], dict[str, bool]] | None = None) -> Iterator[Finding]:
    """Each egress device's offloads: packets that the kernel handles as one."""
    ask = ask or features
    links, _ = rows(machine.command(*LINKS))
    for device in egress(machine)[0]:
        what = (f"offloads.{device}", GROUP, f"{device} offloads")
        try:
            found = ask(device) if machine.live or ask is not features else None
        except OSError as error:
            yield unknown(*what, "SIOCETHTOOL", f"the device does not say: {(error.strerror or '').lower()}")
            continue
        if found is None:
            yield unknown(*what, "SIOCETHTOOL", "not asked: this is a folder, not the machine that runs")
            continue
        link = next((row for row in links if word(row, "ifname") == device), {})
        yield _offload(what, found, number(link, "gso_max_size"))


def features(device: str) -> dict[str, bool]:
    """Whether a device does TSO, GSO, GRO and LRO, as `ethtool -k` has it.

    Raises OSError.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        values = {name: _asked(one, device, command) for name, command in ASKED.items()}
    return {name: bool(values[name]) for name in ("tso", "gso", "gro")} | {"lro": bool(values["flags"] & FLAG_LRO)}


def _asked(one: socket.socket, device: str, command: int) -> int:
    # struct ethtool_value: the command and its answer; struct ifreq: the device and where that is.
    value = array.array("I", [command, 0])
    request = struct.pack("16sP16x", device.encode()[:15], value.buffer_info()[0])
    fcntl.ioctl(one, SIOCETHTOOL, request)
    return value[1]


def _queue(machine: Machine, device: str, told: list[dict[str, Any]], source: str) -> Finding:
    what = (f"queues.{device}", GROUP, f"{device} queue")
    root = next((row for row in told if row.get("root")), None)
    if root is None:
        return unknown(*what, source, "tc lists no queue of this device")
    kind = word(root, "kind")
    leaves = Counter(word(row, "kind") for row in told if not row.get("root") and word(row, "kind"))
    value = {
        "root": kind,
        "leaves": dict(leaves),
        "backlog_bytes": number(root, "backlog"),
        "dropped_packets": number(root, "drops"),
    }
    under = ", ".join(f"{count} × {name}" for name, count in leaves.items())
    shown = f"{kind} over {under}" if under else kind
    if backlog := number(root, "backlog"):
        shown += f", {backlog} bytes waiting"
    mark, meaning, change = _pacing(machine, device, {kind, *leaves})
    return Finding(*what, mark, value, shown, source, meaning, change)


def _pacing(machine: Machine, device: str, kinds: set[str]) -> tuple[Mark, str, tuple[str, ...]]:
    version = version_of(machine)
    fq = () if option(machine, "NET_SCH_FQ") == "n" else (f"sudo tc qdisc replace dev {device} root fq",)
    if "netem" in kinds:
        return "look", "netem delays or loses packets here, by somebody's wish.", (f"tc -s qdisc show dev {device}",)
    if "fq" in kinds:
        return "ok", "fq paces each connection, and shares the device among them.", ()
    if kinds == {"noqueue"}:
        return "ok", "No queue: packets go straight to the device below or the other end; TCP paces itself.", ()
    return _own_pacing(version, fq)


def _own_pacing(version: tuple[int, int] | None, fq: tuple[str, ...]) -> tuple[Mark, str, tuple[str, ...]]:
    """Where no queue paces: what TCP does itself on this kernel."""
    if version is None:
        return "unknown", "Whether TCP paces itself is not known without the kernel's version.", ()
    if version < OWN_PACING:
        return "problem", "Before Linux 4.13 nothing but fq paces: BBR floods the path without it.", fq
    if version < DEPARTURE_TIME:
        return "look", "TCP paces itself, coarsely; before Linux 4.20 fq does it better.", fq
    without = "" if fq else " (this kernel has none: CONFIG_NET_SCH_FQ)"
    return "ok", f"TCP paces itself, by a timer per connection; fq would do it with less work{without}.", ()


def _offload(what: tuple[str, str, str], found: dict[str, bool], gso_max_size: int | None) -> Finding:
    value = {**found, "gso_max_size_bytes": gso_max_size}
    on = [name for name, is_on in found.items() if is_on]
    shown = f"{' '.join(on) or 'none'}{f', up to {gso_max_size} bytes' if gso_max_size else ''}"
    source = "SIOCETHTOOL, ip -d -j link"
    device = what[0].split(".", 1)[1]
    if found["lro"]:
        meaning = "LRO melts received packets together for good: a router must not, and ACKs become rare."
        return Finding(*what, "look", value, shown, source, meaning, (f"sudo ethtool -K {device} lro off",))
    if found["tso"] or found["gso"]:
        meaning = (
            "Saves work. Queues, netem and captures here see up to 64 KB as one packet; to measure, switch it off."
        )
        return Finding(*what, "ok", value, shown, source, meaning)
    meaning = "Every packet is handled by itself: right for measuring, much work at gigabits."
    return Finding(*what, "ok", value, shown, source, meaning)


def _hops(row: dict[str, Any]) -> list[dict[str, Any]]:
    hops = row.get("nexthops")
    return [hop for hop in hops if isinstance(hop, dict)] if isinstance(hops, list) else []
