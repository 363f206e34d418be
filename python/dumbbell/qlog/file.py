"""A qlog as a file that is read in pieces, gzipped or not: a stack writes a megabyte a second."""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol

from dumbbell.errors import ImportProblem

__all__ = ["DAMAGED", "EVENTS", "HEAD", "QlogFile", "QlogSource", "head_and_tail", "is_qlog", "pieces"]

HEAD = 65536
PIECE = 1 << 20
EVENTS = re.compile(rb'"events"\s*:\s*\[')
OURS = b'"dumbbell":'
"""A key of every manifest: a run that `dumbbell export` wrote may have been a qlog."""
MARKS = (b'"qlog_version"', b'"qlog_format"', b"urn:ietf:params:qlog")
DAMAGED = "its gzip data is truncated or damaged"


class QlogSource(Protocol):
    """What the readers of a qlog need."""

    @property
    def path(self) -> Path:
        """The file, for messages."""
        ...

    @property
    def data(self) -> bytes:
        """The first bytes at least."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """The content from its begin. Raises `ImportProblem`."""
        ...

    def fail(
        self, problem: str, *, line: int | None = None, place: str = "", value: object = None, right: str = ""
    ) -> NoReturn:
        """Raise an `ImportProblem` about this file."""
        ...


class QlogFile:
    """A file as a `QlogSource`."""

    def __init__(self, path: Path) -> None:
        """Raises `ImportProblem` when it can't be read."""
        self.path = path
        self.data, _ = head_and_tail(path)

    def pieces(self) -> Iterator[bytes]:
        """See `QlogSource`."""
        return pieces(self.path)

    def fail(
        self, problem: str, *, line: int | None = None, place: str = "", value: object = None, right: str = ""
    ) -> NoReturn:
        """See `QlogSource`."""
        raise ImportProblem(problem, file=str(self.path), line=line, place=place, value=value, right=right)


def is_qlog(head: bytes, tail: bytes) -> bool:
    """Do these first and last bytes say that they are of a qlog?"""
    head = head[:8192]
    if OURS in head:
        return False
    if any(mark in head for mark in MARKS):
        return re.match(rb"\s*\x1e?\s*\{", head) is not None
    # What surrounds the events may stand behind them.
    return head[:1] == b"{" and EVENTS.search(head) is not None and MARKS[0] in tail


def pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, unpacked. Raises `ImportProblem` when it can't be read."""
    with _reading(path), _opened(path) as file:
        while piece := file.read(PIECE):
            yield piece


def head_and_tail(path: Path) -> tuple[bytes, bytes]:
    """The first bytes of a file, unpacked, and its last ones if it is not packed. Raises `ImportProblem`."""
    with _reading(path):
        with _opened(path) as file:
            head = file.read(HEAD)
        if _is_packed(path):
            return head, b""
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - HEAD, 0))
            return head, file.read(HEAD)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _opened(path: Path) -> BinaryIO:
    return gzip.open(path) if _is_packed(path) else path.open("rb")  # type: ignore[return-value]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert errors of files and of gzip."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ImportProblem(DAMAGED, file=str(path), right="a complete .gz file") from None
    except OSError as error:
        raise ImportProblem(f"can't be read: {error.strerror or error}", file=str(path)) from None
