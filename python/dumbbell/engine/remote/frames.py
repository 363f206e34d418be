"""What an agent and we say to each other: a line of JSON, and behind it as many bytes as it says.

`crates/agent/src/remote/frames.rs` has the other side of it. What comes is another machine's: it is bounded, and every
frame is checked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Frame", "Inbox", "Odd", "order"]

MOST_LINE_BYTES = 1 << 20
"""Facts hold what `ip` says of a device and of routes: a few kilobytes."""
MOST_BODY_BYTES = 16 << 30
"""A file of records; what `plan.size` allows is less than half."""


class Odd(Exception):
    """What came is no frame."""


@dataclass(frozen=True)
class Frame:
    """One frame."""

    kind: str
    head: Mapping[str, Any]
    body: bytes = b""


def order(kind: str, body: bytes = b"", **rest: object) -> bytes:
    """An order as it goes over the line."""
    return json.dumps({"kind": kind} | rest).encode() + b"\n" + body


@dataclass
class Inbox:
    """What has come and was not read yet."""

    pending: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """More has come."""
        self.pending += data

    def line(self) -> str | None:
        """The next line, if it is there as a whole. Raises `Odd` where it has no end."""
        if (end := self._line_end()) is None:
            return None
        text = self.pending[:end].decode("utf-8", errors="replace")
        del self.pending[: end + 1]
        return text

    def frame(self) -> Frame | None:
        """The next frame, if it is there as a whole. Raises `Odd` where it is none."""
        if (end := self._line_end()) is None:
            return None
        head = _head(bytes(self.pending[:end]))
        length = _length(head)
        if len(self.pending) < end + 1 + length:
            return None
        body = bytes(self.pending[end + 1 : end + 1 + length])
        del self.pending[: end + 1 + length]
        return Frame(head["kind"], head, body)

    def _line_end(self) -> int | None:
        end = self.pending.find(b"\n", 0, MOST_LINE_BYTES)
        if end < 0 and len(self.pending) >= MOST_LINE_BYTES:
            raise Odd("a line without an end")
        return None if end < 0 else end


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Odd(f"no JSON: {error}") from None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise Odd("a frame without a kind")
    return head


def _length(head: Mapping[str, Any]) -> int:
    length = head.get("bytes", 0)
    if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= MOST_BODY_BYTES:
        raise Odd("a frame without a sound length")
    return length
