"""A file as a reader sees it: bytes, lines or JSON, and errors that say where.

A file that gzip packed is unpacked. A last line without its end may have been cut in the middle of a number, so
it is left out, with a warning. What lines mean is each format's own file.
"""

import gzip
import hashlib
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from dumbbell import limits
from dumbbell.errors import ImportProblem
from dumbbell.importers.magic import is_capture
from dumbbell.importers.quantity import Unreadable
from dumbbell.visible import check_unicode

__all__ = ["STDIN", "Line", "Source", "open_source"]

STDIN = Path("-")
"""As most commands name standard input."""
PIECE = 1 << 20
MOST_LINE = 100_000
"""Bytes: patterns may take time with the square of a line's length."""


@dataclass(frozen=True)
class Line:
    """A line without its end, and its number, from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Source:
    """One file, read."""

    path: Path
    data: bytes
    """Its content, unpacked."""
    sha256: str
    """Of the file as it lies there."""
    size_bytes: int

    @property
    def name(self) -> str:
        """The file's name without what programs append to it."""
        return self.path.name.removesuffix(".gz").rsplit(".", 1)[0] or self.path.name

    @cached_property
    def is_text(self) -> bool:
        """Is it UTF-8 without control characters that no log has?"""
        try:
            return "\0" not in self.data[:PIECE].decode(
                "utf-8", errors="strict" if len(self.data) <= PIECE else "ignore"
            )
        except UnicodeDecodeError:
            return False

    @cached_property
    def lines(self) -> list[Line]:
        """All finished lines. Raises `ImportProblem` for a line that is not UTF-8, and for too many."""
        self._refuse_long()
        if (count := self.data.count(b"\n")) > limits.most("lines"):
            self.fail(f"{count:,} lines, more than {limits.shown('lines')}", right=_split_it("lines", count))
        if not self.looks_like_json and (longest := _longest(self.data)) > MOST_LINE:
            self.fail(f"a line of {longest:,} bytes, more than {MOST_LINE:,}: no log has such lines")
        return self._split(self.data.split(b"\n")[:-1])

    def through(self, take: Callable[[Line], None]) -> None:
        """Hand in every finished line; what is unreadable in one is an `ImportProblem` that names it."""
        for line in self.lines:
            with self.reading(line.number, line.text):
                take(line)

    @contextmanager
    def reading(self, line: int, text: str | None = None) -> Iterator[None]:
        """The border between a format's reader and the rest: `Unreadable` becomes an error of this file and line."""
        try:
            yield
        except Unreadable as error:
            self.fail(str(error), line=line, value=None if text is None else text.strip())

    @cached_property
    def head(self) -> list[Line]:
        """The first lines, finished or not: what a format is recognised by."""
        pieces = self.data[:PIECE].split(b"\n")[:200]
        return [Line(number, piece.decode("utf-8", "replace").rstrip("\r")) for number, piece in enumerate(pieces, 1)]

    @cached_property
    def unfinished(self) -> str | None:
        """What to say of a last line without an end."""
        last = self.data.rsplit(b"\n", 1)[-1]
        if not last.strip():
            return None
        return f"{self.path}: line {self.data.count(10) + 1} has no end and is left out: it may have been cut"

    @property
    def looks_like_json(self) -> bool:
        """Does it begin as JSON does?"""
        return self.data[:PIECE].lstrip()[:1] in (b"{", b"[")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value. Raises `ImportProblem` with the line where it stops being JSON."""
        self._refuse_long()
        return self.parsed(self.data, 1)

    @cached_property
    def text(self) -> str:
        """The whole file, its last line as it is: for formats that say themselves where they end."""
        self._refuse_long()
        try:
            return self.data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self.fail("not UTF-8", line=self.data[: error.start].count(b"\n") + 1)

    def value(self, begin: int) -> tuple[Any, int]:
        """The JSON value that begins at a place of `text`, and where it ends."""
        try:
            value, end = _DECODER.raw_decode(self.text, begin)
            check_unicode(self.text[begin:end], value)
        except json.JSONDecodeError as error:
            self.fail(f"not JSON from here on: {error.msg}", line=error.lineno, right=WHOLE)
        except (RecursionError, ValueError) as error:
            self.fail(f"no JSON that a log has: {error}", line=self.text.count("\n", 0, begin) + 1)
        return value, int(end)

    def values(self) -> Iterator[tuple[int, Any]]:
        """Every JSON value of a file that holds nothing else, with its line."""
        position, line = 0, 1
        while rest := _BLANK.match(self.text, position):
            line += rest[0].count("\n")
            if rest.end() == len(self.text):
                return
            value, end = self.value(rest.end())
            yield line, value
            line += self.text.count("\n", rest.end(), end)
            position = end

    def parsed(self, data: bytes, line: int) -> Any:
        """JSON that begins at a line."""
        try:
            text = data.decode("utf-8")
            value = json.loads(text, parse_constant=_refuse)
            check_unicode(text, value)
        except json.JSONDecodeError as error:
            self.fail(f"not JSON from here on: {error.msg}", line=line + error.lineno - 1, right=WHOLE)
        except UnicodeDecodeError as error:
            self.fail("not UTF-8", line=line + data[: error.start].count(b"\n"))
        except RecursionError:
            self.fail("nested too deeply for a log", line=line)
        except ValueError as error:
            self.fail(f"not JSON: {error}", line=line)
        return value

    def fail(
        self, problem: str, *, line: int | None = None, place: str = "", value: object = None, right: str = ""
    ) -> NoReturn:
        """Raise an `ImportProblem` about this file."""
        raise ImportProblem(problem, file=str(self.path), line=line, place=place, value=value, right=right)

    def _refuse_long(self) -> None:
        """Text and JSON take many times their size in memory. Raises `ImportProblem`."""
        if (size := len(self.data)) > limits.most("log"):
            self.fail(f"{size:,} bytes of text, more than {limits.shown('log')}", right=_split_it("log", size))

    def _split(self, pieces: list[bytes]) -> list[Line]:
        lines = []
        for number, piece in enumerate(pieces, 1):
            try:
                lines.append(Line(number, piece.decode("utf-8").rstrip("\r")))
            except UnicodeDecodeError:
                self.fail("not UTF-8", line=number)
        return lines


WHOLE = "a JSON log is read whole or not at all: was the program stopped, or the file cut?"


def open_source(path: Path) -> Source:
    """Read a file, or standard input for `-`, which is called `stdin` from then on.

    Raises `ImportProblem` when it can't be read, or is larger than any log may be.
    """
    piped = path == STDIN
    path = Path("stdin") if piped else path
    try:
        packed = limits.read_open(sys.stdin.buffer, "capture") if piped else limits.read(path, "capture")
    except OSError as error:
        raise ImportProblem(f"can't be read: {error.strerror or error}", file=str(path)) from None
    data = _unpacked(packed, path) if packed[:2] == b"\x1f\x8b" else packed
    return Source(path, data, hashlib.sha256(packed).hexdigest(), len(packed))


def _unpacked(packed: bytes, path: Path) -> bytes:
    """Piece by piece: what gzip says of the size it need not keep to."""
    most, made = limits.most("capture"), bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while piece := file.read(PIECE):
                made += piece
                if not is_capture(made):
                    most = min(most, limits.most("log"))
                if len(made) > most:
                    name = "capture" if is_capture(made) else "log"
                    right = _split_it(name, len(made) * 2)
                    raise ImportProblem(f"larger than {limits.shown(name)} when unpacked", file=str(path), right=right)
    except (OSError, EOFError, zlib.error):
        raise ImportProblem("its gzip packing is cut or damaged", file=str(path), right="a whole .gz file") from None
    return bytes(made)


def _longest(data: bytes) -> int:
    """Bytes of the longest line."""
    longest = begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        longest, begin = max(longest, end - begin), end + 1
    return longest


def _split_it(name: str, needed: int) -> str:
    return f"a part of it, {limits.raised(name, needed)}"


_BLANK = re.compile(r"\s*")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
