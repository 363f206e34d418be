"""All findings about a host, in a fixed order, and those about its kernel and its egress devices.

`run_checks` has all; a failing check doesn't prevent the others. `controllers` has the findings about congestion
controls, `tcp_settings` those about sysctls and buffers.

The kernel's version, network namespace, clock, virtualization; the devices' qdisc, pacing and offloads. Sources: `ip
-j`, `tc -s -j`, and the ioctl SIOCETHTOOL (include/uapi/linux/ethtool.h); net/ipv4/tcp_bbr.c on fq and TCP's own
pacing, net/sched/sch_fq.c.
"""

import array
import fcntl
import re
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dumbbell.host import controllers, tcp_settings
from dumbbell.host.boot_settings import QDISC
from dumbbell.host.kernel_modules import option, version_of
from dumbbell.host.sources import ROUTES, Finding, LocalHost, Mark, number, rows, unknown, word
from dumbbell.host.switch import initial_namespace

__all__ = [
    "LINKS",
    "QUEUES",
    "clocksource",
    "default_qdisc",
    "egress",
    "features",
    "namespace",
    "offloads",
    "queues",
    "run_checks",
    "version",
    "virtual",
]


Reading = Callable[[], Finding | Iterable[Finding]]


def run_checks(host: LocalHost, path: tcp_settings.Path) -> list[Finding]:
    """Every finding, group by group."""
    host = host.at_one_time()
    readings: list[tuple[str, str, Reading]] = [
        ("kernel.version", "kernel", lambda: version(host)),
        ("kernel.namespace", "kernel", lambda: namespace(host)),
        ("kernel.clocksource", "kernel", lambda: clocksource(host)),
        ("kernel.virtual", "kernel", lambda: virtual(host)),
        ("controller.default", "controller", lambda: controllers.default(host)),
        ("controller.new_connection", "controller", lambda: controllers.opened(host)),
        ("controller.at_boot", "controller", lambda: controllers.at_boot(host)),
        ("controller.available", "controller", lambda: controllers.available(host)),
        ("controller.allowed", "controller", lambda: controllers.allowed(host)),
        ("controller.bbr", "controller", lambda: controllers.bbr(host)),
        ("controller.routes", "controller", lambda: controllers.routes(host)),
        ("queues.default", "queues", lambda: default_qdisc(host)),
        ("queues", "queues", lambda: queues(host, path)),
        ("offloads", "queues", lambda: offloads(host)),
        ("buffers", "buffers", lambda: tcp_settings.buffers(host, path)),
        ("protocol", "protocol", lambda: tcp_settings.tcp_settings(host)),
        ("connections.controllers", "connections", lambda: controllers.connections(host)),
    ]
    return [finding for key, group, reading in readings for finding in _found(key, group, reading)]


def _found(key: str, group: str, reading: Reading) -> list[Finding]:
    try:
        found = reading()
        return [found] if isinstance(found, Finding) else list(found)
    # An unfamiliar host may give unexpected output.
    except Exception as error:
        return [unknown(key, group, key, "", f"can't be parsed: {type(error).__name__}: {error}")]


FIRST_BBR = (4, 9)
"""net/ipv4/tcp_bbr.c came with Linux 4.9."""
OWN_PACING = (4, 13)
"""TCP has an internal pacing timer since Linux 4.13 (net/ipv4/tcp_output.c, tcp_pacing_check)."""
DEPARTURE_TIME = (4, 20)
"""Packets carry their earliest departure time since Linux 4.20 (tcp_output.c, tcp_wstamp_ns)."""
FAST_CLOCKS = frozenset(
    "tsc kvm-clock arch_sys_counter hyperv_clocksource_tsc_page timebase tod time-travel-clock xen".split()
)


def version(host: LocalHost) -> Finding:
    """The kernel's version, and its effect on pacing."""
    read = host.sysctl("kernel.osrelease")
    number = version_of(host)
    what = ("kernel.version", "kernel", "version")
    if read.text is None or number is None:
        return unknown(*what, read.source, f"the kernel's version can't be read: {read.why or read.text!r}")
    if number < FIRST_BBR:
        mark, meaning = "problem", "BBR came with Linux 4.9; this kernel is older."
    elif number < OWN_PACING:
        mark, meaning = "problem", "Only the fq qdisc paces BBR: without it, BBR floods the path."
    elif number < DEPARTURE_TIME:
        mark, meaning = "warning", "TCP paces itself coarsely; before Linux 4.20 the fq qdisc paces better."
    else:
        mark, meaning = "ok", "TCP paces itself, with a departure time per packet (since 4.20)."
    return Finding(*what, mark, read.text, read.text, read.source, meaning)  # type: ignore[arg-type]


def namespace(host: LocalHost) -> Finding:
    """Whether this is the host's initial network namespace."""
    what = ("kernel.namespace", "kernel", "network namespace")
    source = "/proc/sys/net/core/default_qdisc"
    if host.sysctl("net.core.somaxconn").text is None:
        return unknown(*what, source, "no settings can be read below /proc/sys/net")
    if initial_namespace(host):
        return Finding(*what, "ok", "initial", "the host's initial one", source, "Settings apply to the host.")
    return Finding(
        *what,
        "warning",
        "own",
        "a separate one",
        source,
        "A container, or ip netns: it has its own default congestion control, the default qdisc is not visible here, "
        "and sysctl.d doesn't apply to it at boot.",
    )


def clocksource(host: LocalHost) -> Finding:
    """The clock source used for pacing and timestamps."""
    what = ("kernel.clocksource", "kernel", "clock")
    folder = "/sys/devices/system/clocksource/clocksource0"
    read = host.file(f"{folder}/current_clocksource")
    name = read.first()
    if not name:
        return unknown(*what, read.source, f"can't be read: {read.why or 'empty'}")
    if name in FAST_CLOCKS:
        return Finding(*what, "ok", name, name, read.source, "Fast to read; pacing reads it for every packet.")
    others = host.file(f"{folder}/available_clocksource").fields()
    better = [one for one in others if one in FAST_CLOCKS]
    change = tuple(f"echo {one} | sudo tee {folder}/current_clocksource" for one in better[:1])
    meaning = "Slow to read on many hosts, and pacing reads it for every packet."
    return Finding(*what, "warning", name, name, read.source, meaning, change)


def virtual(host: LocalHost) -> Finding:
    """Whether the host is a virtual machine: the hypervisor's scheduling delays timers."""
    what = ("kernel.virtual", "kernel", "host")
    read = host.file("/proc/cpuinfo")
    if read.text is None:
        return unknown(*what, read.source, f"can't be read: {read.why}")
    if "User Mode Linux" in read.text:
        meaning = "Virtual time: pacing is exact, whatever the load of the physical host."
        return Finding(*what, "ok", "uml", "User-Mode Linux", read.source, meaning)
    product = host.file("/sys/class/dmi/id/product_name").first()
    if re.search(r"^flags\s*:.*\bhypervisor\b", read.text, re.MULTILINE):
        shown = f"virtual ({product})" if product else "virtual"
        meaning = "The hypervisor may delay timers: then paced packets leave in bursts, and RTTs include the delay."
        return Finding(*what, "ok", "virtual", shown, read.source, meaning)
    if re.search(r"^flags\s*:", read.text, re.MULTILINE):
        return Finding(*what, "ok", "physical", product or "physical", read.source, "No hypervisor delays timers.")
    return unknown(*what, read.source, "this processor doesn't report whether there is a hypervisor")


QUEUES_GROUP = "queues"
LINKS = ("ip", "-d", "-j", "link", "show")
QUEUES = ("tc", "-s", "-j", "qdisc", "show")

SIOCETHTOOL = 0x8946
COMMANDS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B, "flags": 0x25}
"""ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO, ETHTOOL_GFLAGS."""
FLAG_LRO = 1 << 15


def egress(host: LocalHost) -> tuple[list[str], str]:
    """Devices used by routes, except loopback; and the error if routes can't be read."""
    found, why = rows(host.command(*ROUTES))
    if why:
        return [], why
    named = [word(hop, "dev") for row in found for hop in (row, *_hops(row)) if "type" not in row]
    return [name for name in dict.fromkeys(named) if name and name != "lo"], ""


def default_qdisc(host: LocalHost) -> Finding:
    """The default qdisc of new devices."""
    what = ("queues.default", QUEUES_GROUP, "default queue")
    read = host.sysctl(QDISC)
    if read.text is None:
        return unknown(*what, read.source, f"can't be read: {read.why}; it is a host-wide setting, not per namespace")
    meaning = "Devices brought up from now on get it, one per hardware queue; others keep theirs."
    return Finding(*what, "ok", read.text, read.text, read.source, meaning)


def queues(host: LocalHost, path: tcp_settings.Path) -> Iterator[Finding]:
    """Each egress device's qdisc: its effect on pacing with this kernel, and its rate against the path's."""
    devices, why = egress(host)
    if why:
        yield unknown("queues", QUEUES_GROUP, "queues", "ip -j route", why)
        return
    read = host.command(*QUEUES)
    qdiscs, why = rows(read)
    if not why:
        for device in devices:
            listed = [row for row in qdiscs if word(row, "dev") == device]
            yield _queue(host, device, listed, read.source, path)
        return
    yield unknown("queues", QUEUES_GROUP, "queues", read.source, why)


def offloads(host: LocalHost, query: Callable[[str], dict[str, bool]] | None = None) -> Iterator[Finding]:
    """Each egress device's segmentation and receive offloads."""
    query = query or features
    links, _ = rows(host.command(*LINKS))
    for device in egress(host)[0]:
        what = (f"offloads.{device}", QUEUES_GROUP, f"{device} offloads")
        try:
            found = query(device) if host.live or query is not features else None
        except OSError as error:
            yield unknown(*what, "SIOCETHTOOL", f"the device doesn't report them: {(error.strerror or '').lower()}")
            continue
        if found is None:
            yield unknown(*what, "SIOCETHTOOL", "not queried: --root names a folder, not the running host")
            continue
        link = next((row for row in links if word(row, "ifname") == device), {})
        yield _offload(what, found, number(link, "gso_max_size"))


def features(device: str) -> dict[str, bool]:
    """Whether TSO, GSO, GRO and LRO are on, as in `ethtool -k`.

    Raises OSError.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        values = {name: _ethtool(one, device, command) for name, command in COMMANDS.items()}
    return {name: bool(values[name]) for name in ("tso", "gso", "gro")} | {"lro": bool(values["flags"] & FLAG_LRO)}


def _ethtool(one: socket.socket, device: str, command: int) -> int:
    # struct ethtool_value: command and result; struct ifreq: device name and pointer to ethtool_value.
    value = array.array("I", [command, 0])
    request = struct.pack("16sP16x", device.encode()[:15], value.buffer_info()[0])
    fcntl.ioctl(one, SIOCETHTOOL, request)
    return value[1]


def _queue(host: LocalHost, device: str, listed: list[dict[str, Any]], source: str, path: tcp_settings.Path) -> Finding:
    what = (f"queues.{device}", QUEUES_GROUP, f"{device} queue")
    root = next((row for row in listed if row.get("root")), None)
    if root is None:
        return unknown(*what, source, "tc lists no qdisc of this device")
    kind = word(root, "kind")
    leaves = Counter(word(row, "kind") for row in listed if not row.get("root") and word(row, "kind"))
    value = {
        "root": kind,
        "leaves": dict(leaves),
        "backlog_bytes": number(root, "backlog"),
        "dropped_packets": number(root, "drops"),
    }
    under = ", ".join(f"{count} × {name}" for name, count in leaves.items())
    shown = f"{kind} over {under}" if under else kind
    if backlog := number(root, "backlog"):
        shown += f", {backlog} bytes backlog"
    mark, meaning, change = _pacing(host, device, {kind, *leaves})
    shaped = min((rate for row in listed if (rate := _shaped_bps(row))), default=None)
    if shaped is not None and path.rate_bps is not None and shaped < path.rate_bps:
        shape = f"limits the device to {shaped / 1e6:g} Mbit/s, below the path's {path.rate_bps / 1e6:g} Mbit/s"
        return Finding(*what, "problem", value, shown, source, f"{kind} {shape}.", (f"tc -s qdisc show dev {device}",))
    return Finding(*what, mark, value, shown, source, meaning, change)


def _shaped_bps(row: dict[str, Any]) -> int | None:
    """The rate of a tbf or cake in bit/s; tc prints bytes per second as JSON."""
    options = row.get("options")
    key = {"tbf": "rate", "cake": "bandwidth"}.get(word(row, "kind"))
    rate = number(options, key) if isinstance(options, dict) and key else None
    return 8 * rate if rate else None


def _pacing(host: LocalHost, device: str, kinds: set[str]) -> tuple[Mark, str, tuple[str, ...]]:
    version = version_of(host)
    fq = () if option(host, "NET_SCH_FQ") == "n" else (f"sudo tc qdisc replace dev {device} root fq",)
    if "netem" in kinds:
        return "warning", "netem delays or drops packets on this device.", (f"tc -s qdisc show dev {device}",)
    if "fq" in kinds:
        return "ok", "fq paces each connection and shares the device fairly.", ()
    if kinds == {"noqueue"}:
        return "ok", "No queue: packets go directly to the lower device or the peer; TCP paces itself.", ()
    return _own_pacing(version, fq)


def _own_pacing(version: tuple[int, int] | None, fq: tuple[str, ...]) -> tuple[Mark, str, tuple[str, ...]]:
    """TCP's internal pacing on this kernel, if no qdisc paces."""
    if version is None:
        return "unknown", "The kernel's version is unknown, so it is unknown whether TCP paces itself.", ()
    if version < OWN_PACING:
        return "problem", "Before Linux 4.13 only fq paces: without it, BBR floods the path.", fq
    if version < DEPARTURE_TIME:
        return "warning", "TCP paces itself coarsely; before Linux 4.20 fq paces better.", fq
    without = "" if fq else " (this kernel has no fq: CONFIG_NET_SCH_FQ)"
    return "ok", f"TCP paces itself with a timer per connection; fq would use less CPU{without}.", ()


def _offload(what: tuple[str, str, str], found: dict[str, bool], gso_max_size: int | None) -> Finding:
    value = {**found, "gso_max_size_bytes": gso_max_size}
    on = [name for name, is_on in found.items() if is_on]
    shown = f"{' '.join(on) or 'none'}{f', up to {gso_max_size} bytes' if gso_max_size else ''}"
    source = "SIOCETHTOOL, ip -d -j link"
    device = what[0].split(".", 1)[1]
    if found["lro"]:
        meaning = "LRO merges received packets irreversibly: routers must not use it, and receivers send fewer ACKs."
        return Finding(*what, "warning", value, shown, source, meaning, (f"sudo ethtool -K {device} lro off",))
    if found["tso"] or found["gso"]:
        meaning = "Saves CPU. Qdiscs, netem and captures see up to 64 KB as one packet; turn it off for measurements."
        return Finding(*what, "ok", value, shown, source, meaning)
    meaning = "Every packet is handled separately: good for measurements, CPU-intensive at gigabit rates."
    return Finding(*what, "ok", value, shown, source, meaning)


def _hops(row: dict[str, Any]) -> list[dict[str, Any]]:
    hops = row.get("nexthops")
    return [hop for hop in hops if isinstance(hop, dict)] if isinstance(hops, list) else []
