"""The bytes that are sent: a shared block of random bytes, or a file.

Byte n of `/bytes/…` is byte n mod 4 MiB of the block, so a range is a slice. The bytes are random, because a path may
compress data.
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
    """Bytes of an open file, repeated if `wraps`."""

    file: int
    size_bytes: int
    wraps: bool
    memory: memoryview | None = None
    """The block mapped into memory; None for files."""

    def locate(self, offset: int) -> tuple[int, int]:
        """The byte's position in the file, and the number of contiguous bytes from there."""
        if not self.wraps:
            return offset, self.size_bytes - offset
        at = offset % BLOCK_BYTES
        return at, BLOCK_BYTES - at

    def piece(self, offset: int, count: int) -> memoryview:
        """Up to `count` bytes in memory, for TLS; empty if the file was truncated meanwhile."""
        at, most = self.locate(offset)
        count = min(count, most, PIECE_BYTES)
        if self.memory is not None:
            return self.memory[at : at + count]
        return memoryview(os.pread(self.file, count, at))


@contextmanager
def block() -> Iterator[Payload]:
    """The shared block."""
    file = os.memfd_create("dumbbell-payload", os.MFD_CLOEXEC)
    try:
        os.write(file, random.Random(SEED).randbytes(BLOCK_BYTES))  # noqa: S311 — not a secret
        with mmap.mmap(file, BLOCK_BYTES, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as memory:
            yield Payload(file, 0, wraps=True, memory=memory)
    finally:
        os.close(file)


def of_file(file: int, size_bytes: int) -> Payload:
    """The bytes of an open file, which the caller closes."""
    return Payload(file, size_bytes, wraps=False)
