"""HTTP messages (RFC 9110, RFC 9112): requests parsed, with the files that they ask for; responses read.

h11 does the framing. A response's body bytes are counted and discarded. A body delimited by its length or by the end of
the connection bypasses h11, so that its bytes need not be copied.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import h11

from dumbbell import __version__
from dumbbell.errors import OutputError, TransferError
from dumbbell.spec.attachments import opened
from dumbbell.spec.units import Wrong, duration_ns, size_bytes
from dumbbell.transfer.channel import Channel

__all__ = [
    "CC",
    "SAMPLE",
    "STATS",
    "Folder",
    "Head",
    "Opened",
    "ParsedRequest",
    "Reading",
    "Refusal",
    "Target",
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


def requested_size(word: str, max_bytes: int) -> int:
    """The size in `/bytes/61MB`. Raises `Refusal` if it is invalid or above the limit."""
    try:
        size = size_bytes(unquote(word, errors="strict"))
    except (Wrong, UnicodeDecodeError) as wrong:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"/bytes/{word[:40]}: {wrong}") from None
    if size > max_bytes:
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"requested {size} bytes, the limit is {max_bytes}")
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


READ_BYTES = 1 << 18
HEAD_BYTES = 1 << 12
"""Read size until the head is complete, so that h11 buffers little of the body."""
MOST_HEAD_BYTES = 65_536
MOST_PAGE_BYTES = 16_000_000


@dataclass(frozen=True)
class Target:
    """A request's target and fields."""

    host: str
    """Value of the Host field."""
    path: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Head:
    """A response's status and its fields by lower-case name."""

    status: int
    fields: dict[str, str]
    length: int | None
    """Length of the body, if the server sends it."""


class Reading:
    """One request and its response on a connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
        self._buffer = bytearray(READ_BYTES)
        self.bytes = 0
        """Bytes of the body so far."""
        self.length: int | None = None
        self._framed = True
        self._received_any = False

    async def send_request(self, target: Target) -> Head:
        """Send a GET and read the head. Raises `TransferError` for invalid HTTP, and `OSError`."""
        fields = [("Host", target.host), ("User-Agent", f"dumbbell/{__version__}"), ("Accept", "*/*")]
        fields += [("Accept-Encoding", "identity"), *target.fields]
        try:
            request = h11.Request(method="GET", target=target.path, headers=fields)
            data = (self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as error:
            raise TransferError(f"{target.path!r} can't be requested: {error}") from None
        await self._channel.send_all(data)
        return await self._head()

    async def skip(self, most: int | None = None) -> bool:
        """Read and discard the body, or `most` bytes of it; returns whether the connection can be reused.

        Raises `TransferError` if it ends too early, `OSError` if the connection breaks.
        """
        if most is not None and self.length is not None and self.length <= most:
            most = None  # Read to the end, so that the connection can be reused.
        while most is None or self.bytes < most:
            event = self._event(body=True)
            if isinstance(event, h11.EndOfMessage):
                return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
            if isinstance(event, h11.Data):
                # The head's buffer may have more than `most` bytes.
                self.bytes = min(self.bytes + len(event.data), self.bytes + self._left(most))
            elif event is h11.NEED_DATA:
                if not self._framed:
                    return await self._skip_plain(most)
                await self._receive(self._left(most))
            else:
                raise self._cut_off()
        return False

    async def page(self) -> bytes:
        """Read a short body. Raises as `skip`, and if it is too long."""
        body = bytearray()
        while not isinstance(event := self._event(body=True), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                body += event.data
                self.bytes = len(body)
                if len(body) > MOST_PAGE_BYTES:
                    raise TransferError(f"the response exceeds {MOST_PAGE_BYTES} bytes")
            elif event is h11.NEED_DATA:
                await self._receive(READ_BYTES)
            else:
                raise self._cut_off()
        return bytes(body)

    async def _head(self) -> Head:
        while not isinstance(event := self._event(body=False), h11.Response):
            if event is h11.NEED_DATA:
                await self._receive(HEAD_BYTES)
        fields: dict[str, str] = {}
        for name, value in event.headers:
            fields.setdefault(name.decode("ascii"), value.decode("latin-1"))
        self._framed = "transfer-encoding" in fields or event.status_code in (204, 304)
        length = fields.get("content-length", "")
        # h11 rejects invalid lengths.
        self.length = int(length) if length.isdigit() and not self._framed else None
        return Head(event.status_code, fields, self.length)

    def _event(self, *, body: bool) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            if body and self._http.their_state is h11.ERROR and self.length is not None and self.bytes < self.length:
                raise self._cut_off() from None
            raise TransferError(f"the server sent invalid HTTP: {error}") from None

    async def _receive(self, most: int) -> None:
        view = memoryview(self._buffer)[: max(1, min(most, READ_BYTES))]
        count = await self._channel.receive_into(view)
        if count == 0 and not self._received_any:
            raise TransferError("the server closed the connection without a response")
        self._received_any = True
        self._http.receive_data(bytes(view[:count]))

    async def _skip_plain(self, most: int | None) -> bool:
        view = memoryview(self._buffer)
        while (left := self._left(most)) > 0:
            count = await self._channel.receive_into(view[: min(left, READ_BYTES)], unread=True)
            if count == 0:
                if self.length is not None:
                    raise self._cut_off()
                return False
            self.bytes += count
        # h11 hasn't seen the end; a further request uses a new reader.
        return self.length is not None and self.bytes == self.length

    def _left(self, most: int | None) -> int:
        ends = [end for end in (most, self.length) if end is not None]
        return min(ends) - self.bytes if ends else MOST_PAGE_BYTES

    def _cut_off(self) -> TransferError:
        of = "" if self.length is None else f" of {self.length}"
        return TransferError(f"the connection ended after {self.bytes}{of} bytes of the body")
