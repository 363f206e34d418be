"""A server that runs until a signal ends it: an address, a token where others may ask, a browser that opens it."""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from dumbbell.errors import LocalHostError
from dumbbell.web import peers
from dumbbell.web.asgi import PAGE, make_app
from dumbbell.web.connection import HEAD_BYTES, bounded
from dumbbell.web.opened import Opened
from dumbbell.web.page_limits import Limits

__all__ = ["Serving", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANY = ("0.0.0.0", "::")  # noqa: S104 — only when it is asked for


@dataclass(frozen=True)
class Serving:
    """What to serve, and to whom."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    browser: bool = True
    token: bool = False
    """May other users of this machine ask, with the token? Who asks from elsewhere always needs it."""
    paths: tuple[Path, ...] = ()
    """What is open from the beginning."""
    limits: Limits = field(default_factory=Limits)

    @property
    def private(self) -> bool:
        """Does only this machine hear it?"""
        return self.host in LOOPBACK


def serve(serving: Serving, told: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `told` gets the address.

    Raises `LocalHostError` when the address can't be had, or the page was not built; `DumbbellError` for a path of
    `paths` that can't be opened.
    """
    if not (PAGE / "index.html").is_file():
        raise LocalHostError("the workbench's page was not built: run .venv/bin/python build_native.py in the checkout")
    opened = Opened(Path.cwd(), serving.paths)
    listening = _listening(serving)
    port = listening.getsockname()[1]
    knows_users = peers.tells_owners()
    token = secrets.token_urlsafe(24) if serving.token or not (serving.private and knows_users) else None
    hosts = tuple(f"{name}:{port}" for name in _names(serving))
    mine = peers.is_ours if knows_users else None
    app = make_app(hosts, token, serving.limits, opened, mine=mine, public=not serving.private)
    config = uvicorn.Config(
        app, http=bounded(serving.limits), h11_max_incomplete_event_size=HEAD_BYTES, ws="none", proxy_headers=False,
        log_level="error", access_log=False, use_colors=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    url = f"http://{_written(serving)}:{port}/"
    told(url + (f"?token={token}" if token else ""))
    # A browser's command line is everybody's to read: the token is not in it.
    if serving.browser and knows_users:
        webbrowser.open(f"http://{hosts[0]}/")
    uvicorn.Server(config).run(sockets=[listening])


def _names(serving: Serving) -> list[str]:
    """What this machine's own user calls the server by; the first of them reaches it."""
    here = ["127.0.0.1", "localhost", "[::1]"]
    if serving.private or serving.host in ANY:
        return here
    return [_written(serving), *here]


def _written(serving: Serving) -> str:
    return f"[{serving.host}]" if ":" in serving.host else serving.host


def _listening(serving: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        return socket.create_server((serving.host, serving.port), family=family)
    except OSError as error:
        raise LocalHostError(
            f"can't listen at {serving.host}, port {serving.port}: {error.strerror or error}"
        ) from None
