"""Which of a guest's processes computes and lets no time pass, seen from outside.

A guest's time stands still while its processes compute, so a loop without a system call is never interrupted from
within: no timer goes off. Outside, each of the guest's processes is one of the machine's, a child of its kernel's, that
sleeps as long as the child computes. SIGFPE at such a child is one that the guest's kernel hands on to the guest's
process (`userspace` and `relay_signal` in arch/um), as if it had divided by zero: a shell can trap it, others end.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Use", "computing", "strike", "use"]

LEAST_TICKS = 20
"""Of processor time, 10 ms each, before anything is concluded."""
KERNEL_SHARE = 0.1
"""Of a child that computes, at most, while its kernel only waits for it: nobody is in the middle of a system call."""
_STATE, _PARENT, _USER, _SYSTEM = 0, 1, 11, 12
"""Places in /proc/PID/stat behind the name (proc(5))."""


@dataclass(frozen=True)
class Use:
    """Processor time, in ticks, that a guest's kernel and its processes have used."""

    kernel: int
    children: Mapping[int, int]


def use(kernel: int) -> Use:
    """What the guest whose kernel is this process has used until now."""
    children = {}
    for process in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        fields = _fields(process)
        if fields and fields[_PARENT] == str(kernel):
            children[process] = _ticks(fields)
    return Use(_ticks(_fields(kernel)), children)


def computing(kernel: int, before: Use) -> int | None:
    """The process that has computed all the time since `before`, 0 where none has; None: too early to tell."""
    now = use(kernel)
    grown = {process: ticks - before.children.get(process, 0) for process, ticks in now.children.items()}
    process = max(grown, key=grown.__getitem__, default=None)
    spent = now.kernel - before.kernel
    if process is None or grown[process] + spent < LEAST_TICKS:
        return None
    fields = _fields(process)
    return 0 if spent > KERNEL_SHARE * grown[process] or not fields or fields[_STATE] != "R" else process


def strike(kernel: int, before: Use) -> bool | None:
    """Interrupt the process that has computed all the time since `before`; None: too early to tell."""
    process = computing(kernel, before)
    if process:
        os.kill(process, signal.SIGFPE)
    return None if process is None else bool(process)


def _fields(process: int) -> list[str]:
    """Of /proc/PID/stat, behind the name; none when it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _ticks(fields: list[str]) -> int:
    return int(fields[_USER]) + int(fields[_SYSTEM]) if fields else 0
