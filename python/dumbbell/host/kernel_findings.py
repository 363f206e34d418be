"""Findings about the kernel: version, network namespace, clock, virtualization."""

import re

from dumbbell.host.kernel_modules import release
from dumbbell.host.sources import Finding, LocalHost, unknown
from dumbbell.host.switch import initial_namespace

__all__ = ["clocksource", "namespace", "version", "version_of", "virtual"]

FIRST_BBR = (4, 9)
"""net/ipv4/tcp_bbr.c came with Linux 4.9."""
OWN_PACING = (4, 13)
"""TCP has an internal pacing timer since Linux 4.13 (net/ipv4/tcp_output.c, tcp_pacing_check)."""
DEPARTURE_TIME = (4, 20)
"""Packets carry their earliest departure time since Linux 4.20 (tcp_output.c, tcp_wstamp_ns)."""
FAST_CLOCKS = frozenset(
    "tsc kvm-clock arch_sys_counter hyperv_clocksource_tsc_page timebase tod time-travel-clock xen".split()
)


def version_of(host: LocalHost) -> tuple[int, int] | None:
    """Major and minor version of the running kernel."""
    match = re.match(r"(\d{1,3})\.(\d{1,4})", release(host) or "")
    return (int(match[1]), int(match[2])) if match else None


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
