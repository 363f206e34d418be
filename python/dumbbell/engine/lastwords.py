"""What a guest's kernel said of its end, and in which functions it was, in words for people.

A panic prints the addresses on the stack; of a kernel that goes on for ever, its registers and its stack are read from
outside. `dumbbell.kernel.symbols` turns addresses into functions; which of them a person added, the kernel's birth
certificate says.
"""

import ctypes
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path

from dumbbell.kernel import Kernel
from dumbbell.kernel.boot import CHATTER
from dumbbell.kernel.symbols import function_at, trace

__all__ = ["complaints", "last_words", "place_of_panic", "place_of_process"]

REGISTERS = re.compile(r"R[A-Z0-9]{2}: ")
"""Numbers that say nothing without a debugger; where it was is told by name."""
DYING = frozenset(
    "dump_stack dump_stack_lvl show_stack panic panic_exit notifier_call_chain atomic_notifier_call_chain "
    "__warn warn_slowpath_fmt vpanic bust_spinlocks segv segv_handler fatal_sigsegv relay_signal bad_segv "
    "sig_handler_common sig_handler hard_handler um_set_signals block_signals unblock_signals".split()
)
"""Functions by which a kernel dies: they stand above the one that killed it."""
SHOWN = 8
STACK_BYTES = 16 << 10
"""Of a guest's stack, what is looked through for return addresses."""


def last_words(console: str) -> str:
    """What the kernel said of its end, without its chatter at the start and without stack traces."""
    lines, _, _ = console.partition("\nStack:")
    told = [line for line in lines.splitlines() if line.strip() and not line.startswith(CHATTER)]
    return "\n".join([line for line in told if not REGISTERS.match(line)][-12:])


def place_of_panic(kernel: Kernel, console: str) -> str:
    """Where the kernel was when it died, as a line to put below its last words; empty where nothing tells."""
    found = re.search(r"\bRIP: [0-9a-f]{4}:(?:0x|\[<)?([0-9a-f]+)", console)
    at = function_at(kernel.binary, int(found[1], 16)) if found else None
    return _told(kernel, [*([at] if at else []), *trace(kernel.binary, console)])


def place_of_process(kernel: Kernel, process: int) -> str:
    """The same of a kernel that runs: it is stopped for a moment, and goes on as it was."""
    addresses = _addresses(process)
    names = [function_at(kernel.binary, address) for address in addresses]
    return _told(kernel, list(dict.fromkeys(name for name in names if name)))


def complaints(kernel: Kernel, console: str) -> list[str]:
    """Every place that a kernel warned of (WARN_ON), once each, and in which function it was; it goes on after that."""
    told: dict[str, str] = {}
    parts = re.split(r"(?m)^WARNING: CPU: \d+ PID: \d+ at (\S+)", console)
    for place, text in zip(parts[1::2], parts[2::2], strict=True):
        where = _told(kernel, trace(kernel.binary, text))
        told.setdefault(place, f"the kernel warned of itself at {place}" + (f", {where}" if where else ""))
    return list(told.values())


def _told(kernel: Kernel, functions: Sequence[str]) -> str:
    calls = [name for name in dict.fromkeys(functions) if name not in DYING]
    if not calls:
        return ""
    ours = [name for name in calls if name in _functions_added(kernel)]
    place = f"in {ours[0]}, which is of {_owner(kernel)}; " if ours else ""
    start = calls.index(ours[0]) if ours else 0
    return f"{place}on its stack: {' < '.join(calls[start : start + SHOWN])}"


def _owner(kernel: Kernel) -> str:
    return " or ".join(added.file for added in kernel.added)


def _functions_added(kernel: Kernel) -> frozenset[str]:
    """Every function that a stored source of the kernel names."""
    words: set[str] = set()
    for added in kernel.added:
        source = kernel.folder / "added" / added.module_file
        if source.is_file():
            # A definition begins a line, and has its name before a parenthesis.
            words.update(re.findall(r"(?m)^\w[\w\s*]*?\b(\w+)\s*\(", source.read_text(encoding="latin-1")))
    return frozenset(words)


def _addresses(process: int) -> list[int]:
    """Where a process is, and what on its stack may be a return address; empty when ptrace(2) won't look at it."""
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
        # Unbuffered: where the stack ends sooner, what there is of it comes.
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
"""Of `struct user_regs_struct` (sys/user.h, x86-64)."""
