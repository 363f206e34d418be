"""Processes of a guest: the one that computes without letting virtual time advance, and those that still run.

Virtual time stops while a guest's process computes, so a loop without system calls is never interrupted from within:
no timer fires. On the host, each guest process is a child of the guest kernel's process, which sleeps while the
child computes. The guest kernel passes a SIGFPE at such a child to the guest's process (`userspace` and
`relay_signal` in arch/um), like a division by zero: a shell can trap it, other programs die.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CpuUse", "busy_process", "interrupt", "is_group_running", "read_cpu_use"]

LEAST_TICKS = 20
"""Minimum CPU time in ticks of 10 ms."""
KERNEL_SHARE = 0.1
"""Maximum share of the guest kernel: a higher one means that a system call is in progress."""
_STATE, _PARENT, _GROUP, _USER, _SYSTEM = 0, 1, 2, 11, 12
"""Indexes in /proc/PID/stat after the name (proc(5))."""


@dataclass(frozen=True)
class CpuUse:
    """CPU time, in ticks, used by a guest's kernel and its processes."""

    kernel: int
    children: Mapping[int, int]


def read_cpu_use(kernel: int) -> CpuUse:
    """CPU time that a guest has used so far; `kernel` is its kernel's PID."""
    children = {process: _ticks(fields) for process, fields in _processes() if fields[_PARENT] == str(kernel)}
    return CpuUse(_ticks(_fields(kernel)), children)


def is_group_running(group: int) -> bool:
    """Whether a process of this group has not exited yet; one that only waits to be reaped has."""
    return any(fields[_GROUP] == str(group) and fields[_STATE] not in {"Z", "X"} for _, fields in _processes())


def busy_process(kernel: int, before: CpuUse) -> int | None:
    """PID of the process that has computed all the time since `before`, 0 if there is none; None if unknown yet."""
    now = read_cpu_use(kernel)
    grown = {process: ticks - before.children.get(process, 0) for process, ticks in now.children.items()}
    process = max(grown, key=grown.__getitem__, default=None)
    spent = now.kernel - before.kernel
    if process is None or grown[process] + spent < LEAST_TICKS:
        return None
    fields = _fields(process)
    return 0 if spent > KERNEL_SHARE * grown[process] or not fields or fields[_STATE] != "R" else process


def interrupt(kernel: int, before: CpuUse) -> bool | None:
    """Interrupt the process that has computed all the time since `before`; None if unknown yet."""
    process = busy_process(kernel, before)
    if process:
        os.kill(process, signal.SIGFPE)
    return None if process is None else bool(process)


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Every process with its fields."""
    for process in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        if fields := _fields(process):
            yield process, fields


def _fields(process: int) -> list[str]:
    """Fields of /proc/PID/stat after the name; empty if the process has exited."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _ticks(fields: list[str]) -> int:
    return int(fields[_USER]) + int(fields[_SYSTEM]) if fields else 0
