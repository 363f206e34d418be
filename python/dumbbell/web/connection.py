"""One connection of the server: how long its requests may take, how slowly its client may read, how many there may be.

uvicorn reads and answers; here is what it leaves without a limit. What a request may say is `guard`'s and `handlers`'s.
"""

import asyncio
import functools
from enum import Enum
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dumbbell.web.page_limits import Limits

__all__ = ["HEAD_BYTES", "bounded"]

HEAD_BYTES = 16_384
"""Of a request line and its fields."""
PIECE_BYTES = 4_096
"""h11 measures a head when it has not come whole: so it gets it in pieces."""


class _Phase(Enum):
    """What a connection waits for."""

    HEAD = "a request"
    BODY = "the rest of a request"
    REST = "the rest of a request that was answered already"
    ANSWER = "an answer"


def bounded(limits: Limits) -> type[H11Protocol]:
    """The protocol for `uvicorn.Config.http`, which calls it for each connection."""
    return cast("type[H11Protocol]", functools.partial(_Connection, limits))


class _Connection(H11Protocol):
    def __init__(self, limits: Limits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._began = self.loop.time()
        self._phase: _Phase | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._untaken_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections and not self._make_space():
            self._refuse("503 Service Unavailable", "this server has as many connections as it takes")
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            most = PIECE_BYTES if self.conn.their_state is h11.IDLE else len(data)
            super().data_received(data[:most])
            data = data[most:]
        self._watch()

    def on_response_complete(self) -> None:
        self._phase = None
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._patience, self._taking):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()

    def _make_space(self) -> bool:
        """Close the connection that has waited longest for a request; false where none waits."""
        others = (each for each in self.connections if isinstance(each, _Connection) and each is not self)
        waiting = [each for each in others if each._phase is _Phase.HEAD]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda each: each._began)
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True

    def _watch(self) -> None:
        """Give what is waited for its time, from when it began to be waited for."""
        if self.transport.is_closing() or (phase := self._phase_now()) is self._phase:
            return
        self._phase, self._began = phase, self.loop.time()
        if self._patience is not None:
            self._patience.cancel()
        limits = self._limits
        seconds = {_Phase.HEAD: limits.head_s, _Phase.BODY: limits.body_s, _Phase.REST: limits.rest_s}.get(phase)
        self._patience = None if seconds is None else self.loop.call_later(seconds, self._give_up)

    def _phase_now(self) -> _Phase:
        if self.conn.their_state is h11.IDLE:
            return _Phase.HEAD
        if self.conn.their_state is not h11.SEND_BODY:
            return _Phase.ANSWER
        return _Phase.REST if self.conn.our_state in {h11.DONE, h11.MUST_CLOSE} else _Phase.BODY

    def _give_up(self) -> None:
        """Say why, where a request began and nothing was answered yet."""
        began = self._phase is _Phase.BODY or bool(self.conn.trailing_data[0])
        if began and self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self._refuse("408 Request Timeout", "the request took too long")
        else:
            self.transport.close()

    def _refuse(self, status: str, why: str) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(why) + 1}\r\nConnection: close"
        self.transport.write(f"{head}\r\n\r\n{why}\n".encode())
        self.transport.close()

    def _watch_taking(self) -> None:
        """A client must take at least so much of its answer in each while."""
        self._untaken_bytes = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(self._limits.taking_s, self._check_taking)

    def _check_taking(self) -> None:
        if self._untaken_bytes - self.transport.get_write_buffer_size() < self._limits.taken_bytes:
            self.transport.abort()
        else:
            self._watch_taking()
