"""Findings about the kernel itself: its version, its namespace, the clock, the machine below it."""

import re

from dumbbell.machine.finding import Finding, unknown
from dumbbell.machine.modules import release
from dumbbell.machine.sources import Machine
from dumbbell.machine.switch import initial_namespace

__all__ = ["clocksource", "namespace", "version", "version_of", "virtual"]

FIRST_BBR = (4, 9)
"""net/ipv4/tcp_bbr.c came with Linux 4.9."""
OWN_PACING = (4, 13)
"""TCP paces by a timer of its own since Linux 4.13 (net/ipv4/tcp_output.c, tcp_pacing_check)."""
DEPARTURE_TIME = (4, 20)
"""Packets carry their earliest departure time since Linux 4.20 (tcp_output.c, tcp_wstamp_ns)."""
FAST_CLOCKS = frozenset(
    "tsc kvm-clock arch_sys_counter hyperv_clocksource_tsc_page timebase tod time-travel-clock xen".split()
)


def version_of(machine: Machine) -> tuple[int, int] | None:
    """Major and minor version of the kernel that runs."""
    match = re.match(r"(\d{1,3})\.(\d{1,4})", release(machine) or "")
    return (int(match[1]), int(match[2])) if match else None


def version(machine: Machine) -> Finding:
    """The kernel's version, and what that means for pacing."""
    read = machine.sysctl("kernel.osrelease")
    number = version_of(machine)
    what = ("kernel.version", "kernel", "version")
    if read.text is None or number is None:
        return unknown(*what, read.source, f"the kernel's version can't be read: {read.why or read.text!r}")
    if number < FIRST_BBR:
        mark, meaning = "problem", "BBR came with Linux 4.9; this kernel is older."
    elif number < OWN_PACING:
        mark, meaning = "problem", "BBR is paced by the fq queue only: without it, it floods the path."
    elif number < DEPARTURE_TIME:
        mark, meaning = "look", "TCP paces itself, coarsely; the fq queue does it better before Linux 4.20."
    else:
        mark, meaning = "ok", "TCP paces itself, each packet at its own time (since 4.20)."
    return Finding(*what, mark, read.text, read.text, read.source, meaning)  # type: ignore[arg-type]


def namespace(machine: Machine) -> Finding:
    """Whether this is the machine's first network namespace."""
    what = ("kernel.namespace", "kernel", "network namespace")
    source = "/proc/sys/net/core/default_qdisc"
    if machine.sysctl("net.core.somaxconn").text is None:
        return unknown(*what, source, "no settings of the network can be read below /proc/sys/net")
    if initial_namespace(machine):
        return Finding(*what, "ok", "initial", "the machine's first", source, "Settings here are the machine's.")
    return Finding(
        *what,
        "look",
        "own",
        "one of its own",
        source,
        "A container, or ip netns: the default controller is this namespace's own, queues' default is not seen here, "
        "and sysctl.d does not reach it at boot.",
    )


def clocksource(machine: Machine) -> Finding:
    """The clock by which packets are paced and timed."""
    what = ("kernel.clocksource", "kernel", "clock")
    folder = "/sys/devices/system/clocksource/clocksource0"
    read = machine.file(f"{folder}/current_clocksource")
    name = read.first()
    if not name:
        return unknown(*what, read.source, f"the clock can't be read: {read.why or 'it is empty'}")
    if name in FAST_CLOCKS:
        return Finding(*what, "ok", name, name, read.source, "Reading it is cheap; pacing reads it for every packet.")
    others = machine.file(f"{folder}/available_clocksource").words()
    better = [one for one in others if one in FAST_CLOCKS]
    change = tuple(f"echo {one} | sudo tee {folder}/current_clocksource" for one in better[:1])
    meaning = "Reading this clock is slow on many machines, and pacing reads it for every packet."
    return Finding(*what, "look", name, name, read.source, meaning, change)


def virtual(machine: Machine) -> Finding:
    """Whether a hypervisor is below: its schedule moves our timers."""
    what = ("kernel.virtual", "kernel", "machine")
    read = machine.file("/proc/cpuinfo")
    if read.text is None:
        return unknown(*what, read.source, f"the processor can't be read: {read.why}")
    if "User Mode Linux" in read.text:
        meaning = "Its time is virtual: pacing is exact whatever the machine below does."
        return Finding(*what, "ok", "uml", "User-Mode Linux", read.source, meaning)
    product = machine.file("/sys/class/dmi/id/product_name").first()
    if re.search(r"^flags\s*:.*\bhypervisor\b", read.text, re.MULTILINE):
        shown = f"virtual ({product})" if product else "virtual"
        meaning = "The hypervisor may run us late; then paced packets leave in bursts, and RTTs have its delay in them."
        return Finding(*what, "ok", "virtual", shown, read.source, meaning)
    if re.search(r"^flags\s*:", read.text, re.MULTILINE):
        return Finding(*what, "ok", "physical", product or "physical", read.source, "No hypervisor moves our timers.")
    return unknown(*what, read.source, "this processor does not say whether a hypervisor is below")
