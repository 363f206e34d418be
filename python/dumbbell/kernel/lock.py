"""One process at a time in a folder of work; a second one learns which process is there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.publish import private

__all__ = ["locked"]


@contextmanager
def locked(work: Path, doing: str) -> Iterator[None]:
    """Hold `<work>.lock`. Raises KernelError that says what is being done there, and by which process."""
    path = work.with_name(f"{work.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = private.opened_file(path)
    except OSError as problem:
        raise KernelError(f"{path}: can't be locked: {problem.strerror}; remove it") from problem
    try:
        if not private.locked(lock, wait=False):
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "another"
            raise KernelError(f"'{work.name}' is being {doing} by process {holder} already (lock: {path})")
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)
