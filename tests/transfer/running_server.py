"""A real server on loopback for a test, in a thread with a loop of its own; and raw sockets to talk to it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from dumbbell.transfer.http_connection import AccessLogEntry
from dumbbell.transfer.server import Serving, serve

PATIENCE_S = 20.0


@dataclass
class RunningServer:
    """A server that runs."""

    urls: list[str] = field(default_factory=list)
    told: list[AccessLogEntry] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.urls[0].rstrip("/").rsplit(":", 1)[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.urls[0].split(':')[0]}://{host}:{self.port}{path}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def say(self, data: bytes) -> bytes:
        """Everything that the server answers until it closes."""
        with self.connect() as sock:
            sock.sendall(data)
            # A client that is refused may have been answered, and the connection be gone, before this.
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            return everything(sock)

    def get(self, path: str, *fields: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {path} HTTP/1.1", "Host: here", "Connection: close", *fields, "", ""]
        return parsed(self.say("\r\n".join(lines).encode()))


@contextmanager
def running_server(serving: Serving | None = None) -> Iterator[RunningServer]:
    """Serve while the block runs."""
    running, opened, failed = RunningServer(), threading.Event(), []
    loop = asyncio.new_event_loop()

    def hear(urls: list[str]) -> None:
        running.urls[:] = urls
        opened.set()

    async def work() -> None:
        with suppress(asyncio.CancelledError):
            await serve(serving or Serving(), hear, running.told.append)

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
    assert opened.wait(PATIENCE_S)
    if failed:
        thread.join()
        raise failed[0]
    try:
        yield running
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def everything(sock: socket.socket) -> bytes:
    """Until the end, or a reset."""
    whole = bytearray()
    try:
        while piece := sock.recv(65536):
            whole += piece
    except ConnectionResetError:
        pass
    return bytes(whole)


def parsed(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, fields in lower case, and the body as it came."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
    return int(line.split()[1]), fields, body
