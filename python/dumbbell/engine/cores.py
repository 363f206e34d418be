"""A core of its own for each guest.

A guest's kernel and its processes hand every system call to each other. On one core that is a switch;
across two it is a wake-up of an idle core, five times slower. So each guest is tied to one core, and
the runs of one user agree on who has which by locks on files.
"""

import fcntl
import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["claimed"]

TURNS = itertools.count()
"""Whoever finds all cores taken shares the next one, not always the same."""


@contextmanager
def claimed() -> Iterator[int]:
    """A free core's number for as long as the block lasts; when all are taken, one that is shared."""
    cores = sorted(os.sched_getaffinity(0))
    folder = Path(tempfile.gettempdir()) / f"dumbbell-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for core in cores:
        with (folder / str(core)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield core
            return
    yield cores[(os.getpid() + next(TURNS)) % len(cores)]
