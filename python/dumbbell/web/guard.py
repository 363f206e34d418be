"""Access control: only this server's page has access, and only for the user who started it or with the token.

- Another site's page can make a browser send requests here: a request that changes or reveals anything must come from
  this origin (`Origin`, `Sec-Fetch-Site`).
- Another site's name can resolve to this address (DNS rebinding): `Host` must be a name of this server.
- Every user of a host can connect to its loopback: the peer must be a process of the server's own user (`peers`).
- Other clients need the token, if there is one: the first URL contains it, and a cookie keeps it.
"""

import hmac
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["COOKIE", "HEADERS", "Guard", "OwnerCheck"]

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
