"""A folder's files and nothing else: no link is followed, nothing outside it reached, only regular files are read."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from dumbbell.errors import OutputError
from dumbbell.transfer.wire import Refusal

__all__ = ["Folder", "Opened"]

STEP = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Opened:
    """An open file."""

    file: int
    size_bytes: int
    tag: str
    """An entity tag: another content has another."""


class Folder:
    """What may be served."""

    def __init__(self, path: Path) -> None:
        try:
            self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise OutputError(f"{path}: no folder to serve files from: {error.strerror}") from error

    def close(self) -> None:
        """No more files."""
        os.close(self._folder)

    @contextmanager
    def open(self, parts: Sequence[str]) -> Iterator[Opened]:
        """A file by the names that lead to it. Raises `Refusal` (404) for whatever isn't a file in this folder."""
        held: list[int] = []
        try:
            yield self._walk(parts, held)
        finally:
            for file in held:
                os.close(file)

    def _walk(self, parts: Sequence[str], held: list[int]) -> Opened:
        try:
            for part in parts[:-1]:
                held.append(os.open(part, STEP | os.O_DIRECTORY, dir_fd=held[-1] if held else self._folder))
            # Without waiting for a pipe's other end.
            held.append(os.open(parts[-1], STEP | os.O_NONBLOCK, dir_fd=held[-1] if held else self._folder))
            found = os.fstat(held[-1])
        except (OSError, ValueError):
            raise _not_there() from None
        if not stat.S_ISREG(found.st_mode):
            raise _not_there()
        return Opened(held[-1], found.st_size, f'"{found.st_mtime_ns:x}-{found.st_size:x}"')


def _not_there() -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
