"""Which BBR a kernel has: version 1, as in Linux, or 3, as in Google's tree; never by guess.

Witnesses: the module's version (version 1 names none, 3 says 3), functions that only one of them has (in
/proc/kallsyms, or in the module's file), and how much a socket tells of itself (`struct tcp_bbr_info`,
include/uapi/linux/inet_diag.h: 20 bytes in version 1; 52 in version 3, with the version in byte 39). Sources:
net/ipv4/tcp_bbr.c of Linux 6.12, and of google/bbr, branch v3.
"""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.machine import probe
from dumbbell.machine.modules import Presence
from dumbbell.machine.sources import Machine, Reading

__all__ = ["Verdict", "of_info", "of_names", "which"]

ONLY_V1 = frozenset({"bbr_lt_bw_sampling", "bbr_reset_lt_bw_sampling", "bbr_lt_bw_interval_done", "bbr_min_tso_segs"})
"""Its long-term sampling, which sought policers, and an operation that version 3 replaced."""
ONLY_V3 = frozenset({"bbr_skb_marked_lost", "bbr_adapt_upper_bounds", "bbr_inflight_hi_from_lost_skb", "bbr_tso_segs"})
V1_INFO_BYTES = 20
VERSION_AT = 39

Witness = tuple[str | None, str]
"""What one witness says (v1, v3; None: nothing), and in which words."""


@dataclass(frozen=True)
class Verdict:
    """The version, or None; and what was seen, or why nothing could be."""

    version: str | None
    seen: tuple[str, ...]
    source: str


def which(machine: Machine, presence: Presence, info: Callable[[str], bytes] = probe.cc_info) -> Verdict:
    """Ask every witness; they must agree."""
    witnesses: list[tuple[str, Witness]] = []
    if presence.kind in ("loaded", "built in"):
        witnesses.append(("/sys/module/tcp_bbr/version", _by_version(machine.file("/sys/module/tcp_bbr/version"))))
        witnesses.append(("/proc/kallsyms", _by_symbols(machine.file("/proc/kallsyms"))))
        if machine.live:
            witnesses.append(("TCP_CC_INFO", _by_info(info)))
    elif presence.file:
        witnesses.append((presence.file, _by_file(machine, presence.file)))
    said = [(source, words, version) for source, (version, words) in witnesses]
    versions = {version for _, _, version in said if version}
    telling = [(source, words) for source, words, version in said if version or not versions]
    source = ", ".join(source for source, _ in telling)
    if len(versions) > 1:
        return Verdict(None, ("witnesses disagree", *(words for _, words in telling)), source)
    return Verdict(versions.pop() if versions else None, tuple(words for _, words in telling), source)


def of_names(names: Iterable[str]) -> Witness:
    """What names of functions say."""
    # A compiler's copies of a function have suffixes, such as .isra.0.
    known = {name.split(".", 1)[0] for name in names}
    first, third = sorted(known & ONLY_V1), sorted(known & ONLY_V3)
    if first and third:
        return None, f"functions of both versions: {first[0]}, {third[0]}"
    if first:
        return "v1", f"its function {first[0]}() is only in version 1"
    if third:
        return "v3", f"its function {third[0]}() is only in version 3"
    return None, "no function that only one version has"


def of_info(data: bytes) -> Witness:
    """What a socket tells of itself says."""
    if len(data) == V1_INFO_BYTES:
        return "v1", f"a socket tells {V1_INFO_BYTES} bytes of it, as version 1 does"
    if len(data) > VERSION_AT:
        return f"v{data[VERSION_AT]}", f"a socket says that it is version {data[VERSION_AT]}"
    return None, f"a socket tells {len(data)} bytes of it, as no version does that is known here"


def _by_version(read: Reading) -> Witness:
    said = (read.text or "").strip()
    if said.isdigit():
        return f"v{said}", f"the module's version is {said}"
    return None, "the module names no version"


def _by_symbols(read: Reading) -> Witness:
    if read.text is None:
        return None, f"names of the kernel's functions can't be read: {read.why}"
    names = [parts[2] for line in read.text.splitlines() if len(parts := line.split()) >= 3]
    if not any(name.startswith("bbr_") for name in names):
        return None, "names of the kernel's functions are hidden or lack BBR's"
    return of_names(names)


def _by_info(info: Callable[[str], bytes]) -> Witness:
    try:
        return of_info(info("bbr"))
    except OSError as error:
        return None, f"no socket of it can be had: {(error.strerror or '').lower()}"


def _by_file(machine: Machine, file: str) -> Witness:
    try:
        data = machine.data(file)
        if file.endswith(".xz"):
            data = lzma.decompress(data)
        elif file.endswith(".gz"):
            data = gzip.decompress(data)
        elif not file.endswith(".ko"):
            return None, f"{file} is packed in a way that can't be read here; it can be told once it is loaded"
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        return None, f"{file} can't be read: {error}"
    return of_names(name for name in ONLY_V1 | ONLY_V3 if b"\0" + name.encode() + b"\0" in data)
