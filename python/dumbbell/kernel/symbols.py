"""Which function an address of a kernel lies in, by the binary's own table of symbols (ELF-64, .symtab).

A guest's kernel carries no names of its own (CONFIG_KALLSYMS is off), so its stack traces are numbers. Where a trace
comes from is the caller's affair.
"""

import re
import struct
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["function_at", "trace"]

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("at", "<u8"), ("size", "<u8")]
)
"""Elf64_Sym (elf.h)."""
SYMTAB, FUNCTION = 2, 2
_SECTION = struct.Struct("<IIQQQQIIQQ")


def function_at(binary: Path, address: int) -> str | None:
    """The function's name, or none where the address lies in no function of the binary."""
    starts, ends, names, texts = _functions(binary)
    at = int(np.searchsorted(starts, np.uint64(address), side="right")) - 1
    if at < 0 or address >= int(ends[at]):
        return None
    start = int(names[at])
    return texts[start : texts.index(b"\0", start)].decode(errors="replace")


def trace(binary: Path, console: str) -> list[str]:
    """The functions of the last call trace that a kernel printed, the innermost first; empty without one.

    A guest's kernel prints every address of code that it finds on its stack, so some were left there by earlier calls.
    """
    _, found, after = console.rpartition("Call Trace:")
    addresses = re.findall(r"^\s*\[<([0-9a-f]+)>\]", after, re.MULTILINE) if found else []
    # What a call that never returns would return to may lie behind its function.
    names = (function_at(binary, int(address, 16) - 1) for address in addresses)
    return list(dict.fromkeys(name for name in names if name))


@cache
def _functions(binary: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, bytes]:
    """Starts in order, ends, where each name begins, and the names; all empty for a binary without symbols."""
    content = binary.read_bytes()
    offset = struct.unpack_from("<Q", content, 40)[0]
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [_SECTION.unpack_from(content, offset + size * number) for number in range(count)]
    table = next((section for section in sections if section[1] == SYMTAB), None)
    if table is None:
        nothing = np.zeros(0, np.uint64)
        return nothing, nothing, nothing, b""
    symbols = np.frombuffer(content, SYMBOL, table[5] // SYMBOL.itemsize, table[4])
    functions = np.sort(symbols[(symbols["info"] & 15 == FUNCTION) & (symbols["section"] != 0)], order="at")
    strings = sections[table[6]]
    texts = content[strings[4] : strings[4] + strings[5]]
    return functions["at"], functions["at"] + functions["size"], functions["name"], texts
