"""Files below a folder, opened part by part: no link is followed, and only regular files are opened.

Each part is opened in the folder that was opened before it, so nobody can swap a part between check and use. What may
be read of an experiment's or a sweep's folder is `attachments`' affair; `transfer.files` serves files the same way.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from dumbbell.spec.units import Wrong

__all__ = ["opened", "parts_of", "read_below"]

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
PIECE_BYTES = 1 << 20
OUTSIDE = "a file outside the folder of the file that names it"
BESIDE = "put the file itself beside the one that names it, and write its plain name"
_KINDS = (
    (stat.S_ISLNK, "a link, which could lead outside the folder of the file that names it"),
    (stat.S_ISDIR, "a folder, not a file"),
    (stat.S_ISFIFO, "a FIFO, not a regular file"),
    (stat.S_ISSOCK, "a socket, not a regular file"),
    (stat.S_ISREG, "a file, not a folder"),
)
_OTHER = "a device, not a regular file"


def parts_of(name: str) -> tuple[str, ...]:
    """The names that lead to a file below a folder. Raises `Wrong` for a name that leads outside, or nowhere."""
    if "\0" in name:
        raise Wrong("not a file's name: it has a NUL", BESIDE)
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Wrong(OUTSIDE, BESIDE)
    return path.parts


def read_below(folder: Path, name: str, most_bytes: int, otherwise: str = "") -> bytes:
    """The content of a file below a folder. Raises `Wrong`; of a larger one it says what else would do."""
    parts = parts_of(name)
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Wrong(f"its folder can't be opened: {error.strerror}", BESIDE) from None
    try:
        with opened(top, parts) as file:
            return _content(file, most_bytes, otherwise)
    except FileNotFoundError:
        raise Wrong("no such file", f"it must be in {folder.resolve()}") from None
    except (OSError, UnicodeEncodeError) as error:
        raise Wrong(f"can't be read: {getattr(error, 'strerror', None) or error}", BESIDE) from None
    finally:
        os.close(top)


@contextmanager
def opened(folder: int, parts: Sequence[str]) -> Iterator[int]:
    """A regular file below an open folder, as a descriptor. Raises `OSError`, and `Wrong` for another kind of file."""
    held: list[int] = []
    try:
        for part in parts[:-1]:
            at = held[-1] if held else folder
            _check(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode, stat.S_ISDIR)
            held.append(os.open(part, FLAGS | os.O_DIRECTORY, dir_fd=at))
        at = held[-1] if held else folder
        # Before it is opened, for opening a device may already do something.
        _check(os.stat(parts[-1], dir_fd=at, follow_symlinks=False).st_mode, stat.S_ISREG)
        # It may have been swapped since: a FIFO must not keep us waiting, and is refused below.
        held.append(os.open(parts[-1], FLAGS | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=at))
        _check(os.fstat(held[-1]).st_mode, stat.S_ISREG)
        yield held[-1]
    finally:
        for descriptor in held:
            os.close(descriptor)


def _check(mode: int, is_wanted: Callable[[int], bool]) -> None:
    """Raise `Wrong` for another kind of file than the wanted one."""
    if not is_wanted(mode):
        kind = next((problem for is_kind, problem in _KINDS if is_kind(mode)), _OTHER)
        raise Wrong(kind, BESIDE)


def _content(file: int, most_bytes: int, otherwise: str) -> bytes:
    """What is in it, which may grow while it is read."""
    pieces, length = [], 0
    while piece := os.read(file, PIECE_BYTES):
        pieces.append(piece)
        length += len(piece)
        if length > most_bytes:
            right = f"a file of at most {most_bytes:,} bytes"
            raise Wrong(f"more than {most_bytes:,} bytes", f"{right}, {otherwise}" if otherwise else right)
    return b"".join(pieces)
