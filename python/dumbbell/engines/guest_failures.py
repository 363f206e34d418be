"""Why a guest failed: where its kernel crashed, and which process keeps virtual time from advancing.

A panic prints the addresses on the stack; the registers and the stack of a hanging kernel are read with ptrace(2).
`dumbbell.kernels.boot` maps addresses to functions; the kernel's manifest states which of them the user added.

Virtual time stops while a guest's process computes, so a loop without system calls is never interrupted from within:
no timer fires. On the host, each guest process is a child of the guest kernel's process, which sleeps while the
child computes. The guest kernel passes a SIGFPE at such a child to the guest's process (`userspace` and
`relay_signal` in arch/um), like a division by zero: a shell can trap it, other programs die.

Most programs compute briefly; an endless loop would use the CPU until the wall time limit without any indication of the
cause.
"""

import ctypes
import os
import re
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.kernels import Kernel
from dumbbell.kernels.boot import CHATTER, function_at, trace

__all__ = [
    "CpuUse",
    "StallDetector",
    "crash_message",
    "interrupt",
    "is_group_running",
    "kernel_warnings",
    "panic_location",
    "process_location",
    "program_of",
    "read_cpu_use",
]


REGISTERS = re.compile(r"R[A-Z0-9]{2}: ")
"""Register dumps, left out of messages; the location is given by function names."""
DYING = frozenset(
    "dump_stack dump_stack_lvl show_stack panic panic_exit notifier_call_chain atomic_notifier_call_chain "
    "__warn warn_slowpath_fmt vpanic bust_spinlocks segv segv_handler fatal_sigsegv relay_signal bad_segv "
    "sig_handler_common sig_handler hard_handler um_set_signals block_signals unblock_signals".split()
)
"""Functions of the panic path, above the one that failed on the stack."""
SHOWN = 8
STACK_BYTES = 16 << 10
"""Bytes of the stack searched for return addresses."""


def crash_message(console: str) -> str:
    """The kernel's messages about its failure, without boot messages and stack traces."""
    lines, _, _ = console.partition("\nStack:")
    warnings = [line for line in lines.splitlines() if line.strip() and not line.startswith(CHATTER)]
    return "\n".join([line for line in warnings if not REGISTERS.match(line)][-12:])


def panic_location(kernel: Kernel, console: str) -> str:
    """Where the kernel panicked, as a line for the error message; empty if unknown."""
    found = re.search(r"\bRIP: [0-9a-f]{4}:(?:0x|\[<)?([0-9a-f]+)", console)
    at = function_at(kernel.binary, int(found[1], 16)) if found else None
    return _describe(kernel, [*([at] if at else []), *trace(kernel.binary, console)])


def process_location(kernel: Kernel, process: int) -> str:
    """The same for a running kernel, which is stopped for a moment."""
    addresses = _addresses(process)
    names = [function_at(kernel.binary, address) for address in addresses]
    return _describe(kernel, list(dict.fromkeys(name for name in names if name)))


def kernel_warnings(kernel: Kernel, console: str) -> list[str]:
    """Each warning of the kernel (WARN_ON) once, with its function; the kernel continues after a warning."""
    warnings: dict[str, str] = {}
    parts = re.split(r"(?m)^WARNING: CPU: \d+ PID: \d+ at (\S+)", console)
    for location, text in zip(parts[1::2], parts[2::2], strict=True):
        where = _describe(kernel, trace(kernel.binary, text))
        warnings.setdefault(location, f"kernel warning at {location}" + (f", {where}" if where else ""))
    return list(warnings.values())


def _describe(kernel: Kernel, functions: Sequence[str]) -> str:
    calls = [name for name in dict.fromkeys(functions) if name not in DYING]
    if not calls:
        return ""
    ours = [name for name in calls if name in _functions_added(kernel)]
    location = f"in {ours[0]} of {_owner(kernel)}; " if ours else ""
    start = calls.index(ours[0]) if ours else 0
    return f"{location}stack: {' < '.join(calls[start : start + SHOWN])}"


def _owner(kernel: Kernel) -> str:
    return " or ".join(added.file for added in kernel.added)


def _functions_added(kernel: Kernel) -> frozenset[str]:
    """All functions that are defined in the kernel's added sources."""
    defined: set[str] = set()
    for added in kernel.added:
        source = kernel.folder / "added" / added.module_file
        if source.is_file():
            # A definition starts at the beginning of a line, with a parenthesis after the name.
            defined.update(re.findall(r"(?m)^\w[\w\s*]*?\b(\w+)\s*\(", source.read_text(encoding="latin-1")))
    return frozenset(defined)


def _addresses(process: int) -> list[int]:
    """Program counter and possible return addresses on the stack; empty if ptrace(2) is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_ATTACH, process, None, None) != 0:
        return []
    try:
        os.waitpid(process, 0)
        registers = ctypes.create_string_buffer(_REGISTERS_BYTES)
        if libc.ptrace(_GETREGS, process, None, registers) != 0:
            return []
        at, stack = (struct.unpack_from("<Q", registers, offset)[0] for offset in (_RIP, _RSP))
        # Unbuffered: returns a partial read if the stack is shorter.
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            memory.seek(stack)
            words = memory.read(STACK_BYTES)
    except OSError:
        return []
    finally:
        libc.ptrace(_DETACH, process, None, None)
    return [at, *(word for (word,) in struct.iter_unpack("<Q", words[: len(words) // 8 * 8]))]


_ATTACH, _DETACH, _GETREGS = 16, 17, 12
_REGISTERS_BYTES, _RIP, _RSP = 27 * 8, 16 * 8, 19 * 8
"""Offsets in `struct user_regs_struct` (sys/user.h, x86-64)."""


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
