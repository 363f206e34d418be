"""The user's cache, private folders of this user, and locks on files in them.

In a folder that others can write to, they could plant a lock or record file: a link, a pipe, their own file. So these
files are in a folder of this user with mode 0700, which is opened once, then checked and used by its descriptor.
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
    """A descriptor of the user's private folder of that name, in the cache or else in the temporary directory.

    None if neither is possible: the home is read-only, and another user took the name.
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
    """Open or create a regular file of this user for locking; doesn't follow links or block on pipes.

    Raises `OSError`; `PermissionError` for another user's file or a non-file.
    """
    file = os.open(name, FILE, 0o600, dir_fd=folder)
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_nlink <= 1:
        return file
    os.close(file)
    raise PermissionError(13, "not a plain file of this user", str(name))


def locked(file: int, *, wait: bool) -> bool:
    """Lock an open file until its descriptor is closed. False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _trusted(folder: Path) -> int | None:
    """Open or create the folder; None unless it belongs to this user alone."""
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
