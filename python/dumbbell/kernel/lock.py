"""One process at a time in a folder of work; whoever comes second learns who is there."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import KernelError

__all__ = ["locked"]


@contextmanager
def locked(work: Path, doing: str) -> Iterator[None]:
    """Hold `<work>.lock`. Raises KernelError that says what is being done there, and by which process."""
    path = work.with_name(f"{work.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            file.seek(0)
            holder = file.read().strip() or "another"
            raise KernelError(f"'{work.name}' is being {doing} by process {holder} already (lock: {path})") from problem
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
