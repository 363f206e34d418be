"""Write folders and files atomically and safely, even in folders where others may write.

```text
staged     a new folder: run, sweep, import, export
captured   a new file: a capture, an export
replaced   a new or existing file: a page, a figure
scratch    a temporary private folder
temporary  one in the temporary directory
```

Data is written into a hidden folder of mode 0700 next to the target. Its path uses this process's descriptor of that
folder (`/proc/PID/fd/N`), so a link planted by another user is never followed.
"""

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import OutputError
from dumbbell.publish.folders import cache_dir, remove, synced_with_all
from dumbbell.publish.staging import BusyError, Stage, clean, staging, sync_later

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
    "temporary",
    "write",
]

APPEARED = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A private folder that becomes `out` if the block succeeds, and is removed otherwise.

    Raises `OutputError` if `out` exists, is being written by another run, or can't be written.
    """
    with _new(out) as (stage, path):
        path.mkdir()
        yield path
        _publish(stage, out)


@contextmanager
def captured(file: Path | None) -> Iterator[Path | None]:
    """A private path that becomes the new file `file` if the block succeeds. Raises as `staged` does."""
    if file is None:
        yield None
        return
    with _new(file) as (stage, path):
        yield path
        _publish(stage, file)


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A private path that becomes `file` if the block succeeds, replacing an existing file or link.

    Devices are written directly. Raises `OutputError` for other non-files, and if the file can't be written.
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
        raise OutputError(f"{file}: being written by another command; wait for it, or choose another file") from None
    except OSError as error:
        raise explained(error, file, "nothing was changed") from error


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """A private folder at `place`, or under another name if that is taken; removed at the end.

    Raises `OSError`.
    """
    with staging(place, parents=False, called=place.name) as stage:
        yield stage.path


@contextmanager
def temporary(name: str) -> Iterator[Path]:
    """A private folder in the temporary directory; what a killed command left there is removed by the next one.

    Raises `OSError`.
    """
    with scratch(Path(tempfile.gettempdir()) / f"dumbbell-{name}-{secrets.token_hex(4)}") as folder:
        yield folder


def write(file: Path, content: bytes) -> None:
    """Write a file atomically. Raises `OutputError`."""
    with replaced(file) as path:
        path.write_bytes(content)


def explained(error: OSError, out: Path, left: str = "") -> OutputError:
    """Convert a system error; `left` describes the state after a full disk."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(f"{out}: the disk is full" + (f"; {left}" if left else ""))
    return OutputError(f"{out}: can't be written: {error.strerror or error}")


@contextmanager
def _new(out: Path) -> Iterator[tuple[Stage, Path]]:
    try:
        if os.path.lexists(out):
            raise OutputError(
                f"{out}: exists already; results are never overwritten: choose another folder with --out, or remove it"
            )
        with staging(out) as stage:
            yield stage, stage.path / out.name
    except BusyError:
        raise OutputError(f"{out}: being written by another run; choose another folder with --out") from None
    except OSError as error:
        raise explained(error, out, "nothing was written") from error


def _publish(stage: Stage, out: Path) -> None:
    try:
        stage.publish()
    except OSError as error:
        if error.errno in APPEARED:
            raise OutputError(
                f"{out}: was created by another program during the run; it was not overwritten, "
                "and this run's result is lost"
            ) from None
        raise


def _is_device(file: Path) -> bool:
    """Is it a device or descriptor path of the system: /dev/stdout, /dev/fd/63, /dev/null?"""
    if not os.path.abspath(file).startswith(("/dev/", "/proc/")):  # noqa: PTH100 — resolve() would follow the link
        return False
    return os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode)


def _refuse_no_file(file: Path) -> None:
    if not os.path.lexists(file):
        return
    mode = file.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device"
        raise OutputError(f"{file}: can't be written: it is {what}; choose a file")
