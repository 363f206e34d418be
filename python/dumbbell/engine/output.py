"""A result folder that appears whole or not at all.

Everything is written into a hidden folder beside the wanted one, which takes its name at the end. A
lock in it tells a run that still lives from one that was cut off. Whoever starts in the same place removes what those
left that were cut off there.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dumbbell.errors import OutputError

__all__ = ["captured", "staged"]

SIGN = "dumbbell: a run that is not done\n"
"""In the lock of a folder of our making; none other is ever swept."""


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A private folder that becomes `out` when the block ends well, and is removed when not.

    Raises `OutputError` when `out` exists, is being written by another run, or can't be written.
    """
    staging = out.parent / f".{out.name}.running"
    lock = None
    try:
        _refuse_taken(out)
        lock = _begun(staging, out)
        with lock:
            _empty(staging)
            yield staging
            _publish(staging, out)
    except OSError as error:
        raise _explained(error, out) from error
    finally:
        if lock is not None:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def captured(file: Path | None) -> Iterator[Path | None]:
    """A hidden file beside `file` that takes its name when the block ends well, and is removed when not."""
    if file is None:
        yield None
        return
    _refuse_taken(file)
    running = file.with_name(f".{file.name}.running")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield running
        running.replace(file)
    except OSError as error:
        raise _explained(error, file) from error
    finally:
        running.unlink(missing_ok=True)


def _refuse_taken(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise OutputError(
            f"{out}: exists already; results are never overwritten: name another folder with --out, or remove it"
        )


def _begun(staging: Path, out: Path) -> IO[str]:
    """Make the folder, and take its lock; an interrupt meanwhile leaves nothing."""
    out.parent.mkdir(parents=True, exist_ok=True)
    is_new, lock = False, None
    try:
        with _alone(out.parent):
            is_new = not staging.exists()
            staging.mkdir(exist_ok=True)
            lock = (staging / ".lock").open("a+")
            _claim(lock, out)
            lock.write(SIGN)
            lock.flush()
            _sweep(out.parent)
    except BaseException:
        if is_new:
            shutil.rmtree(staging, ignore_errors=True)
        if lock is not None:
            lock.close()
        raise
    return lock


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else begins or sweeps here meanwhile: between a folder's making and its lock it looks as if cut off."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove what runs of ours left that were cut off: folders of our making with a lock that nobody holds."""
    for lock in folder.glob(".*.running/.lock"):
        try:
            if lock.stat().st_uid != os.geteuid():
                continue
            with lock.open("r+") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if held.read().startswith(SIGN):
                    shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # Somebody holds it, or it has just gone.


def _claim(lock: IO[str], out: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{out}: another run is writing there now; name another folder with --out") from None


def _empty(staging: Path) -> None:
    """Remove what a run that was cut off left."""
    for left in staging.iterdir():
        if left.name == ".lock":
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _publish(staging: Path, out: Path) -> None:
    (staging / ".lock").unlink()
    try:
        os.rename(staging, out)  # noqa: PTH104 — Path.rename would do the same; this one's errors are documented
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise OutputError(
                f"{out}: appeared during the run; nothing was overwritten, and this run's result is gone"
            ) from None
        raise


def _explained(error: OSError, out: Path) -> OutputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(f"{out}: the disk is full; the run left nothing behind")
    return OutputError(f"{out}: can't be written: {error.strerror or error}")
