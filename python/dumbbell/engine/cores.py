"""A core of its own for each guest.

A guest's kernel and its processes hand every system call to each other. On one core that is a switch;
across two it is a wake-up of an idle core, five times slower. So each guest is tied to one core, and
the runs of one user agree on who has which by locks on files in the user's private folder.
"""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dumbbell.publish.private import locked, opened_file, private

__all__ = ["claimed"]

TURNS = itertools.count()
"""When all cores are taken, callers share them in turn, not always the same one."""


@contextmanager
def claimed() -> Iterator[int]:
    """A free core's number for as long as the block lasts; a shared one when none is known to be free."""
    cores = sorted(os.sched_getaffinity(0))
    core, lock = _free(cores)
    try:
        yield cores[(os.getpid() + next(TURNS)) % len(cores)] if core is None else core
    finally:
        if lock is not None:
            os.close(lock)


def _free(cores: list[int]) -> tuple[int | None, int | None]:
    """A core that no run has, and the open file whose lock says so."""
    # A home may be one folder on many machines, and each machine has its own cores.
    with private(f"cores-{os.uname().nodename}") as folder:
        for core in cores if folder is not None else []:
            with suppress(OSError):
                lock = opened_file(str(core), folder)
                if locked(lock, wait=False):
                    return core, lock
                os.close(lock)
    return None, None
