"""What a kernel has: congestion controls and qdiscs, its BBR version, and the congestion control of a new socket.

A congestion control or qdisc is built in, a module, or missing. Sources:
/proc/sys/net/ipv4/tcp_available_congestion_control, /proc/modules, and below /lib/modules/RELEASE the files
modules.builtin and modules.dep (depmod(8)).

A new socket's congestion control: tcp(7), TCP_CONGESTION; include/uapi/linux/tcp.h, TCP_CC_INFO. The probe changes
nothing.

Evidence of BBR's version: the module's version (absent in version 1, "3" in version 3), functions that only one version
has (in /proc/kallsyms or the module file), and the size of `struct tcp_bbr_info` (include/uapi/linux/inet_diag.h: 20
bytes in version 1; 52 in version 3, with the version in byte 39). Sources: net/ipv4/tcp_bbr.c of Linux 6.12, and of
google/bbr, branch v3.
"""

import gzip
import lzma
import re
import socket
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from dumbbell.host.sources import LocalHost, Reading

__all__ = [
    "AVAILABLE",
    "TCP_CC_INFO",
    "Opened",
    "Presence",
    "Verdict",
    "cc_info",
    "controller",
    "images",
    "of_info",
    "of_names",
    "opened",
    "option",
    "presence",
    "queue_presence",
    "release",
    "version_of",
    "which",
]


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


def version_of(host: LocalHost) -> tuple[int, int] | None:
    """Major and minor version of the running kernel."""
    match = re.match(r"(\d{1,3})\.(\d{1,4})", release(host) or "")
    return (int(match[1]), int(match[2])) if match else None


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


TCP_CC_INFO = 26
NAME_BYTES = 16
"""TCP_CA_NAME_MAX, include/net/tcp.h."""
INFO_BYTES = 256
LIMIT_S = 2.0


@dataclass(frozen=True)
class Opened:
    """The congestion controls of both ends of a connection that chose none.

    `connected` is False if loopback is down; then it is that of one unconnected socket.
    """

    controllers: tuple[str, ...]
    connected: bool
    why: str = ""


def opened() -> Opened:
    """Open a connection over loopback and query both ends.

    Raises OSError if no socket can be opened.
    """
    with socket.socket() as listener, socket.socket() as client:
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            listener.settimeout(LIMIT_S)
            client.settimeout(LIMIT_S)
            client.connect(listener.getsockname())
            server, _ = listener.accept()
        except OSError as error:
            return Opened((controller(client),), connected=False, why=f"no connection over loopback: {error}")
        with server:
            return Opened((controller(client), controller(server)), connected=True)


def controller(one: socket.socket) -> str:
    """The name of a socket's congestion control."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_BYTES).split(b"\0")[0].decode()


def cc_info(name: str) -> bytes:
    """`TCP_CC_INFO` of a socket with this congestion control (`struct tcp_bbr_info` and similar).

    Raises OSError if this user may not choose it.
    """
    with socket.socket() as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        return one.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, INFO_BYTES)


ONLY_V1 = frozenset({"bbr_lt_bw_sampling", "bbr_reset_lt_bw_sampling", "bbr_lt_bw_interval_done", "bbr_min_tso_segs"})
"""Functions of long-term sampling, which detected policers, and an operation that version 3 replaced."""
ONLY_V3 = frozenset({"bbr_skb_marked_lost", "bbr_adapt_upper_bounds", "bbr_inflight_hi_from_lost_skb", "bbr_tso_segs"})
V1_INFO_BYTES = 20
VERSION_AT = 39

Evidence = tuple[str | None, str]
"""The version (v1, v3, or None if inconclusive), and an explanation."""


@dataclass(frozen=True)
class Verdict:
    """The version, or None, with explanations."""

    version: str | None
    seen: tuple[str, ...]
    source: str


def which(host: LocalHost, presence: Presence, info: Callable[[str], bytes] = cc_info) -> Verdict:
    """Collect all evidence; it must agree."""
    evidence: list[tuple[str, Evidence]] = []
    if presence.kind in ("loaded", "built in"):
        evidence.append(("/sys/module/tcp_bbr/version", _by_version(host.file("/sys/module/tcp_bbr/version"))))
        evidence.append(("/proc/kallsyms", _by_symbols(host.file("/proc/kallsyms"))))
        if host.live:
            evidence.append(("TCP_CC_INFO", _by_info(info)))
    elif presence.file:
        evidence.append((presence.file, _by_file(host, presence.file)))
    reported = [(source, explanation, version) for source, (version, explanation) in evidence]
    versions = {version for _, _, version in reported if version}
    conclusive = [(source, explanation) for source, explanation, version in reported if version or not versions]
    source = ", ".join(source for source, _ in conclusive)
    if len(versions) > 1:
        return Verdict(None, ("the evidence is contradictory", *(explanation for _, explanation in conclusive)), source)
    return Verdict(versions.pop() if versions else None, tuple(explanation for _, explanation in conclusive), source)


def of_names(names: Iterable[str]) -> Evidence:
    """Evidence from function names."""
    # Compilers add suffixes to specialized copies, such as .isra.0.
    known = {name.split(".", 1)[0] for name in names}
    first, third = sorted(known & ONLY_V1), sorted(known & ONLY_V3)
    if first and third:
        return None, f"functions of both versions: {first[0]}, {third[0]}"
    if first:
        return "v1", f"its function {first[0]}() is only in version 1"
    if third:
        return "v3", f"its function {third[0]}() is only in version 3"
    return None, "no function that only one version has"


def of_info(data: bytes) -> Evidence:
    """Evidence from a socket's `TCP_CC_INFO`."""
    if len(data) == V1_INFO_BYTES:
        return "v1", f"TCP_CC_INFO has {V1_INFO_BYTES} bytes, as in version 1"
    if len(data) > VERSION_AT:
        return f"v{data[VERSION_AT]}", f"TCP_CC_INFO reports version {data[VERSION_AT]}"
    return None, f"TCP_CC_INFO has {len(data)} bytes, as in no known version"


def _by_version(read: Reading) -> Evidence:
    reported = (read.text or "").strip()
    if reported.isdigit():
        return f"v{reported}", f"the module's version is {reported}"
    return None, "the module has no version"


def _by_symbols(read: Reading) -> Evidence:
    if read.text is None:
        return None, f"kernel symbols can't be read: {read.why}"
    names = [parts[2] for line in read.text.splitlines() if len(parts := line.split()) >= 3]
    if not any(name.startswith("bbr_") for name in names):
        return None, "kernel symbols are hidden or lack BBR's"
    return of_names(names)


def _by_info(info: Callable[[str], bytes]) -> Evidence:
    try:
        return of_info(info("bbr"))
    except OSError as error:
        return None, f"can't open a BBR socket: {(error.strerror or '').lower()}"


def _by_file(host: LocalHost, file: str) -> Evidence:
    try:
        data = host.data(file)
        if file.endswith(".xz"):
            data = lzma.decompress(data)
        elif file.endswith(".gz"):
            data = gzip.decompress(data)
        elif not file.endswith(".ko"):
            return None, f"{file} has an unsupported compression; load the module to determine its version"
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        return None, f"{file} can't be read: {error}"
    return of_names(name for name in ONLY_V1 | ONLY_V3 if b"\0" + name.encode() + b"\0" in data)
