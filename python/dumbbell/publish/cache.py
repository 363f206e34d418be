"""The folders of the user's cache: what each holds, its size, and how to get it back after `dumbbell cache prune`."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import OutputError
from dumbbell.publish.folders import cache_dir, locked, opened_file, remove

__all__ = ["FOLDERS", "CacheFolder", "Pruned", "cache_folder", "folders_to_prune", "prune"]

LOCK = ".lock"


@dataclass(frozen=True)
class CacheFolder:
    """A folder in the cache."""

    name: str
    holds: str
    regained: str | None = None
    """How its content comes back. None: locks of running commands, never pruned."""
    is_default: bool = True
    """Is it pruned if no folder is named?"""

    @property
    def path(self) -> Path:
        """Where it is, also if it doesn't exist."""
        return cache_dir() / self.name

    def parts(self) -> list[Path]:
        """Its entries; none if it doesn't exist, or is a link: what it leads to is not the cache's."""
        return sorted(self.path.iterdir()) if self.path.is_dir() and not self.path.is_symlink() else []

    def size(self) -> int:
        """Bytes on the disk; files that disappear meanwhile count as 0, and so does a link."""
        return 0 if self.path.is_symlink() else _size(self.path)


FOLDERS = {
    each.name: each
    for each in (
        CacheFolder("kernels", "built kernels", "dumbbell kernel build", is_default=False),
        CacheFolder(
            "build",
            "sources and object files of kernels, reused by `kernel add`, and of unfinished stacks",
            "the next `dumbbell kernel add` takes minutes longer, because it compiles everything again",
        ),
        CacheFolder("stacks", "built QUIC stacks", "dumbbell stack build", is_default=False),
        CacheFolder(
            "git", "commits of repositories from which kernels were built", "`kernel build --git` fetches again"
        ),
        CacheFolder(
            "apt", "package lists of the distribution's newer suites", "`kernel build VERSION` fetches them again"
        ),
        CacheFolder("bisect", "results of `dumbbell bisect`, commit by commit", "`dumbbell bisect` measures again"),
        CacheFolder("sweeps", "rows of earlier sweeps", "`dumbbell sweep` runs these points again"),
        CacheFolder("sent", "files that this cluster worker received", "the next cluster sweep sends them again"),
        CacheFolder("pages", "the script for figures in offline pages", "the next page makes it again"),
        CacheFolder("running", "locks of commands that write results"),
        CacheFolder(f"cores-{os.uname().nodename}", "locks of the cores that runs occupy"),
    )
}
"""Every folder that Dumbbell creates in the cache."""


@dataclass(frozen=True)
class Pruned:
    """What `prune` did to a folder: bytes freed, and the parts that another process is using."""

    name: str
    freed_bytes: int
    busy: tuple[str, ...]


def cache_folder(name: str) -> Path:
    """The path of a declared folder of the cache. Raises KeyError for another name."""
    return FOLDERS[name].path


def folders_to_prune(names: Iterable[str]) -> list[CacheFolder]:
    """The named folders, or all that are pruned by default. Raises OutputError for a name that can't be pruned."""
    possible = [name for name, folder in FOLDERS.items() if folder.regained]
    names = list(dict.fromkeys(names))
    if unknown := [name for name in names if name not in possible]:
        raise OutputError(f"no folder of the cache to prune, got '{unknown[0]}'; there is: {', '.join(possible)}")
    return [FOLDERS[name] for name in possible if name in names or (not names and FOLDERS[name].is_default)]


def prune(folder: CacheFolder) -> Pruned:
    """Remove the content of a folder except what another process has locked (`NAME.lock` next to `NAME`).

    Raises `OutputError` if something can't be removed.
    """
    before, busy = folder.size(), []
    for part in folder.parts():
        if part.suffix != LOCK and not _removed(part):
            busy.append(part.name)
    return Pruned(folder.name, before - folder.size(), tuple(busy))


def _removed(part: Path) -> bool:
    """Remove a part and its lock file. False if another process holds the lock."""
    path = part.with_name(f"{part.name}{LOCK}")
    try:
        if not path.exists():
            _remove(part)
            return True
        lock = opened_file(path)
        try:
            if not locked(lock, wait=False):
                return False
            _remove(part)
            path.unlink()
        finally:
            os.close(lock)
    except OSError as problem:
        raise OutputError(f"{part}: can't be removed: {problem.strerror}; remove it yourself") from problem
    return True


def _remove(part: Path) -> None:
    if part.is_symlink() or not part.is_dir():
        part.unlink(missing_ok=True)
        return
    remove(part)
    if part.exists():
        raise OSError(errno.ENOTEMPTY, "it still has files")


def _size(path: Path) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for file in files:
            with suppress(OSError):
                total += (Path(folder) / file).lstat().st_blocks * 512
    return total
