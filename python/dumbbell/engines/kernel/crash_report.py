"""Describes how a guest's kernel failed and in which functions.

A panic prints the addresses on the stack; the registers and the stack of a hanging kernel are read with ptrace(2).
`dumbbell.kernels.boot` maps addresses to functions; the kernel's manifest states which of them the user added.
"""

import ctypes
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path

from dumbbell.kernels import Kernel
from dumbbell.kernels.boot import CHATTER, function_at, trace

__all__ = ["crash_message", "kernel_warnings", "panic_location", "process_location"]

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
