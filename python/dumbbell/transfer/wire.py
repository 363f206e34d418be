"""What a request asks, as a value; or why it gets something else (RFC 9110, RFC 9112).

Framing is h11's; what is done about a request is `exchange`'s.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

from dumbbell.spec.units import Wrong, duration_ns, size_bytes

__all__ = ["CC", "SAMPLE", "STATS", "Asked", "Refusal", "asked_of", "byte_range", "path_parts", "size_asked"]

CC = "Dumbbell-CC"
"""Of a request: the controller that is wanted. Of a response: the one that its socket has."""
SAMPLE = "Dumbbell-Sample"
"""Of a request: look at the socket so often."""
STATS = "Dumbbell-Stats"
"""Of a response: where its statistics will be."""
SHORTEST_SAMPLE_NS = 10_000_000
MOST_FIELDS = 16
_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,15}\Z", re.ASCII)
_RANGE = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*\Z", re.ASCII | re.IGNORECASE)


class Refusal(Exception):
    """A request gets another status than it wanted, and a sentence that says why."""

    def __init__(self, status: HTTPStatus, why: str, fields: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.why = why
        self.fields = dict(fields or {})
        super().__init__(f"{status.value} {why}")


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    """As it came, percent signs and all."""
    query: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""

    @property
    def cc(self) -> str | None:
        """The controller that it names. Raises `Refusal` for what can't be a name."""
        name = self.query.get("cc", self.fields.get(CC.lower()))
        if name is not None and not _NAME.match(name):
            raise Refusal(HTTPStatus.BAD_REQUEST, f"{name[:40]!r} can't be the name of a controller")
        return name

    @property
    def sample_ns(self) -> int | None:
        """How often it wants its socket looked at. Raises `Refusal`."""
        text = self.query.get("sample", self.fields.get(SAMPLE.lower()))
        if text is None:
            return None
        try:
            interval_ns = duration_ns(text)
        except Wrong as wrong:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"sample: {wrong}") from None
        return max(interval_ns, SHORTEST_SAMPLE_NS)


def asked_of(method: bytes, target: bytes, fields: Iterable[tuple[bytes, bytes]]) -> Asked:
    """A request line and its fields as a value; names of fields are in lower case, as h11 gives them.

    Raises `Refusal` for what is no request that we know.
    """
    named: dict[str, str] = {}
    for key, value in fields:
        named.setdefault(key.decode("ascii"), value.decode("latin-1"))
    try:
        split = urlsplit(target.decode("ascii"))
        query = dict(parse_qsl(split.query, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the request's target is no address") from None
    if not split.path.startswith("/"):
        raise Refusal(HTTPStatus.BAD_REQUEST, "the request's target is no path")
    return Asked(method.decode("ascii"), split.path, query, named)


def size_asked(word: str, most_bytes: int) -> int:
    """The size in `/bytes/61MB`. Raises `Refusal` for none, and for one that is beyond the server's limit."""
    try:
        size = size_bytes(unquote(word, errors="strict"))
    except (Wrong, UnicodeDecodeError) as wrong:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"/bytes/{word[:40]}: {wrong}") from None
    if size > most_bytes:
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{size} bytes are asked for, {most_bytes} at most are sent")
    return size


def byte_range(asked: Asked, size: int, tag: str) -> tuple[int, int] | None:
    """First byte and the one after the last; None: all of it.

    Of several ranges, of other units, and of what isn't a range the field is ignored, as RFC 9110 section 14.2 lets a
    server do. Raises `Refusal` (416) for a range that has no byte (section 15.5.17).
    """
    text = asked.fields.get("range")
    match = None if text is None else _RANGE.match(text)
    if match is None or not (match[1] or match[2]) or asked.fields.get("if-range", tag) != tag:
        return None
    if match[1]:
        first, stop = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
        if match[2] and int(match[2]) < first:
            return None  # Section 14.1.1: invalid, as if it weren't there.
    else:
        first, stop = max(0, size - int(match[2])), size
    if first >= stop:
        why = f"no byte of {size} is in the range {text}"
        raise Refusal(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, why, {"Content-Range": f"bytes */{size}"})
    return first, stop


def path_parts(path: str) -> list[str]:
    """The names in a path, decoded. Raises `Refusal` where one is nothing, hidden, or leads elsewhere."""
    try:
        parts = [unquote(part, errors="strict") for part in path.split("/")]
    except UnicodeDecodeError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "the path is not UTF-8") from None
    if any(not part or part.startswith(".") or "/" in part or "\0" in part for part in parts):
        raise Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
    return parts
