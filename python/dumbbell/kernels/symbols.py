"""Map addresses of a kernel to functions with the binary's symbol table (ELF-64, .symtab).

Guest kernels have no symbol names (CONFIG_KALLSYMS is off), so their stack traces are addresses.
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
    """The name of the function that contains the address, or None."""
    starts, ends, names, texts = _functions(binary)
    at = int(np.searchsorted(starts, np.uint64(address), side="right")) - 1
    if at < 0 or address >= int(ends[at]):
        return None
    start = int(names[at])
    return texts[start : texts.index(b"\0", start)].decode(errors="replace")


def trace(binary: Path, console: str) -> list[str]:
    """The functions of the last call trace on the console, innermost first; empty if there is none.

    The kernel prints every code address on its stack, so some may be left over from earlier calls.
    """
    _, found, after = console.rpartition("Call Trace:")
    addresses = re.findall(r"^\s*\[<([0-9a-f]+)>\]", after, re.MULTILINE) if found else []
    # The return address of a call that never returns may lie after the function.
    names = (function_at(binary, int(address, 16) - 1) for address in addresses)
    return list(dict.fromkeys(name for name in names if name))


@cache
def _functions(binary: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, bytes]:
    """Sorted start addresses, end addresses, name offsets, and the names; empty for a binary without symbols."""
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
