"""The bytes that are sent: a block of dice, once in memory for everybody, or a file's.

Byte n of `/bytes/…` is byte n mod 4 MiB of the block, so a range is a slice. Dice, since a path may compress: zeros
would say nothing of it.
"""

import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["BLOCK_BYTES", "Payload", "block", "of_file"]

BLOCK_BYTES = 1 << 22
SEED = 1993
PIECE_BYTES = 1 << 17


@dataclass(frozen=True)
class Payload:
    """Bytes of an open file, over and over where `wraps`."""

    file: int
    size_bytes: int
    wraps: bool
    memory: memoryview | None = None
    """The same in memory, where they are the block."""

    def place(self, offset: int) -> tuple[int, int]:
        """Where in the file the byte lies, and how many follow there in a row."""
        if not self.wraps:
            return offset, self.size_bytes - offset
        at = offset % BLOCK_BYTES
        return at, BLOCK_BYTES - at

    def piece(self, offset: int, count: int) -> memoryview:
        """Up to so many bytes in memory: for TLS, which must read them. Empty when a file was cut meanwhile."""
        at, most = self.place(offset)
        count = min(count, most, PIECE_BYTES)
        if self.memory is not None:
            return self.memory[at : at + count]
        return memoryview(os.pread(self.file, count, at))


@contextmanager
def block() -> Iterator[Payload]:
    """The block that all share."""
    file = os.memfd_create("dumbbell-payload", os.MFD_CLOEXEC)
    try:
        os.write(file, random.Random(SEED).randbytes(BLOCK_BYTES))  # noqa: S311 — dice that everybody may know
        with mmap.mmap(file, BLOCK_BYTES, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as memory:
            yield Payload(file, 0, wraps=True, memory=memory)
    finally:
        os.close(file)


def of_file(file: int, size_bytes: int) -> Payload:
    """An open file's bytes; it stays the caller's."""
    return Payload(file, size_bytes, wraps=False)
