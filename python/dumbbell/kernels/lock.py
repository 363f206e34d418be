"""Lock a work folder for one process; the error names the process that holds the lock."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.publish import folders

__all__ = ["locked"]


@contextmanager
def locked(work: Path, doing: str) -> Iterator[None]:
    """Hold `<work>.lock`. Raises KernelError with the other process and what it does."""
    path = work.with_name(f"{work.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = folders.opened_file(path)
    except OSError as problem:
        raise KernelError(f"{path}: can't be locked: {problem.strerror}; remove it") from problem
    try:
        if not folders.locked(lock, wait=False):
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "another"
            raise KernelError(f"'{work.name}' is already being {doing} by process {holder} (lock: {path})")
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)
