"""A file for readers: bytes, lines or checked JSON, and errors that name the position.

Unpacks gzip. A last line without its end may be truncated within a number, so it is skipped with a warning. Each
format's module interprets the lines.
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
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell import limits
from dumbbell.control_characters import check_unicode
from dumbbell.errors import ImportProblem
from dumbbell.importers.pasted import command_of, is_prompt, plain_bytes, typed
from dumbbell.importers.quantity import Unreadable
from dumbbell.importers.stamps import Stamp, accumulated, leading_stamp, stamp
from dumbbell.qlog.file import DAMAGED, head_and_tail, pieces

__all__ = [
    "CLASSIC",
    "STDIN",
    "Count",
    "Line",
    "Loose",
    "Real",
    "Source",
    "checked",
    "is_capture",
    "open_pieces",
    "open_source",
]


STDIN = Path("-")
"""The usual name of standard input."""
PIECE = 1 << 20
MOST_LINE = 100_000
"""Bytes; regular expressions may take quadratic time in a line's length."""


@dataclass(frozen=True)
class Line:
    """A line without its end, and its number, from 1."""

    number: int
    text: str
    stamp: Stamp | None = None
    """A time before it that is not the program's own, such as that of `ts`."""


LEAST_PREFIXED = 0.6
"""Share of a log's lines: some programs' own lines go past `ts`."""


@dataclass(frozen=True)
class Source:
    """One file."""

    path: Path
    data: bytes
    """Its content, unpacked."""
    sha256: str
    """Hash of the file as stored."""
    size_bytes: int
    prefixed: bool = False
    """Do times stand before its lines? `lines` then has them apart."""
    before_json: tuple[str, ...] = ()
    """Commands that preceded a JSON document."""
    is_head: bool = False
    """Is `data` only the first bytes of a file that is read in pieces?"""

    @property
    def name(self) -> str:
        """The file's name without suffixes that programs append."""
        return self.path.name.removesuffix(".gz").rsplit(".", 1)[0] or self.path.name

    def pieces(self) -> Iterator[bytes]:
        """The content in pieces, from the file if `data` is only its head. Raises `ImportProblem`."""
        if not self.is_head:
            yield self.data
            return
        yield from pieces(self.path)

    @cached_property
    def lines(self) -> list[Line]:
        """All complete lines. Raises `ImportProblem` for a line that is not UTF-8, and for too many."""
        self._refuse_long()
        if (count := self.data.count(b"\n")) > limits.most("lines"):
            self.fail(f"{count:,} lines exceed {limits.shown('lines')}", right=_split_it("lines", count))
        if not self.detect_json and (longest := _longest(self.data)) > MOST_LINE:
            self.fail(f"a line of {longest:,} bytes exceeds {MOST_LINE:,}")
        lines = [line for line in self._split(self.data.split(b"\n")[:-1]) if not typed(line.text)]
        return _summed([_apart(line) for line in lines]) if self.prefixed else lines

    @cached_property
    def commands(self) -> list[str]:
        """Commands that were pasted together with their output."""
        found = [command for line in self.raw_head if (command := command_of(line.text)) is not None]
        return [*self.before_json, *found]

    @cached_property
    def without_prefixes(self) -> "Source | None":
        """The file with the times before its lines apart; None if few lines have one."""
        lines = [line for line in self.raw_head if line.text.strip() and not typed(line.text)]
        parted = [_apart(line) for line in lines]
        count = sum(line.stamp is not None and bool(line.text.strip()) for line in parted)
        return replace(self, prefixed=True) if count >= max(2, LEAST_PREFIXED * len(lines)) else None

    def through(self, take: Callable[[Line], None]) -> None:
        """Pass every complete line to `take`; an unreadable one is an `ImportProblem` with its number."""
        for line in self.lines:
            with self.reading(line.number, line.text):
                take(line)

    @contextmanager
    def reading(self, line: int, text: str | None = None) -> Iterator[None]:
        """Convert `Unreadable` from a format's reader to an error with this file and line."""
        try:
            yield
        except Unreadable as error:
            self.fail(str(error), line=line, value=None if text is None else text.strip())

    @cached_property
    def head(self) -> list[Line]:
        """The first lines, complete or not, for format recognition."""
        lines = [line for line in self.raw_head if not typed(line.text)]
        return [_apart(line) for line in lines] if self.prefixed else lines

    @cached_property
    def raw_head(self) -> list[Line]:
        """The first lines as they are in the file."""
        pieces = self.data[:PIECE].split(b"\n")[:200]
        return [Line(number, piece.decode("utf-8", "replace").rstrip("\r")) for number, piece in enumerate(pieces, 1)]

    @cached_property
    def unfinished(self) -> str | None:
        """A warning about a last line without an end."""
        last = self.data.rsplit(b"\n", 1)[-1]
        if not last.strip():
            return None
        return f"{self.path}: skipped line {self.data.count(10) + 1}: it has no line end and may be truncated"

    @property
    def detect_json(self) -> bool:
        """Does it start like JSON?"""
        # `[ ID]` of iperf and `[1731000000.1]` of ping are no arrays.
        return _JSON.match(self.data[:PIECE]) is not None

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value. Raises `ImportProblem` with the line of the first error."""
        self._refuse_long()
        return self.parsed(self.data, 1)

    @cached_property
    def text(self) -> str:
        """The whole file including an incomplete last line, for formats with their own end marks."""
        self._refuse_long()
        try:
            return self.data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self.fail("not UTF-8", line=self.data[: error.start].count(b"\n") + 1)

    def value(self, begin: int) -> tuple[Any, int]:
        """The JSON value at a position of `text`, and its end."""
        try:
            value, end = _DECODER.raw_decode(self.text, begin)
            check_unicode(self.text[begin:end], value)
        except json.JSONDecodeError as error:
            self.fail(f"invalid JSON: {error.msg}", line=error.lineno, right=COMPLETE)
        except (RecursionError, ValueError) as error:
            self.fail(f"unsupported JSON: {error}", line=self.text.count("\n", 0, begin) + 1)
        return value, int(end)

    def values(self) -> Iterator[tuple[int, Any]]:
        """All JSON values of a file that contains nothing else, with their lines."""
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
        """Parse JSON that starts at a line."""
        try:
            text = data.decode("utf-8")
            value = json.loads(text, parse_constant=_refuse)
            check_unicode(text, value)
        except json.JSONDecodeError as error:
            self.fail(f"invalid JSON: {error.msg}", line=line + error.lineno - 1, right=COMPLETE)
        except UnicodeDecodeError as error:
            self.fail("not UTF-8", line=line + data[: error.start].count(b"\n"))
        except RecursionError:
            self.fail("nested too deeply", line=line)
        except ValueError as error:
            self.fail(f"invalid JSON: {error}", line=line)
        return value

    def fail(
        self, problem: str, *, line: int | None = None, place: str = "", value: object = None, right: str = ""
    ) -> NoReturn:
        """Raise an `ImportProblem` about this file."""
        raise ImportProblem(problem, file=str(self.path), line=line, place=place, value=value, right=right)

    def _refuse_long(self) -> None:
        """Text and JSON take many times their size in memory. Raises `ImportProblem`."""
        if (size := len(self.data)) > limits.most("log"):
            self.fail(f"{size:,} bytes of text exceed {limits.shown('log')}", right=_split_it("log", size))

    def _split(self, pieces: list[bytes]) -> list[Line]:
        lines = []
        for number, piece in enumerate(pieces, 1):
            try:
                # A terminal echoes Ctrl-C before what a program still prints.
                lines.append(Line(number, piece.decode("utf-8").rstrip("\r").removeprefix("^C")))
            except UnicodeDecodeError:
                self.fail("not UTF-8", line=number)
        return lines


COMPLETE = "complete JSON: was the program stopped, or the file truncated?"


def open_source(path: Path) -> Source:
    """Read a file, or standard input for `-`, which is then called `stdin`.

    Raises `ImportProblem` when it can't be read, or is too large.
    """
    piped = path == STDIN
    path = Path("stdin") if piped else path
    try:
        packed = limits.read_open(sys.stdin.buffer, "capture") if piped else limits.read(path, "capture")
    except OSError as error:
        raise ImportProblem(f"can't be read: {error.strerror or error}", file=str(path)) from None
    data = _unpacked(packed, path) if packed[:2] == b"\x1f\x8b" else packed
    commands: tuple[str, ...] = ()
    if not is_capture(data):
        data, commands = _before_json(plain_bytes(data))
    return Source(path, data, hashlib.sha256(packed).hexdigest(), len(packed), before_json=commands)


def open_pieces(path: Path, fits: Callable[[bytes, bytes], bool]) -> Source | None:
    """A file that is read in pieces, if its first and last bytes fit; its size has no limit.

    None for standard input too, which can be read only once. Raises `ImportProblem` when it can't be read.
    """
    if path == STDIN or not path.is_file():
        return None
    head, tail = head_and_tail(path)
    if not fits(head, tail):
        return None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return Source(path, head, digest.hexdigest(), path.stat().st_size, is_head=True)


def _before_json(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The commands that precede a JSON document, and the data with blank lines in their place."""
    commands, at = [], 0
    while at < len(data) and at < PIECE:
        end = data.find(b"\n", at) + 1 or len(data)
        text = data[at:end].decode("utf-8", "replace").strip()
        if (command := command_of(text)) is not None:
            commands.append(command)
        elif text:
            break
        at = end
    if not commands or not _JSON.match(data[at : at + PIECE]):
        return data, ()
    body = data[at:].rstrip()
    last = body.rfind(b"\n")
    if last > 0 and is_prompt(body[last:].decode("utf-8", "replace")):
        body = body[:last]
    return b"\n" * data.count(b"\n", 0, at) + body + b"\n", tuple(commands)


def _unpacked(packed: bytes, path: Path) -> bytes:
    """Unpack in pieces, because the size in a gzip file is not reliable."""
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
                    raise ImportProblem(f"exceeds {limits.shown(name)} when unpacked", file=str(path), right=right)
    except (OSError, EOFError, zlib.error):
        raise ImportProblem(DAMAGED, file=str(path), right="a complete .gz file") from None
    return bytes(made)


def _apart(line: Line) -> Line:
    found = leading_stamp(line.text, since=True)
    if found is None:
        # A blank line that went past `ts`.
        alone = stamp(line.text)
        return line if alone is None else Line(line.number, "", alone)
    return Line(line.number, found[1], found[0])


def _summed(lines: list[Line]) -> list[Line]:
    """Lines whose times are those since the line before (`ts -i`), with times since the first."""
    stamps = accumulated([line.stamp for line in lines])
    return [replace(line, stamp=each) for line, each in zip(lines, stamps, strict=True)]


def _longest(data: bytes) -> int:
    """Bytes of the longest line."""
    longest = begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        longest, begin = max(longest, end - begin), end + 1
    return longest


def _split_it(name: str, needed: int) -> str:
    return f"a part of it, {limits.raised(name, needed)}"


_BLANK = re.compile(r"\s*")
_JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\]])")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Magic numbers with their byte order and the unit of a timestamp's fraction in nanoseconds."""


def is_capture(data: bytes | bytearray) -> bool:
    """Does it start with a capture's magic number?"""
    return bytes(data[:4]) in CLASSIC or data[:4] == b"\x0a\x0d\x0d\x0a"


MOST = 2**62

Count = Annotated[int, Field(ge=0, le=MOST)]
"""A non-negative integer."""
Real = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
"""A non-negative number."""


class Loose(BaseModel):
    """A model of the keys that we read; others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], value: Any, source: Source, what: str, line: int | None = None) -> Model:
    """The validated value. Raises `ImportProblem` for the first invalid key."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        source.fail(f"not valid {what}: {first['msg']}", line=line, place=place, value=first["input"])
