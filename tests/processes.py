"""Processes by their current folder."""

from contextlib import suppress
from pathlib import Path


def processes_in(folder: Path) -> list[int]:
    """PIDs of the processes whose current folder is or was below this folder, even if it has been deleted."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((entry / "cwd").readlink()).startswith(str(folder)):
                found.append(int(entry.name))
    return sorted(found)
