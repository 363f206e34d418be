"""Serve regular files of a folder; links and paths outside it are refused."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from dumbbell.errors import OutputError
from dumbbell.spec.beneath import opened
from dumbbell.transfer.http_request import Refusal

__all__ = ["Folder", "Opened"]


@dataclass(frozen=True)
class Opened:
    """An open file."""

    file: int
    size_bytes: int
    tag: str
    """Entity tag, from size and modification time."""


class Folder:
    """The served folder."""

    def __init__(self, path: Path) -> None:
        try:
            self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise OutputError(f"{path}: can't be served: {error.strerror}") from error

    def close(self) -> None:
        """Close the folder."""
        os.close(self._folder)

    @contextmanager
    def open(self, parts: Sequence[str]) -> Iterator[Opened]:
        """Open a file by its path's components. Raises `Refusal` (404) for anything else."""
        with ExitStack() as stack:
            try:
                file = stack.enter_context(opened(self._folder, parts))
                found = os.fstat(file)
            except (OSError, ValueError):
                raise _no_such_file() from None
            yield Opened(file, found.st_size, f'"{found.st_mtime_ns:x}-{found.st_size:x}"')


def _no_such_file() -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
