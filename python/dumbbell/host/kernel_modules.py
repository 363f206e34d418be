"""Whether a kernel has a congestion control or qdisc: built in, as a module, or not at all.

Sources: /proc/sys/net/ipv4/tcp_available_congestion_control, /proc/modules, and below /lib/modules/RELEASE the files
modules.builtin and modules.dep (depmod(8)).
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from dumbbell.host.sources import LocalHost

__all__ = ["AVAILABLE", "Presence", "images", "option", "presence", "queue_presence", "release"]

AVAILABLE = "net.ipv4.tcp_available_congestion_control"

ALWAYS = ("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "mq", "noqueue")
"""Qdiscs that every kernel with traffic control has (net/sched/sch_api.c, pktsched_init)."""

Kind = Literal["built in", "loaded", "loadable", "absent", "unknown"]


@dataclass(frozen=True)
class Presence:
    """How a kernel has a component, the source of this information, and the module's file, if any."""

    kind: Kind
    source: str
    file: str | None = None
    why: str = ""


def release(host: LocalHost) -> str | None:
    """The kernel's release, as `uname -r`."""
    return host.sysctl("kernel.osrelease").first()


def presence(host: LocalHost, name: str) -> Presence:
    """How the running kernel has the congestion control `name`."""
    available = host.sysctl(AVAILABLE)
    file = _listed(host, release(host), "modules.dep", name)
    if name in available.fields():
        loaded = host.file("/proc/modules")
        if any(line.startswith(f"tcp_{name} ") for line in (loaded.text or "").splitlines()):
            return Presence("loaded", "/proc/modules", file)
        # No /proc/modules: a kernel without modules (CONFIG_MODULES).
        source = "/proc/modules" if loaded.text is not None else "no /proc/modules: a kernel without modules"
        return Presence("built in", source)
    if file is not None:
        return Presence("loadable", "modules.dep", file)
    if available.text is None:
        return Presence("unknown", AVAILABLE, why=available.why)
    return Presence("absent", AVAILABLE)


def queue_presence(host: LocalHost, name: str) -> Presence:
    """How the running kernel has the qdisc `name`, by its modules and configuration."""
    version, module, key = release(host), f"sch_{name}", f"NET_SCH_{name.upper()}"
    if name in ALWAYS or name == host.sysctl("net.core.default_qdisc").first():
        return Presence("built in", "every kernel")
    loaded = host.file("/proc/modules").text or ""
    if any(line.startswith(f"{module} ") for line in loaded.splitlines()):
        return Presence("loaded", "/proc/modules")
    if file := _file_in(host, version, "modules.dep", module):
        return Presence("loadable", "modules.dep", file)
    configured = option(host, key)
    if configured == "y" or _file_in(host, version, "modules.builtin", module):
        return Presence("built in", f"CONFIG_{key}")
    if configured is None:
        return Presence("unknown", f"CONFIG_{key}", why="neither modules nor configuration can be read")
    return Presence("absent", f"CONFIG_{key}")


def images(host: LocalHost, name: str) -> Presence:
    """How the kernels in a folder's /lib/modules have it, for --root, which has no running kernel."""
    folder = host.path("/lib/modules")
    try:
        releases = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        releases = []
    if not releases:
        return Presence("unknown", "/lib/modules", why="this folder has no kernel modules")
    built_in = False
    for one in reversed(releases):
        if file := _listed(host, one, "modules.dep", name):
            return Presence("loadable", f"/lib/modules/{one}/modules.dep", file)
        built_in = built_in or _listed(host, one, "modules.builtin", name) is not None
    return Presence("built in" if built_in else "absent", f"/lib/modules/{releases[-1]}/modules.builtin")


def option(host: LocalHost, name: str) -> str | None:
    """The value of CONFIG_`name` in the kernel's configuration: y, m or n; None if it can't be read."""
    text = _configuration(host)
    if text is None:
        return None
    for line in text.splitlines():
        if line.startswith(f"CONFIG_{name}="):
            return line.split("=", 1)[1].strip()
    return "n"


def _configuration(host: LocalHost) -> str | None:
    try:
        return gzip.decompress(host.data("/proc/config.gz")).decode(errors="replace")
    except (OSError, EOFError, zlib.error):
        return host.file(f"/boot/config-{release(host)}").text


def _listed(host: LocalHost, version: str | None, index: str, name: str) -> str | None:
    return _file_in(host, version, index, f"tcp_{name}")


def _file_in(host: LocalHost, version: str | None, index: str, module: str) -> str | None:
    if not version:
        return None
    for path in _paths(host.file(f"/lib/modules/{version}/{index}").text or ""):
        if PurePosixPath(path).name.split(".ko")[0] == module:
            return path if path.startswith("/") else f"/lib/modules/{version}/{path}"
    return None


def _paths(text: str) -> Iterator[str]:
    return (line.split(":", 1)[0].strip() for line in text.splitlines())
