"""Messages between the agent and this process: a line of JSON, followed by as many bytes as it states.

`crates/agent/src/remote/frames.rs` is the other end. The data comes from another host, so lengths are limited and
every frame is checked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Frame", "Inbox", "InvalidFrame", "order"]

MOST_LINE_BYTES = 1 << 20
"""Facts contain the output of `ip` for devices and routes: a few kilobytes."""
MOST_BODY_BYTES = 16 << 30
"""A file of records; `crates/experiment/src/plan/size.rs` allows less than half."""


class InvalidFrame(Exception):
    """The data is not a valid frame."""


@dataclass(frozen=True)
class Frame:
    """One frame."""

    kind: str
    head: Mapping[str, Any]
    body: bytes = b""


def order(kind: str, body: bytes = b"", **rest: object) -> bytes:
    """Encode a message to the agent."""
    return json.dumps({"kind": kind} | rest).encode() + b"\n" + body


@dataclass
class Inbox:
    """Bytes received but not parsed yet."""

    pending: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Append received data."""
        self.pending += data

    def line(self) -> str | None:
        """The next line, if complete. Raises `InvalidFrame` if it is too long."""
        if (end := self._line_end()) is None:
            return None
        text = self.pending[:end].decode("utf-8", errors="replace")
        del self.pending[: end + 1]
        return text

    def frame(self) -> Frame | None:
        """The next frame, if complete. Raises `InvalidFrame` if it is invalid."""
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
            raise InvalidFrame("a line that is too long")
        return None if end < 0 else end


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFrame(f"not JSON: {error}") from None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise InvalidFrame("a frame without a kind")
    return head


def _length(head: Mapping[str, Any]) -> int:
    length = head.get("bytes", 0)
    if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= MOST_BODY_BYTES:
        raise InvalidFrame("a frame with an invalid length")
    return length
