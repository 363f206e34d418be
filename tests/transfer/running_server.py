"""A real server on loopback in a thread with its own event loop; and raw sockets that connect to it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from dumbbell.transfer.http_connection import AccessLogEntry
from dumbbell.transfer.server import Serving, serve

TIMEOUT_S = 20.0


@dataclass
class RunningServer:
    """A running server: its URLs and its access log."""

    urls: list[str] = field(default_factory=list)
    log: list[AccessLogEntry] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.urls[0].rstrip("/").rsplit(":", 1)[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.urls[0].split(':')[0]}://{host}:{self.port}{path}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S)

    def exchange(self, data: bytes) -> bytes:
        """Send this; return everything that the server sends until it closes."""
        with self.connect() as sock:
            sock.sendall(data)
            # The server may have refused the client and closed the connection before this.
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            return read_all(sock)

    def get(self, path: str, *fields: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {path} HTTP/1.1", "Host: here", "Connection: close", *fields, "", ""]
        return parse_response(self.exchange("\r\n".join(lines).encode()))


@contextmanager
def running_server(serving: Serving | None = None) -> Iterator[RunningServer]:
    """Serve while the block runs."""
    running, opened, failed = RunningServer(), threading.Event(), []
    loop = asyncio.new_event_loop()

    def on_listening(urls: list[str]) -> None:
        running.urls[:] = urls
        opened.set()

    async def work() -> None:
        with suppress(asyncio.CancelledError):
            await serve(serving or Serving(), on_listening, running.log.append)

    task = loop.create_task(work())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except BaseException as error:
            failed.append(error)
            opened.set()
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert opened.wait(TIMEOUT_S)
    if failed:
        thread.join()
        raise failed[0]
    try:
        yield running
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def read_all(sock: socket.socket) -> bytes:
    """Read until the end or a reset."""
    received = bytearray()
    try:
        while data := sock.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return bytes(received)


def parse_response(response: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, fields in lower case, and the body, undecoded."""
    head, _, body = response.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
    return int(line.split()[1]), fields, body
