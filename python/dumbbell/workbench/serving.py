"""A server that runs until somebody ends it: an address, a token where others could ask, a browser that opens it."""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from dumbbell.errors import MachineError
from dumbbell.workbench.app import PAGE, make_app
from dumbbell.workbench.limits import Limits
from dumbbell.workbench.opened import Opened

__all__ = ["Serving", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Serving:
    """What to serve, and to whom."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    browser: bool = True
    paths: tuple[Path, ...] = ()
    """What is open from the beginning."""
    limits: Limits = field(default_factory=Limits)

    @property
    def private(self) -> bool:
        """Does only this machine hear it?"""
        return self.host in LOOPBACK


def serve(serving: Serving, told: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `told` gets the address.

    Raises `MachineError` when the address can't be had, or the page was not built; `DumbbellError` for a path of
    `paths` that can't be opened.
    """
    if not (PAGE / "index.html").is_file():
        raise MachineError("the workbench's page was not built: run .venv/bin/python build_native.py in the checkout")
    opened = Opened(Path.cwd(), serving.paths)
    listening = _listening(serving)
    port = listening.getsockname()[1]
    token = None if serving.private else secrets.token_urlsafe(24)
    hosts = tuple(f"{name}:{port}" for name in _names(serving))
    app = make_app(hosts, token, serving.limits, opened)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="on", timeout_graceful_shutdown=2
    )
    url = f"http://{_written(serving)}:{port}/" + (f"?token={token}" if token else "")
    told(url)
    if serving.browser:
        webbrowser.open(url)
    uvicorn.Server(config).run(sockets=[listening])


def _names(serving: Serving) -> list[str]:
    """What the server is called by who asks; off the loopback the token is the guard, and any name will do."""
    return ["127.0.0.1", "localhost", "[::1]"] if serving.private else []


def _written(serving: Serving) -> str:
    return f"[{serving.host}]" if ":" in serving.host else serving.host


def _listening(serving: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        return socket.create_server((serving.host, serving.port), family=family)
    except OSError as error:
        raise MachineError(f"can't listen at {serving.host}, port {serving.port}: {error.strerror or error}") from None
