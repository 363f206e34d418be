"""What a guest needs of the machine that it runs on, told before it starts or from how it died.

Its memory is a file without a name, which must lie where there is room and code may run. What a guest does with it is
`dumbbell.engine.guest`'s.
"""

import os
import re
import resource
import tempfile
from dataclasses import dataclass

from dumbbell.errors import MachineError

__all__ = ["Memory", "cause_of_death", "memory_for"]

SHARED = "/dev/shm"  # noqa: S108 — an unlinked file
LEAST_BYTES = 32 << 20
"""A guest with one flow has touched so much by its end."""
MIB = 1 << 20
OTHER_PLACE = "set TMPDIR to a folder on a file system that has as much room and is not mounted noexec"


@dataclass(frozen=True)
class Memory:
    """Where a guest keeps its memory."""

    place: str
    free_bytes: int
    """When the guest began."""
    most_bytes: int
    """That the guest may take."""

    @property
    def full(self) -> str:
        """What to say when the place became full."""
        return (
            f"{self.place} became full: the guest keeps its memory there, up to {self.most_bytes // MIB} MiB, and "
            f"{self.free_bytes // MIB} MiB were free when it began; make room, or {OTHER_PLACE}"
        )


def memory_for(most_bytes: int) -> Memory:
    """A place for so much memory: the first that has room, else the roomiest. Raises `MachineError` where none does."""
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
        raise MachineError(
            f"there is no place for the guest's memory, {LEAST_BYTES // MIB} to {most_bytes // MIB} MiB: "
            f"{'; '.join(refused)}; {OTHER_PLACE}"
        )
    return next(
        (each for each in usable if each.free_bytes >= most_bytes), max(usable, key=lambda each: each.free_bytes)
    )


def cause_of_death(console: str) -> str:
    """What of this machine killed a guest before it lived, and what to do; empty where that was not the reason."""
    return next((cause for sign, cause in _causes() if re.search(sign, console)), "")


def _temporary() -> list[str]:
    try:
        return [tempfile.gettempdir()]
    except FileNotFoundError:  # No folder may be written.
        return []


def _fault(place: str, found: os.statvfs_result, free: int) -> str:
    """Why this place won't do."""
    if found.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    if found.f_flag & os.ST_RDONLY or not os.access(place, os.W_OK | os.X_OK):
        return "can't be written"
    if free < LEAST_BYTES:
        return f"has {free // MIB} MiB free"
    return ""


def _refuse_low_limits(most_bytes: int) -> None:
    """Those of which a guest dies without a word."""
    for limit, name, option in (
        (resource.RLIMIT_FSIZE, "the size of a file", "-f"),
        (resource.RLIMIT_AS, "the memory of a process", "-v"),
    ):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and soft < most_bytes:
            raise MachineError(
                f"{name} is limited to {soft // MIB} MiB, and the guest's memory takes {most_bytes // MIB} MiB; "
                f"raise it: ulimit {option} unlimited"
            )


def _causes() -> tuple[tuple[str, str], ...]:
    """Signs on a guest's console. User-Mode Linux has its own words, the C library has others."""
    files, processes = (resource.getrlimit(each)[0] for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    return (
        (
            r"must be not mounted noexec",
            f"code may not run where the guest's memory lies: a security module forbids it; {OTHER_PLACE}",
        ),
        (
            r"check_ptrace|ptrace: Operation not permitted",
            "this machine forbids ptrace(2), by which a guest runs its processes: allow it "
            "(kernel.yama.ptrace_scope below 3; in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setarch: failed to set personality",
            "this machine forbids personality(2), which keeps a guest's addresses the same in every run: allow it "
            "(in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setup_physmem - mapping \d+ bytes.*errno = -12",
            "the guest's memory could not be mapped: raise the limit: ulimit -v unlimited, or the container's",
        ),
        (
            r"\bError 24\b|os error 24|Too many open files",
            f"the guest could not open more files of this machine: {_limit(files)} may be open at once; "
            "raise it: ulimit -n 1024",
        ),
        (
            r"fork failed|clone failed|start_userspace.*errno = 11|os error 11\b",
            f"the guest could not start more processes: this user may have {_limit(processes)} (ulimit -u), "
            "all of a guest's among them; raise it, or the container's limit of processes",
        ),
    )


def _limit(value: int) -> str:
    return "any number" if value == resource.RLIM_INFINITY else str(value)
