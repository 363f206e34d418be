"""The server, which runs until a signal: its address, its token if other users have access, the browser."""

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
from dumbbell.web.connection import HEAD_BYTES, limited_protocol
from dumbbell.web.opened import Opened
from dumbbell.web.page_limits import Limits

__all__ = ["Serving", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 — only on request


@dataclass(frozen=True)
class Serving:
    """The settings of a server."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free port."""
    browser: bool = True
    token: bool = False
    """Whether other users of this host have access with the token. Clients on other hosts always need it."""
    paths: tuple[Path, ...] = ()
    """Results, sweeps and experiments to open at the start."""
    limits: Limits = field(default_factory=Limits)

    @property
    def private(self) -> bool:
        """Whether the address is on the loopback."""
        return self.host in LOOPBACK


def serve(serving: Serving, report_url: Callable[[str], None]) -> None:
    """Serve until a signal; call `report_url` with the URL.

    Raises `LocalHostError` if the address can't be used or the page was not built; `DumbbellError` for a path of
    `paths` that can't be opened.
    """
    if not (PAGE / "index.html").is_file():
        raise LocalHostError("the workbench's page was not built: run .venv/bin/python build_native.py in the checkout")
    opened = Opened(Path.cwd(), serving.paths)
    listener = _listener(serving)
    port = listener.getsockname()[1]
    owners_known = peers.can_find_owners()
    token = secrets.token_urlsafe(24) if serving.token or not (serving.private and owners_known) else None
    hosts = tuple(f"{name}:{port}" for name in _host_names(serving))
    is_owner = peers.is_own_user if owners_known else None
    app = make_app(hosts, token, serving.limits, opened, is_owner=is_owner, public=not serving.private)
    config = uvicorn.Config(
        app, http=limited_protocol(serving.limits), h11_max_incomplete_event_size=HEAD_BYTES, ws="none",
        proxy_headers=False, log_level="error", access_log=False, use_colors=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    url = f"http://{_url_host(serving)}:{port}/"
    report_url(url + (f"?token={token}" if token else ""))
    # Every user can read a browser's command line: the token is not in it.
    if serving.browser and owners_known:
        webbrowser.open(f"http://{hosts[0]}/")
    uvicorn.Server(config).run(sockets=[listener])


def _host_names(serving: Serving) -> list[str]:
    """Return the host names that requests of the owner may have. The server has the first as an address."""
    local = ["127.0.0.1", "localhost", "[::1]"]
    if serving.private or serving.host in WILDCARDS:
        return local
    return [_url_host(serving), *local]


def _url_host(serving: Serving) -> str:
    return f"[{serving.host}]" if ":" in serving.host else serving.host


def _listener(serving: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        return socket.create_server((serving.host, serving.port), family=family)
    except OSError as error:
        raise LocalHostError(
            f"can't listen at {serving.host}, port {serving.port}: {error.strerror or error}"
        ) from None
