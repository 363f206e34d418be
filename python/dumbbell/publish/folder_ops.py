"""Remove, sync and rename folders by descriptor, without following links or entering mount points."""

import ctypes
import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["emptied", "move", "remove", "synced", "synced_with_all"]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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
