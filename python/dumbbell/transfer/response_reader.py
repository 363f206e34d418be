"""Read a response: the head, then the body, whose bytes are counted and discarded.

h11 does the framing. A body delimited by its length or by the end of the connection bypasses h11, so that its bytes
need not be copied.
"""

from dataclasses import dataclass

import h11

from dumbbell import __version__
from dumbbell.errors import TransferError
from dumbbell.transfer.channel import Channel

__all__ = ["Head", "Reading", "Target"]

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
