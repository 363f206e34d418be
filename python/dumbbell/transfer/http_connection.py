"""One connection of the server: reads requests and sends responses until either end closes.

h11 does the framing, `http_messages` parses requests, `responses` limits rates. A slow client occupies no memory
beyond its socket's buffer.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

import h11

from dumbbell import __version__
from dumbbell.transfer import channel
from dumbbell.transfer.channel import Channel, Recorder, StatisticsStore
from dumbbell.transfer.http_messages import (
    CC,
    STATS,
    Folder,
    ParsedRequest,
    Refusal,
    byte_range,
    parse_request,
    path_parts,
    requested_size,
)
from dumbbell.transfer.responses import (
    Answer,
    Limits,
    Payload,
    Sending,
    Throttle,
    TooSlow,
    about,
    as_json,
    front_page,
    of_file,
    refused,
)

__all__ = ["AccessLogEntry", "Exchange", "ServerState"]

READ_BYTES = 4_096
LINGER_S = 1.0
LINGER_BYTES = 65_536
MOST_BEHIND_NS = 10_000_000_000
"""New responses are refused when the rate limit is reserved for longer than this."""
ALLOW = {"Allow": "GET, HEAD"}


@dataclass(frozen=True)
class AccessLogEntry:
    """A line of the access log."""

    address: str
    request: str
    status: int
    bytes: int
    seconds: float
    cc: str | None
    retransmits: int | None
    fault: str = ""


@dataclass
class ServerState:
    """State shared by all connections."""

    limits: Limits
    controllers: tuple[str, ...]
    default_cc: str
    block: Payload
    folder: Folder | None
    log: Callable[[AccessLogEntry], None]
    metrics_saved: bool | None = None
    throttle: Throttle = field(init=False)
    statistics: StatisticsStore = field(default_factory=StatisticsStore)
    ending: bool = False

    def __post_init__(self) -> None:
        self.throttle = Throttle(self.limits)


class Exchange:
    """A connection after its handshake."""

    def __init__(self, channel: Channel, address: str, state: ServerState) -> None:
        self._channel = channel
        self._address = address
        self._state = state
        self._limits = state.limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=state.limits.head_bytes)
        self._served = 0
        self.responding = False
        """Is a response in progress?"""
        self._request = ""
        self._began = 0.0
        self._buffer = bytearray(READ_BYTES)

    async def run(self) -> None:
        """Serve until the connection ends. Raises `OSError` if it breaks, `TooSlow` if the client is too slow."""
        while True:
            try:
                request = await self._next()
                if request is None:
                    return
                self.responding = True
                await self._respond(request)
            except Refusal as refusal:
                await self._answer(refused(refusal), refusal.why)
            except h11.RemoteProtocolError as error:
                status = HTTPStatus(error.error_status_hint)
                await self._answer(refused(Refusal(status, f"invalid HTTP: {error}")), str(error))
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                await self._linger()
                return
            self.responding = False
            self._http.start_next_cycle()

    async def _next(self) -> ParsedRequest | None:
        """The next request, or None at the end. Raises `Refusal` (408) on timeout."""
        self._request, self._began = "", time.monotonic()
        request: ParsedRequest | None = None
        try:
            async with self._timeout():
                while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
                    if event is h11.NEED_DATA:
                        await self._receive()
                    elif isinstance(event, h11.Request):
                        self._request = f"{event.method.decode('ascii')} {event.target.decode('ascii', 'replace')}"
                        self._began = time.monotonic()
                        request = parse_request(event.method, event.target, event.headers)
                        if request.method not in ("GET", "HEAD"):
                            why = f"unsupported method {request.method[:20]}"
                            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, why, ALLOW)
                    elif isinstance(event, h11.Data):
                        raise Refusal(HTTPStatus.BAD_REQUEST, "a request with content")
                    else:
                        return None
        except TimeoutError:
            if not self._http.trailing_data[0] and not self._request:
                return None  # An idle connection isn't an error.
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, "timeout while reading the request") from None
        self._served += 1
        return request

    async def _receive(self) -> None:
        count = await self._channel.receive_into(memoryview(self._buffer))
        self._http.receive_data(bytes(self._buffer[:count]))

    def _timeout(self) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(self._limits.silence_s)

    async def _respond(self, request: ParsedRequest) -> None:
        """Send the response. Raises `Refusal` before the first byte."""
        parts = path_parts(request.path.lstrip("/")) if request.path != "/" else []
        match parts:
            case []:
                await self._answer(front_page(self._state.controllers))
            case ["about"]:
                state = self._state
                served = state.folder is not None
                await self._answer(
                    about(state.controllers, state.limits, files=served, metrics_saved=state.metrics_saved)
                )
            case ["stats", token]:
                await self._statistics(token)
            case ["bytes", word]:
                size = requested_size(word, self._limits.size_bytes)
                await self._send(
                    request, Payload(self._state.block.file, size, True, self._state.block.memory), '"random"'
                )
            case ["files", *names] if names and self._state.folder is not None:
                with self._state.folder.open(names) as opened:
                    if opened.size_bytes > self._limits.size_bytes:
                        why = f"the file has {opened.size_bytes} bytes, the limit is {self._limits.size_bytes}"
                        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
                    await self._send(request, of_file(opened.file, opened.size_bytes), opened.tag)
            case _:
                raise Refusal(HTTPStatus.NOT_FOUND, "not found; / lists what this server offers")

    async def _statistics(self, token: str) -> None:
        recorder = self._state.statistics.get(token)
        if recorder is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "these statistics have expired")
        await self._answer(as_json(recorder.as_json()))

    async def _send(self, request: ParsedRequest, payload: Payload, tag: str) -> None:
        """Send a payload or a range of it, with the requested congestion control."""
        range_ = byte_range(request, payload.size_bytes, tag) if request.method == "GET" else None
        first, stop = range_ or (0, payload.size_bytes)
        self._refuse_when_behind()
        cc = self._set_controller(request)
        recorder = Recorder(self._channel, request.sample_ns)
        recorder.sample()
        fields = {
            "Content-Type": "application/octet-stream",
            "Accept-Ranges": "bytes",
            "ETag": tag,
            "Cache-Control": "no-store",
            CC: cc,
        }
        if range_:
            fields["Content-Range"] = f"bytes {first}-{stop - 1}/{payload.size_bytes}"
        if request.method == "GET":
            fields[STATS] = f"/stats/{self._state.statistics.put(recorder)}"
        status = HTTPStatus.PARTIAL_CONTENT if range_ else HTTPStatus.OK
        await self._head(status, stop - first, fields)
        sending = Sending(self._channel, recorder, self._limits, self._state.throttle.of(self._address))
        fault = "interrupted"
        try:
            if request.method == "GET":
                await sending.send(payload, first, stop)
                # The bytes bypassed h11; pass it their number.
                self._http.send_with_data_passthrough(h11.Data(data=_Sent(stop - first)))  # type: ignore[arg-type]
            self._http.send(h11.EndOfMessage())
            fault = ""
        except (OSError, TooSlow) as error:
            fault = str(error) or type(error).__name__
            raise
        finally:
            self._log(status, recorder.bytes_sent, recorder, fault)

    def _refuse_when_behind(self) -> None:
        now_ns = time.monotonic_ns()
        behind_ns = max((each.behind_ns(now_ns) for each in self._state.throttle.of(self._address)), default=0)
        if behind_ns > MOST_BEHIND_NS:
            seconds = str(behind_ns // 1_000_000_000)
            why = "this server's rate limit is reserved by other clients for now"
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": seconds})

    def _set_controller(self, request: ParsedRequest) -> str:
        """Set the requested congestion control. Raises `Refusal` (400) with the available ones."""
        name = request.cc or self._state.default_cc
        if request.cc is not None and request.cc not in self._state.controllers:
            may = ", ".join(self._state.controllers)
            raise Refusal(
                HTTPStatus.BAD_REQUEST, f"congestion control {request.cc!r} is not available; available: {may}"
            )
        try:
            if channel.controller(self._channel.sock) == name:
                return name
            return channel.set_controller(self._channel.sock, name)
        except OSError as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"the kernel refuses {name!r}: {error.strerror}") from None

    async def _answer(self, answer: Answer, fault: str = "") -> None:
        """Send a short response, if the state of the connection still allows it."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        self._began = self._began or time.monotonic()
        fields = {"Content-Type": answer.kind, "Cache-Control": "no-store", **answer.fields}
        head = self._request.startswith("HEAD ")
        async with self._timeout():
            await self._head(answer.status, len(answer.body), fields)
            if not head:
                await self._channel.send_all(self._http.send(h11.Data(data=answer.body)) or b"")
            self._http.send(h11.EndOfMessage())
        self._log(answer.status, 0 if head else len(answer.body), None, fault)

    async def _head(self, status: HTTPStatus, length: int, fields: dict[str, str]) -> None:
        last = self._served >= self._limits.requests or self._state.ending
        last = last or self._http.their_state not in (h11.DONE, h11.MUST_CLOSE)
        all_fields = {
            "Date": formatdate(usegmt=True),
            "Server": f"dumbbell/{__version__}",
            **fields,
            "Content-Length": str(length),
            **({"Connection": "close"} if last else {}),
        }
        headers = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in all_fields.items()]
        head = self._http.send(h11.Response(status_code=status.value, reason=status.phrase.encode(), headers=headers))
        async with self._timeout():
            await self._channel.send_all(head or b"")

    async def _linger(self) -> None:
        """Read remaining data for a moment: closing with unread data sends a RST, which discards our response."""
        self._channel.end_sending()
        left = LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (count := await self._channel.receive_into(memoryview(self._buffer))):
                    left -= count
        except (OSError, TimeoutError):
            return

    def _log(self, status: HTTPStatus, count: int, recorder: Recorder | None, fault: str) -> None:
        cc = recorder.cc if recorder else None
        retransmits = recorder.retransmits if recorder else None
        seconds = time.monotonic() - self._began
        self._state.log(
            AccessLogEntry(self._address, self._request, status.value, count, seconds, cc, retransmits, fault)
        )


class _Sent:
    """The length of a body that bypassed h11."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count
