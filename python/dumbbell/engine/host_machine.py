"""The machine that a run in real time happens on, for its birth certificate: kernel, processors, clock, hypervisor.

Every reading is of a file below `root`; one that isn't there, or says nothing, is None. How busy the machine was is
`host_watch`'s.
"""

import os
import re
from pathlib import Path
from typing import Any

from dumbbell.machine.modules import option
from dumbbell.machine.sources import HERE, Machine

__all__ = ["available_bytes", "facts"]

_HYPERVISORS = {
    "sys/hypervisor/type": "xen",
    "sys/class/dmi/id/product_name": "",
    "sys/class/dmi/id/sys_vendor": "",
}
_VIRTUAL = re.compile(
    r"kvm|qemu|virtual|vmware|bochs|xen|amazon ec2|google|openstack|parallels|bhyve|droplet", re.IGNORECASE
)
"""What firmware calls itself where it is none (systemd-detect-virt(1) knows the same names)."""


def facts(root: Path = HERE) -> dict[str, Any]:
    """What `run.json` says of the machine."""
    machine = Machine(root)
    info = _text(machine, "proc/cpuinfo") or ""
    return {
        "cpu": _first(r"^(?:model name|Processor|cpu model|cpu)\s*:\s*(.+)$", info),
        "cpus": len(re.findall(r"^processor\s*:", info, re.MULTILINE)) or None,
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "governors": _governors(machine) or None,
        "clocksource": _text(machine, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hz": _hz(machine),
        "virtualisation": _virtualisation(machine, info),
        "memory_bytes": _kib(machine, "MemTotal"),
        "load_before": _load(machine),
    }


def available_bytes(root: Path = HERE) -> int | None:
    """Memory that a new program could have (proc_meminfo(5), MemAvailable), or what is left of this group's."""
    here = Machine(root)
    machine = _kib(here, "MemAvailable")
    most, used = (_text(here, f"sys/fs/cgroup/{name}") for name in ("memory.max", "memory.current"))
    group = int(most) - int(used) if most and used and most.isdecimal() and used.isdecimal() else None
    return min((each for each in (machine, group) if each is not None), default=None)


def _governors(machine: Machine) -> list[str]:
    files = machine.root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    return sorted({text for file in files if (text := _text(machine, str(file.relative_to(machine.root))))})


def _hz(machine: Machine) -> int | None:
    """How often the kernel ticks, where it shows its configuration: TCP's own timers are as coarse."""
    text = option(machine, "HZ") or ""
    return int(text) if text.isdecimal() else None


def _virtualisation(machine: Machine, info: str) -> str | None:
    """The hypervisor's name, `unnamed` where only the processor tells of one, `none` where it would and doesn't."""
    for file, name in _HYPERVISORS.items():
        told = _text(machine, file)
        if told and (name or _VIRTUAL.search(told)):
            return name or told
    flags = _first(r"^flags\s*:\s*(.+)$", info)
    if flags is None:
        return None
    return "unnamed" if "hypervisor" in flags.split() else "none"


def _kib(machine: Machine, key: str) -> int | None:
    found = _first(rf"^{key}:\s+(\d+) kB$", _text(machine, "proc/meminfo") or "")
    return int(found) * 1024 if found else None


def _load(machine: Machine) -> float | None:
    text = _text(machine, "proc/loadavg")
    try:
        return float(text.split()[0]) if text else None
    except ValueError:
        return None


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None


def _text(machine: Machine, name: str) -> str | None:
    return machine.file(name).first() or None
