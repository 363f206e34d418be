"""Parse requests (RFC 9110, RFC 9112; h11 does the framing), and find the files that they ask for."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dumbbell.errors import OutputError
from dumbbell.spec.attachments import opened
from dumbbell.spec.units import Wrong, duration_ns, size_bytes

__all__ = [
    "CC",
    "SAMPLE",
    "STATS",
    "Folder",
    "Opened",
    "ParsedRequest",
    "Refusal",
    "byte_range",
    "parse_request",
    "path_parts",
    "requested_size",
]


CC = "Dumbbell-CC"
"""Request field: the requested congestion control. Response field: the one in use."""
SAMPLE = "Dumbbell-Sample"
"""Request field: the sample interval."""
STATS = "Dumbbell-Stats"
"""Response field: the path of its statistics."""
SHORTEST_SAMPLE_NS = 10_000_000
MOST_FIELDS = 16
_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,15}\Z", re.ASCII)
_RANGE = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*\Z", re.ASCII | re.IGNORECASE)


class Refusal(Exception):
    """A refused request: the status and the reason."""

    def __init__(self, status: HTTPStatus, why: str, fields: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.why = why
        self.fields = dict(fields or {})
        super().__init__(f"{status.value} {why}")


@dataclass(frozen=True)
class ParsedRequest:
    """A request."""

    method: str
    path: str
    """Percent-encoded."""
    query: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name."""

    @property
    def cc(self) -> str | None:
        """The requested congestion control. Raises `Refusal` for an invalid name."""
        name = self.query.get("cc", self.fields.get(CC.lower()))
        if name is not None and not _NAME.match(name):
            raise Refusal(HTTPStatus.BAD_REQUEST, f"{name[:40]!r} is not a valid name of a congestion control")
        return name

    @property
    def sample_ns(self) -> int | None:
        """The requested sample interval. Raises `Refusal`."""
        text = self.query.get("sample", self.fields.get(SAMPLE.lower()))
        if text is None:
            return None
        try:
            interval_ns = duration_ns(text)
        except Wrong as wrong:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"sample: {wrong}") from None
        return max(interval_ns, SHORTEST_SAMPLE_NS)


def parse_request(method: bytes, target: bytes, fields: Iterable[tuple[bytes, bytes]]) -> ParsedRequest:
    """A request line and its fields, whose names h11 gives in lower case.

    Raises `Refusal` for an invalid target.
    """
    named: dict[str, str] = {}
    for key, value in fields:
        named.setdefault(key.decode("ascii"), value.decode("latin-1"))
    try:
        split = urlsplit(target.decode("ascii"))
        query = dict(parse_qsl(split.query, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the request's target is invalid") from None
    if not split.path.startswith("/"):
        raise Refusal(HTTPStatus.BAD_REQUEST, "the request's target is not a path")
    return ParsedRequest(method.decode("ascii"), split.path, query, named)


def requested_size(word: str, most_bytes: int) -> int:
    """The size in `/bytes/61MB`. Raises `Refusal` if it is invalid or above the limit."""
    try:
        size = size_bytes(unquote(word, errors="strict"))
    except (Wrong, UnicodeDecodeError) as wrong:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"/bytes/{word[:40]}: {wrong}") from None
    if size > most_bytes:
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"requested {size} bytes, the limit is {most_bytes}")
    return size


def byte_range(request: ParsedRequest, size: int, tag: str) -> tuple[int, int] | None:
    """The first byte and the one after the last; None: all bytes.

    Several ranges, other units and invalid ranges are ignored, as RFC 9110 section 14.2 permits. Raises `Refusal` (416)
    for an empty range (section 15.5.17).
    """
    text = request.fields.get("range")
    match = None if text is None else _RANGE.match(text)
    if match is None or not (match[1] or match[2]) or request.fields.get("if-range", tag) != tag:
        return None
    if match[1]:
        first, stop = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
        if match[2] and int(match[2]) < first:
            return None  # Section 14.1.1: invalid, so ignored.
    else:
        first, stop = max(0, size - int(match[2])), size
    if first >= stop:
        why = f"the range {text} has none of the {size} bytes"
        raise Refusal(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, why, {"Content-Range": f"bytes */{size}"})
    return first, stop


def path_parts(path: str) -> list[str]:
    """The decoded components of a path. Raises `Refusal` if one is empty, hidden, or contains a separator."""
    try:
        parts = [unquote(part, errors="strict") for part in path.split("/")]
    except UnicodeDecodeError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the path is not UTF-8") from None
    if any(not part or part.startswith(".") or "/" in part or "\0" in part for part in parts):
        raise Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
    return parts


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
