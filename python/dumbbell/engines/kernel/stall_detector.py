"""Processes of a guest: finds and reports the one that keeps virtual time from advancing.

Virtual time stops while a guest's process computes, so a loop without system calls is never interrupted from within:
no timer fires. On the host, each guest process is a child of the guest kernel's process, which sleeps while the
child computes. The guest kernel passes a SIGFPE at such a child to the guest's process (`userspace` and
`relay_signal` in arch/um), like a division by zero: a shell can trap it, other programs die.

Most programs compute briefly; an endless loop would use the CPU until the wall time limit without any indication of the
cause.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CpuUse",
    "StallDetector",
    "busy_process",
    "interrupt",
    "is_group_running",
    "program_of",
    "read_cpu_use",
]


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


NOTICE_S = 5.0
"""Wall time without a new sample before a program is reported."""
CHECK_S = 0.5
PAGE_BYTES = 4096
HIGHEST_PAGES = 4
"""Pages above a program's stack: the vDSO and the guest kernel's stub page."""
FILE_NAME = re.compile(rb"([^\x00-\x20\x7f][^\x00-\x1f\x7f]*)\x00{9,}\Z")
"""The end of a stack: the file name given to execve(2), its NUL, and an empty word (`setup_arg_pages`, fs/exec.c)."""


class StallDetector:
    """Watches one guest; reports each stall once."""

    def __init__(self, kernel: int, notice: Callable[[str], None]) -> None:
        """`kernel` is the PID of the guest's kernel; `notice` is called with the message."""
        self._kernel, self._notice = kernel, notice
        self._seconds = -1.0
        self._since = self._checked_s = time.monotonic()
        self._before = CpuUse(0, {})
        self.program: str | None = None
        """The program that stalled virtual time at the last check."""

    def check(self, seconds: float) -> None:
        """Check now, if a check is due; `seconds` is the progress of the experiment."""
        now = time.monotonic()
        if now < self._checked_s + CHECK_S and seconds == self._seconds:
            return
        self._checked_s = now
        if seconds != self._seconds:
            self._seconds, self._since, self.program = seconds, now, None
            self._before = read_cpu_use(self._kernel)
        elif self.program is None and now > self._since + NOTICE_S:
            self._report_program()

    def _report_program(self) -> None:
        process = busy_process(self._kernel, self._before)
        if not process:
            # The agent or the kernel is running, or a program makes system calls: start again.
            self._before = read_cpu_use(self._kernel)
            return
        self.program = program_of(process) or f"process {process}"
        self._notice(
            f"program '{self.program}' has computed for {NOTICE_S:.0f} s without a system call: virtual time stops "
            "until it sleeps or exits (Ctrl-C stops the run)"
        )


def program_of(process: int) -> str | None:
    """File name of a guest's program, from the memory of its process on the host; None if not found."""
    with suppress(OSError):
        maps = [line.split() for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()]
        # The guest's memory is a shared file mapping.
        ends = [int(line[0].partition("-")[2], 16) for line in maps if line[1].startswith("rw") and line[1][3] == "s"]
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            for end in sorted(ends, reverse=True)[:HIGHEST_PAGES]:
                memory.seek(end - PAGE_BYTES)
                if found := FILE_NAME.search(memory.read(PAGE_BYTES)):
                    return found[1].decode(errors="replace")
    return None
