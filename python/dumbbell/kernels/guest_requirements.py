"""Requirements of a guest on its host, checked before it starts or derived from its crash.

Its memory is an unlinked file, which needs space on a file system that permits execution.
"""

import os
import re
import resource
import tempfile
from dataclasses import dataclass

from dumbbell.errors import LocalHostError

__all__ = ["Memory", "cause_of_death", "memory_for"]

SHARED = "/dev/shm"  # noqa: S108 — an unlinked file
LEAST_BYTES = 32 << 20
"""Memory that a guest with one flow uses."""
MIB = 1 << 20
OTHER_PLACE = "set TMPDIR to a folder on a file system that has enough space and is not mounted noexec"


@dataclass(frozen=True)
class Memory:
    """Where a guest keeps its memory."""

    place: str
    free_bytes: int
    """When the guest started."""
    most_bytes: int
    """Maximum that the guest may use."""

    @property
    def full(self) -> str:
        """The message for a full file system."""
        return (
            f"{self.place} is full: it holds the guest's memory, up to {self.most_bytes // MIB} MiB, and had "
            f"{self.free_bytes // MIB} MiB free when the guest started; free some space, or {OTHER_PLACE}"
        )


def memory_for(most_bytes: int) -> Memory:
    """A folder for this much memory: the first with enough space, else the one with most. Raises `LocalHostError`."""
    _refuse_low_limits(most_bytes)
    usable, refused = [], []
    for place in dict.fromkeys([SHARED, *_temporary()]):
        try:
            found = os.statvfs(place)
        except OSError as error:
            refused.append(f"{place}: {error.strerror}")
            continue
        free = found.f_bavail * found.f_frsize
        if fault := _fault(place, found, free):
            refused.append(f"{place} {fault}")
        else:
            usable.append(Memory(place, free, most_bytes))
    if not usable:
        raise LocalHostError(
            f"no folder can hold the guest's memory, {LEAST_BYTES // MIB} to {most_bytes // MIB} MiB: "
            f"{'; '.join(refused)}; {OTHER_PLACE}"
        )
    return next(
        (each for each in usable if each.free_bytes >= most_bytes), max(usable, key=lambda each: each.free_bytes)
    )


def cause_of_death(console: str) -> str:
    """The host's restriction that made a guest crash at startup, and the remedy; empty if none is recognized."""
    return next((cause for sign, cause in _causes() if re.search(sign, console)), "")


def _temporary() -> list[str]:
    try:
        return [tempfile.gettempdir()]
    except FileNotFoundError:  # No writable folder.
        return []


def _fault(place: str, found: os.statvfs_result, free: int) -> str:
    """Why a folder is unsuitable."""
    if found.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    if found.f_flag & os.ST_RDONLY or not os.access(place, os.W_OK | os.X_OK):
        return "can't be written"
    if free < LEAST_BYTES:
        return f"has {free // MIB} MiB free"
    return ""


def _refuse_low_limits(most_bytes: int) -> None:
    """Refuse resource limits that make a guest crash without a message."""
    for limit, name, option in (
        (resource.RLIMIT_FSIZE, "the size of a file", "-f"),
        (resource.RLIMIT_AS, "the memory of a process", "-v"),
    ):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and soft < most_bytes:
            raise LocalHostError(
                f"{name} is limited to {soft // MIB} MiB, but the guest's memory needs {most_bytes // MIB} MiB; "
                f"raise the limit: ulimit {option} unlimited"
            )


def _causes() -> tuple[tuple[str, str], ...]:
    """Patterns on a guest's console, from User-Mode Linux and the C library, with their causes."""
    files, processes = (resource.getrlimit(each)[0] for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    return (
        (
            r"must be not mounted noexec",
            f"a security module forbids execution in the folder of the guest's memory; {OTHER_PLACE}",
        ),
        (
            r"check_ptrace|ptrace: Operation not permitted",
            "this host forbids ptrace(2), which guests need to run processes: allow it "
            "(kernel.yama.ptrace_scope below 3; in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setarch: failed to set personality",
            "this host forbids personality(2), which keeps a guest's addresses the same in every run: allow it "
            "(in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setup_physmem - mapping \d+ bytes.*errno = -12",
            "the guest's memory could not be mapped: raise the limit: ulimit -v unlimited, or the container's",
        ),
        (
            r"\bError 24\b|os error 24|Too many open files",
            f"the guest reached the limit of open files, {_limit(files)}; raise it: ulimit -n 1024",
        ),
        (
            r"fork failed|clone failed|start_userspace.*errno = 11|os error 11\b",
            f"the guest reached this user's limit of processes, {_limit(processes)} (ulimit -u), which includes the "
            "guest's; raise it, or the container's limit",
        ),
    )


def _limit(value: int) -> str:
    return "any number" if value == resource.RLIM_INFINITY else str(value)
