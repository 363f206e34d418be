"""Properties of the host for a real-time run's manifest: kernel, CPUs, clock, hypervisor.

All values are read from files below `root`; missing ones are None. `host_load` measures the load.
"""

import os
import re
from pathlib import Path
from typing import Any

from dumbbell.host.kernel_modules import option
from dumbbell.host.sources import HERE, LocalHost

__all__ = ["available_bytes", "facts"]

_HYPERVISORS = {
    "sys/hypervisor/type": "xen",
    "sys/class/dmi/id/product_name": "",
    "sys/class/dmi/id/sys_vendor": "",
}
_VIRTUAL = re.compile(
    r"kvm|qemu|virtual|vmware|bochs|xen|amazon ec2|google|openstack|parallels|bhyve|droplet", re.IGNORECASE
)
"""Firmware names of virtual machines (systemd-detect-virt(1) knows the same)."""


def facts(root: Path = HERE) -> dict[str, Any]:
    """The `machine` entry of `run.json`."""
    host = LocalHost(root)
    info = _text(host, "proc/cpuinfo") or ""
    return {
        "cpu": _first(r"^(?:model name|Processor|cpu model|cpu)\s*:\s*(.+)$", info),
        "cpus": len(re.findall(r"^processor\s*:", info, re.MULTILINE)) or None,
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "governors": _governors(host) or None,
        "clocksource": _text(host, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hz": _hz(host),
        "virtualisation": _virtualisation(host, info),
        "memory_bytes": _kib(host, "MemTotal"),
        "load_before": _load(host),
    }


def available_bytes(root: Path = HERE) -> int | None:
    """Memory available to a new program (proc_meminfo(5), MemAvailable), or left in its control group."""
    here = LocalHost(root)
    system = _kib(here, "MemAvailable")
    most, used = (_text(here, f"sys/fs/cgroup/{name}") for name in ("memory.max", "memory.current"))
    group = int(most) - int(used) if most and used and most.isdecimal() and used.isdecimal() else None
    return min((each for each in (system, group) if each is not None), default=None)


def _governors(host: LocalHost) -> list[str]:
    files = host.root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    return sorted({text for file in files if (text := _text(host, str(file.relative_to(host.root))))})


def _hz(host: LocalHost) -> int | None:
    """The kernel's tick rate, if its configuration is readable: the resolution of TCP's timers."""
    text = option(host, "HZ") or ""
    return int(text) if text.isdecimal() else None


def _virtualisation(host: LocalHost, info: str) -> str | None:
    """Name of the hypervisor; `unnamed` if only the CPU flags show one, `none` if they show none."""
    for file, name in _HYPERVISORS.items():
        output = _text(host, file)
        if output and (name or _VIRTUAL.search(output)):
            return name or output
    flags = _first(r"^flags\s*:\s*(.+)$", info)
    if flags is None:
        return None
    return "unnamed" if "hypervisor" in flags.split() else "none"


def _kib(host: LocalHost, key: str) -> int | None:
    found = _first(rf"^{key}:\s+(\d+) kB$", _text(host, "proc/meminfo") or "")
    return int(found) * 1024 if found else None


def _load(host: LocalHost) -> float | None:
    text = _text(host, "proc/loadavg")
    try:
        return float(text.split()[0]) if text else None
    except ValueError:
        return None


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None


def _text(host: LocalHost, name: str) -> str | None:
    return host.file(name).first() or None
