"""Results as folders and files that appear whole or not at all, whoever else may write in the same place.

```text
staged     a new folder: run, sweep, import, export
captured   a new file: a capture, an export
replaced   a file that may be there already: a page, a figure
scratch    a private folder that goes at the end
staging    how: written aside in a folder that only we may enter, then renamed; what was cut off is removed
records    which folders of that kind this user has made: in the private folder, so that nobody else can claim one
private    the user's cache and private folders, and locks in them
tree       removing, syncing and renaming by directory descriptors
```

What is being written lies beside its place in a hidden folder of mode 0700. Its path leads through this process's
descriptor of that folder (`/proc/PID/fd/N`), so nothing that anybody plants or swaps by name is ever written through.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import OutputError
from dumbbell.publish.private import cache_dir
from dumbbell.publish.records import BusyError
from dumbbell.publish.staging import Stage, clean, staging, sync_later
from dumbbell.publish.tree import remove, synced_with_all

__all__ = [
    "cache_dir",
    "captured",
    "clean",
    "explained",
    "remove",
    "replaced",
    "scratch",
    "staged",
    "sync_later",
    "synced_with_all",
    "write",
]

APPEARED = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A private folder that becomes `out` when the block ends well, and is removed when not.

    Raises `OutputError` when `out` exists, is being written by another run, or can't be written.
    """
    with _new(out) as (stage, path):
        path.mkdir()
        yield path
        _publish(stage, out)


@contextmanager
def captured(file: Path | None) -> Iterator[Path | None]:
    """A private path that becomes the new file `file` when the block ends well. Raises as `staged` does."""
    if file is None:
        yield None
        return
    with _new(file) as (stage, path):
        yield path
        _publish(stage, file)


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A private path that becomes `file` when the block ends well; a file or a link that is there gives way.

    A device is written as it is. Raises `OutputError` for what else is no file, and where it can't be written.
    """
    try:
        if _is_device(file):
            yield file
            return
        _refuse_no_file(file)
        with staging(file, parents=False) as stage:
            yield stage.path / file.name
            stage.publish(replace=True)
    except BusyError:
        raise OutputError(f"{file}: another command is writing it now; wait for it, or name another file") from None
    except OSError as error:
        raise explained(error, file, "nothing was changed") from error


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """A private folder in an existing one, called as `place` where that is free; it is removed at the end.

    Raises `OSError`.
    """
    with staging(place, parents=False, called=place.name) as stage:
        yield stage.path


def write(file: Path, content: bytes) -> None:
    """Write a whole file, or leave what was there. Raises `OutputError`."""
    with replaced(file) as path:
        path.write_bytes(content)


def explained(error: OSError, out: Path, left: str = "") -> OutputError:
    """The system's error in our words; `left` says what a full disk leaves."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(f"{out}: the disk is full" + (f"; {left}" if left else ""))
    return OutputError(f"{out}: can't be written: {error.strerror or error}")


@contextmanager
def _new(out: Path) -> Iterator[tuple[Stage, Path]]:
    try:
        if os.path.lexists(out):
            raise OutputError(
                f"{out}: exists already; results are never overwritten: name another folder with --out, or remove it"
            )
        with staging(out) as stage:
            yield stage, stage.path / out.name
    except BusyError:
        raise OutputError(f"{out}: another run is writing there now; name another folder with --out") from None
    except OSError as error:
        raise explained(error, out, "the run left nothing behind") from error


def _publish(stage: Stage, out: Path) -> None:
    try:
        stage.publish()
    except OSError as error:
        if error.errno in APPEARED:
            raise OutputError(
                f"{out}: appeared during the run; nothing was overwritten, and this run's result is gone"
            ) from None
        raise


def _is_device(file: Path) -> bool:
    """A way to a descriptor or a device that the system has put there: /dev/stdout, /dev/fd/63, /dev/null."""
    if not os.path.abspath(file).startswith(("/dev/", "/proc/")):  # noqa: PTH100 — resolve() would follow the link
        return False
    return os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode)


def _refuse_no_file(file: Path) -> None:
    if not os.path.lexists(file):
        return
    mode = file.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        what = "a folder" if stat.S_ISDIR(mode) else "no file (a pipe, a socket or a device)"
        raise OutputError(f"{file}: can't be written: it is {what}; name a file")
