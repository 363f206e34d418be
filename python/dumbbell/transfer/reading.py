"""A response as its bytes come in: the head, then the body, whose bytes are counted and thrown away.

Framing is h11's. A body that nothing frames but its length, or the connection's end, is read past h11: its bytes need
not be looked at, nor even copied.
"""

from dataclasses import dataclass

import h11

from dumbbell import __version__
from dumbbell.errors import TransferError
from dumbbell.transfer.channel import Channel

__all__ = ["Head", "Reading", "Target"]

READ_BYTES = 1 << 18
HEAD_BYTES = 1 << 12
"""At a time, until the head is there: little of the body is then looked at twice."""
MOST_HEAD_BYTES = 65_536
MOST_PAGE_BYTES = 16_000_000


@dataclass(frozen=True)
class Target:
    """What to ask a connection for."""

    host: str
    """As the Host field has it."""
    path: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Head:
    """A response's status and fields, by their names in lower case."""

    status: int
    fields: dict[str, str]
    length: int | None
    """Of the body, where the server says it."""


class Reading:
    """One request and its response on a connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
        self._buffer = bytearray(READ_BYTES)
        self.bytes = 0
        """Of the body, so far."""
        self.length: int | None = None
        self._framed = True
        self._heard = False

    async def ask(self, target: Target) -> Head:
        """Send a GET and read the head. Raises `TransferError` for what is no HTTP, `OSError`."""
        fields = [("Host", target.host), ("User-Agent", f"dumbbell/{__version__}"), ("Accept", "*/*")]
        fields += [("Accept-Encoding", "identity"), *target.fields]
        try:
            request = h11.Request(method="GET", target=target.path, headers=fields)
            data = (self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as error:
            raise TransferError(f"{target.path!r} can't be asked for: {error}") from None
        await self._channel.send_all(data)
        return await self._head()

    async def skip(self, most: int | None = None) -> bool:
        """Read the body, or so many bytes of it, and throw it away; is the connection of further use?

        Raises `TransferError` where it ends too early, `OSError` where the connection breaks.
        """
        if most is not None and self.length is not None and self.length <= most:
            most = None  # Then the end can be seen, and the connection used again.
        while most is None or self.bytes < most:
            event = self._event(body=True)
            if isinstance(event, h11.EndOfMessage):
                return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
            if isinstance(event, h11.Data):
                # What came with the head may be more than is wanted.
                self.bytes = min(self.bytes + len(event.data), self.bytes + self._left(most))
            elif event is h11.NEED_DATA:
                if not self._framed:
                    return await self._skip_plain(most)
                await self._receive(self._left(most))
            else:
                raise self._cut_off()
        return False

    async def page(self) -> bytes:
        """The body itself, where it is a short one. Raises as `skip`, and where it isn't short."""
        whole = bytearray()
        while not isinstance(event := self._event(body=True), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                whole += event.data
                self.bytes = len(whole)
                if len(whole) > MOST_PAGE_BYTES:
                    raise TransferError(f"a page of more than {MOST_PAGE_BYTES} bytes")
            elif event is h11.NEED_DATA:
                await self._receive(READ_BYTES)
            else:
                raise self._cut_off()
        return bytes(whole)

    async def _head(self) -> Head:
        while not isinstance(event := self._event(body=False), h11.Response):
            if event is h11.NEED_DATA:
                await self._receive(HEAD_BYTES)
        fields: dict[str, str] = {}
        for name, value in event.headers:
            fields.setdefault(name.decode("ascii"), value.decode("latin-1"))
        self._framed = "transfer-encoding" in fields or event.status_code in (204, 304)
        length = fields.get("content-length", "")
        # h11 has refused every length that is no number.
        self.length = int(length) if length.isdigit() and not self._framed else None
        return Head(event.status_code, fields, self.length)

    def _event(self, *, body: bool) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            if body and self._http.their_state is h11.ERROR and self.length is not None and self.bytes < self.length:
                raise self._cut_off() from None
            raise TransferError(f"what the server sends is no HTTP: {error}") from None

    async def _receive(self, most: int) -> None:
        view = memoryview(self._buffer)[: max(1, min(most, READ_BYTES))]
        count = await self._channel.receive_into(view)
        if count == 0 and not self._heard:
            raise TransferError("the server closed the connection without an answer")
        self._heard = True
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
        # h11 has seen no end; a further request gets a reading of its own.
        return self.length is not None and self.bytes == self.length

    def _left(self, most: int | None) -> int:
        ends = [end for end in (most, self.length) if end is not None]
        return min(ends) - self.bytes if ends else MOST_PAGE_BYTES

    def _cut_off(self) -> TransferError:
        of = "" if self.length is None else f" of {self.length}"
        return TransferError(f"the connection ended after {self.bytes}{of} bytes of the body")
