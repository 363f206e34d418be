"""Limits of connections: their number, the time that a request may take, the least rate at which a client must read.

uvicorn has none of these limits. `guard` and `handlers` check the content of requests.
"""

import asyncio
import functools
from enum import Enum
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dumbbell.web.page_limits import Limits

__all__ = ["HEAD_BYTES", "limited_protocol"]

HEAD_BYTES = 16_384
"""Limit of a request line with its header fields."""
BLOCK_BYTES = 4_096
"""h11 checks the length of an incomplete head only: it gets the head in blocks of this size."""


class _Phase(Enum):
    """What a connection waits for."""

    HEAD = "a request"
    BODY = "the rest of a request"
    REST = "the rest of a request that has its response already"
    RESPONSE = "a response"


def limited_protocol(limits: Limits) -> type[H11Protocol]:
    """Return the protocol for `uvicorn.Config.http`, which uvicorn calls for each connection."""
    return cast("type[H11Protocol]", functools.partial(_Connection, limits))


class _Connection(H11Protocol):
    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._phase_start = self.loop.time()
        self._phase: _Phase | None = None
        self._phase_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._unsent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections and not self._close_oldest():
            self._refuse("503 Service Unavailable", "this server has reached its limit of connections")
            return
        self._start_phase_timer()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            size = BLOCK_BYTES if self.conn.their_state is h11.IDLE else len(data)
            super().data_received(data[:size])
            data = data[size:]
        self._start_phase_timer()

    def on_response_complete(self) -> None:
        self._phase = None
        super().on_response_complete()
        self._start_phase_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._phase_timer, self._write_timer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def _close_oldest(self) -> bool:
        """Close the connection that has waited longest for a request. Return false if none waits."""
        others = (each for each in self.connections if isinstance(each, _Connection) and each is not self)
        waiting = [each for each in others if each._phase is _Phase.HEAD]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda each: each._phase_start)
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True

    def _start_phase_timer(self) -> None:
        """Start the timer of a phase when the connection enters it."""
        if self.transport.is_closing() or (phase := self._current_phase()) is self._phase:
            return
        self._phase, self._phase_start = phase, self.loop.time()
        if self._phase_timer is not None:
            self._phase_timer.cancel()
        limits = self._limits
        seconds = {_Phase.HEAD: limits.head_s, _Phase.BODY: limits.body_s, _Phase.REST: limits.rest_s}.get(phase)
        self._phase_timer = None if seconds is None else self.loop.call_later(seconds, self._time_out)

    def _current_phase(self) -> _Phase:
        if self.conn.their_state is h11.IDLE:
            return _Phase.HEAD
        if self.conn.their_state is not h11.SEND_BODY:
            return _Phase.RESPONSE
        return _Phase.REST if self.conn.our_state in {h11.DONE, h11.MUST_CLOSE} else _Phase.BODY

    def _time_out(self) -> None:
        """Close the connection; send status 408 first if a request began and its response did not."""
        has_begun = self._phase is _Phase.BODY or bool(self.conn.trailing_data[0])
        if has_begun and self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self._refuse("408 Request Timeout", "the request took too long")
        else:
            self.transport.close()

    def _refuse(self, status: str, reason: str) -> None:
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(reason) + 1}\r\nConnection: close"
        )
        self.transport.write(f"{head}\r\n\r\n{reason}\n".encode())
        self.transport.close()

    def _start_write_timer(self) -> None:
        """Check after `taking_s` that the client has read `taken_bytes` of its response."""
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(self._limits.taking_s, self._check_write_progress)

    def _check_write_progress(self) -> None:
        if self._unsent_bytes - self.transport.get_write_buffer_size() < self._limits.taken_bytes:
            self.transport.abort()
        else:
            self._start_write_timer()
