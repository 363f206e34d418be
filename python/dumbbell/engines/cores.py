"""Assigns a CPU core to each guest.

A guest's kernel and its processes pass control to each other at every system call. On one core that is a context
switch; across two it is the wake-up of an idle core, five times slower. So each guest is pinned to a core. Runs of
one user coordinate by locks on files in a private folder.
"""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dumbbell.publish.folders import locked, opened_file, private

__all__ = ["claimed"]

TURNS = itertools.count()
"""When no core is free, runs share them in turn."""


@contextmanager
def claimed() -> Iterator[int]:
    """Yields the number of a free core, or of a shared one if none is known to be free."""
    cores = sorted(os.sched_getaffinity(0))
    core, lock = _free(cores)
    try:
        yield cores[(os.getpid() + next(TURNS)) % len(cores)] if core is None else core
    finally:
        if lock is not None:
            os.close(lock)


def _free(cores: list[int]) -> tuple[int | None, int | None]:
    """A free core and the locked file that reserves it."""
    # Hosts may share a home folder, but not their cores.
    with private(f"cores-{os.uname().nodename}") as folder:
        for core in cores if folder is not None else []:
            with suppress(OSError):
                lock = opened_file(str(core), folder)
                if locked(lock, wait=False):
                    return core, lock
                os.close(lock)
    return None, None
