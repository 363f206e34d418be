"""Folders by descriptor, without following links: remove, sync, rename; private ones of this user, and locks.

In a folder that others can write to, they could plant a lock or record file: a link, a pipe, their own file. So these
files are in a folder of this user with mode 0700, which is opened once, then checked and used by its descriptor.
"""

import ctypes
import errno
import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["cache_dir", "emptied", "move", "opened_file", "private", "remove", "synced", "synced_with_all"]


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
    file = os.open(name, LOCK_FILE, 0o600, dir_fd=folder)
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


FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NO_REPLACE = 1
"""RENAME_NOREPLACE of linux/fs.h."""


def remove(path: Path) -> None:
    """Remove a folder and its content, as far as possible."""
    with suppress(OSError):
        folder = os.open(path, FOLDER)
        try:
            emptied(folder)
        finally:
            os.close(folder)
        path.rmdir()


def emptied(folder: int, keep: str = "") -> None:
    """Remove a folder's content except `keep`, as far as possible.

    Subfolders are moved up to `folder` before they are opened. So two descriptors suffice at any depth, and a mount
    point, which can't be moved, is never entered.
    """
    while True:
        names = [name for name in os.listdir(folder) if name != keep]
        if not [name for name in names if _removed(folder, name)]:
            return


def _removed(folder: int, name: str) -> bool:
    """Remove an entry; returns whether there was progress."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)
        return True
    aside = f".{secrets.token_hex(8)}"
    try:
        _make_enterable(folder, name)
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        inner = os.open(aside, FOLDER, dir_fd=folder)
    except OSError:
        return False
    try:
        further = [each for each in os.listdir(inner) if _raised(inner, each, folder)]  # noqa: PTH208 — by descriptor
    finally:
        os.close(inner)
    with suppress(OSError):
        os.rmdir(aside, dir_fd=folder)
        return True
    return bool(further)


def _raised(inner: int, name: str, folder: int) -> bool:
    """Remove a file, or move a folder up."""
    with suppress(OSError):
        os.unlink(name, dir_fd=inner)
        return True
    with suppress(OSError):
        _make_enterable(inner, name)
        os.rename(name, f".{secrets.token_hex(8)}", src_dir_fd=inner, dst_dir_fd=folder)
        return True
    return False


def _make_enterable(folder: int, name: str) -> None:
    """Make a folder accessible to its owner; a program may have removed the permission."""
    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o700 == 0o700:
        return
    inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{inner}", 0o700)  # noqa: PTH101 — fchmod takes no O_PATH
    finally:
        os.close(inner)


def synced(folder: int, name: str) -> None:
    """Sync a file, or a folder with its content, so that a crash after a rename leaves no empty file."""
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(about.st_mode):
        for _, _, files, inner in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
            for file in files:
                synced(inner, file)
            os.fsync(inner)
    elif stat.S_ISREG(about.st_mode):
        file_ = os.open(name, FILE, dir_fd=folder)
        try:
            os.fsync(file_)
        finally:
            os.close(file_)


def synced_with_all(folder: Path) -> None:
    """Sync the whole file system of a folder, once for any number of files. Raises `OSError`."""
    opened = os.open(folder, FOLDER)
    try:
        if _LIBC.syncfs(opened) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(opened)


def move(name: str, source: int, target: int, *, replace: bool) -> None:
    """Rename between two folders. Without `replace`, raises `FileExistsError` if the name exists."""
    if replace:
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
        return
    encoded = os.fsencode(name)
    if _renameat2 is not None and _renameat2(source, encoded, target, encoded, NO_REPLACE) == 0:
        return
    number = ctypes.get_errno() if _renameat2 is not None else errno.ENOSYS
    if number not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(number, os.strerror(number), name)
    _move_slowly(name, source, target)


def _move_slowly(name: str, source: int, target: int) -> None:
    """For file systems without RENAME_NOREPLACE: link fails on an existing name, rename on a non-empty folder."""
    if stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
        return
    os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    os.unlink(name, dir_fd=source)


_LIBC = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_LIBC, "renameat2", None)
if _renameat2 is not None:
    _renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
