"""Who may ask: a page of this server, of the user who started it or with its token.

- Another site's page can make a browser send requests here: a request that changes or reveals anything must come from
  this origin (`Origin`, `Sec-Fetch-Site`).
- Another site's name can be made to lead here (DNS rebinding): `Host` must be one of ours.
- Every user of a machine can connect to its loopback: the peer must be a process of the server's own user (`peers`).
- Everybody else must know the token, if there is one; the first visit's address carries it, and a cookie keeps it.
"""

import hmac
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["COOKIE", "HEADERS", "Guard", "Mine"]

Mine = Callable[[Scope], bool]
"""Is a request of the user who started the server?"""

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
"""Of every answer that sets none of its own: nothing is loaded from elsewhere, and nothing is told elsewhere."""


class Guard:
    """Lets through what may pass, and dresses the answers."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], token: str | None, mine: Mine | None = None, *, public: bool = False
    ) -> None:
        """`hosts`: what `Host` may say, and on a `public` server what it must say of those who are `mine`.

        No `hosts`: anything. No `mine`: it can't be told, so only the token counts.
        """
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._mine = mine
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the application, or let it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        await (refused or self._app)(scope, receive, _dressed(send))

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        named = not self._hosts or host in self._hosts
        if not named and not self._public:
            return _no(f"this server is not called {host or 'nothing'}", 421)
        if not _same_origin(headers, host) and (scope["method"] != "GET" or scope["path"] != "/"):
            return _no("requests of other sites are refused")
        # Under another's name it may be that other's page which asks, from this user's browser.
        if named and self._mine is not None and self._mine(scope):
            return None
        if self._token is not None:
            return self._knows_token(scope, headers)
        return (
            None if self._mine is None else _no("this workbench is another user's: start it with --token to share it")
        )

    def _knows_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Nothing to say to who has the token; who brings it in the address gets it as a cookie."""
        assert self._token is not None
        if _same(_cookie(headers), self._token):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] != "GET" or not _same(asked.pop("token", [""])[0], self._token):
            return _no("open the address that `dumbbell ui` printed: it holds the token")
        rest = urlencode(asked, doseq=True)
        answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return answer


def _same_origin(headers: Headers, host: str) -> bool:
    """Does the request come from a page of ours, or from no page at all?"""
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


def _same(said: str, wanted: str) -> bool:
    return hmac.compare_digest(said.encode(), wanted.encode())


def _no(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"{why}\n", status)


def _dressed(send: Send) -> Send:
    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return dressed
