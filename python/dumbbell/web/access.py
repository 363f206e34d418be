"""Who may use the server, and how much: tokens, the owner of a connection, limits of connections.

- Another site's page can make a browser send requests here: a request that changes or reveals anything must come from
  this origin (`Origin`, `Sec-Fetch-Site`).
- Another site's name can resolve to this address (DNS rebinding): `Host` must be a name of this server.
- Every user of a host can connect to its loopback: the peer must be a process of the server's own user. TCP does not
  report it; the kernel does.
- Other clients need the token, if there is one: the first URL contains it, and a cookie keeps it.

uvicorn has no limits of connections. `handlers` checks the content of requests.
"""

import asyncio
import functools
import hmac
import ipaddress
import os
import socket
import struct
from collections.abc import Callable, Iterable
from enum import Enum
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, urlencode

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dumbbell.web.handlers import Limits

__all__ = [
    "COOKIE",
    "HEADERS",
    "HEAD_BYTES",
    "Guard",
    "OwnerCheck",
    "can_find_owners",
    "is_own_user",
    "limited_protocol",
    "owner",
]


OwnerCheck = Callable[[Scope], bool]
"""Returns whether a request comes from the user who started the server."""

COOKIE = "dumbbell-token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; frame-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response that sets no others: the page loads from this server only and sends to it only."""


class Guard:
    """Middleware that refuses requests without access, and sets the headers of responses."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], token: str | None, is_owner: OwnerCheck | None = None,
        *, public: bool = False,
    ) -> None:  # fmt: skip
        """`hosts`: the permitted values of `Host`; on a `public` server only the owner's requests must have one.

        Without `hosts` every value is permitted. Without `is_owner` only the token gives access.
        """
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._is_owner = is_owner
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        known_host = not self._hosts or host in self._hosts
        if not known_host and not self._public:
            return _refuse(f"unknown host name in the request: {host or '(none)'}", 421)
        if not _same_origin(headers, host) and (scope["method"] != "GET" or scope["path"] != "/"):
            return _refuse("requests of other sites are refused")
        # With another site's name, that site's page may have sent the request from this user's browser.
        if known_host and self._is_owner is not None and self._is_owner(scope):
            return None
        if self._token is not None:
            return self._check_token(scope, headers)
        return (
            None
            if self._is_owner is None
            else _refuse("this workbench belongs to another user: start it with --token to share it")
        )

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Return nothing for a request with the token's cookie, a redirect that sets it for a URL with the token."""
        assert self._token is not None
        if _equal(_cookie(headers), self._token):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] != "GET" or not _equal(query.pop("token", [""])[0], self._token):
            return _refuse("open the address that `dumbbell ui` printed: it contains the token")
        rest = urlencode(query, doseq=True)
        response = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return response


def _same_origin(headers: Headers, host: str) -> bool:
    """Return whether a page of this server sent the request, or no page at all."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == host


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _equal(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode(), expected.encode())


def _refuse(reason: str, status: int = 403) -> Response:
    return PlainTextResponse(f"{reason}\n", status)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


Address = tuple[str, int]

SOCK_DIAG = 4
"""NETLINK_SOCK_DIAG of linux/netlink.h."""
BY_FAMILY = 20
"""SOCK_DIAG_BY_FAMILY of linux/sock_diag.h."""
REQUEST = 1
"""NLM_F_REQUEST of linux/netlink.h."""
HEADER = struct.Struct("=IHHII")
"""`nlmsghdr`."""
DIAG_REQUEST = struct.Struct("=BBBxI")
"""`inet_diag_req_v2` up to its `inet_diag_sockid`."""
SOCKET = struct.Struct("!HH16s16s")
"""`inet_diag_sockid` without interface and cookie."""
ANY_INTERFACE_AND_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
DIAG_RESPONSE = struct.Struct("=BBBB")
"""`inet_diag_msg` up to its `inet_diag_sockid`; behind that are five 32-bit fields; the last two are user and inode."""
DIAG_FIELDS = struct.Struct("=IIIII")
ESTABLISHED = 1
RESPONSE_BYTES = 8192
TIMEOUT_S = 1.0


class _Socket(NamedTuple):
    """A socket by its two ends."""

    family: socket.AddressFamily
    ends: bytes


def is_own_user(scope: Scope) -> bool:
    """Return whether the peer of this request runs as the user of the server."""
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return False
    return owner((client[0], client[1]), (server[0], server[1])) == os.geteuid()


def can_find_owners() -> bool:
    """Return whether this kernel reports the owner of a connection. A container may forbid it."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=TIMEOUT_S) as client,
        ):
            return owner(client.getsockname(), server.getsockname()) == os.geteuid()
    except OSError:
        return False


def owner(local: Address, remote: Address) -> int | None:
    """Return the user whose process has the socket with these ends on this host, or None without such a socket."""
    try:
        endpoint = _socket(local, remote)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as netlink:
            netlink.settimeout(TIMEOUT_S)
            netlink.send(_diag_request(endpoint))
            return _parse_owner(netlink.recv(RESPONSE_BYTES), endpoint)
    except (OSError, ValueError):
        return None


def _socket(local: Address, remote: Address) -> _Socket:
    """Raises `ValueError` unless both are addresses of one family."""
    here, there = _plain(local[0]), _plain(remote[0])
    if here.version != there.version:
        raise ValueError("one end is IPv4, the other IPv6")
    ends = SOCKET.pack(local[1], remote[1], here.packed.ljust(16, b"\0"), there.packed.ljust(16, b"\0"))
    return _Socket(socket.AF_INET if here.version == 4 else socket.AF_INET6, ends)


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse an address. An IPv4-mapped IPv6 address becomes IPv4: the other end is an IPv4 socket."""
    found = ipaddress.ip_address(address)
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _diag_request(endpoint: _Socket) -> bytes:
    body = (
        DIAG_REQUEST.pack(endpoint.family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + endpoint.ends + ANY_INTERFACE_AND_COOKIE
    )
    return HEADER.pack(HEADER.size + len(body), BY_FAMILY, REQUEST, 1, 0) + body


def _parse_owner(response: bytes, endpoint: _Socket) -> int | None:
    """Return the owner. A socket that its process has closed has none: its user reads as root, its inode as 0."""
    fields_at = HEADER.size + DIAG_RESPONSE.size + SOCKET.size + len(ANY_INTERFACE_AND_COOKIE)
    if len(response) < fields_at + DIAG_FIELDS.size or HEADER.unpack_from(response)[1] != BY_FAMILY:
        return None
    _, state, _, _ = DIAG_RESPONSE.unpack_from(response, HEADER.size)
    ends_at = HEADER.size + DIAG_RESPONSE.size
    *_, user, inode = DIAG_FIELDS.unpack_from(response, fields_at)
    if state != ESTABLISHED or inode == 0 or response[ends_at : ends_at + SOCKET.size] != endpoint.ends:
        return None
    return int(user)


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
