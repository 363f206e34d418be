"""The user's cache, folders that only this user can enter, and locks on files in them.

A lock or a record in a folder that others may write to can be planted: a link, a pipe, another's file. So they lie in
a folder that belongs to this user with mode 0700, which is opened once, checked by its descriptor, and used by it.
"""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["cache_dir", "opened_file", "private"]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def cache_dir() -> Path:
    """$DUMBBELL_CACHE, else $XDG_CACHE_HOME/dumbbell, else ~/.cache/dumbbell."""
    if ours := os.environ.get("DUMBBELL_CACHE"):
        return Path(ours).absolute()
    if users := os.environ.get("XDG_CACHE_HOME"):
        return Path(users).absolute() / "dumbbell"
    return Path.home() / ".cache" / "dumbbell"


@contextmanager
def private(name: str) -> Iterator[int | None]:
    """A descriptor of the user's private folder of that name: in the cache, else in the temporary directory.

    None where neither can be had: the home is read-only, or another user took the name.
    """
    folder = _trusted(cache_dir() / name)
    if folder is None:
        folder = _trusted(Path(tempfile.gettempdir()) / f"dumbbell-{os.geteuid()}-{name}")
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


def opened_file(name: str | Path, folder: int | None = None) -> int:
    """Open a regular file of this user's to be locked, made where it is missing; waits for no pipe, follows no link.

    Raises `OSError`; `PermissionError` for what is another user's, or no file.
    """
    file = os.open(name, FILE, 0o600, dir_fd=folder)
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_nlink <= 1:
        return file
    os.close(file)
    raise PermissionError(13, "not a plain file of this user", str(name))


def locked(file: int, *, wait: bool) -> bool:
    """Take the lock on an open file; it goes with the descriptor. False when another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _trusted(folder: Path) -> int | None:
    """The folder, made where it is missing, if it is this user's alone."""
    try:
        with suppress(FileExistsError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
        opened = os.open(folder, FOLDER)
    except OSError:
        return None
    about = os.fstat(opened)
    if about.st_uid == os.geteuid() and not about.st_mode & 0o077:
        return opened
    os.close(opened)
    return None
