"""A non-blocking stream socket for asyncio, optionally with TLS.

It has no buffer: unsent bytes stay with the caller or in the kernel. asyncio's streams buffer per connection and don't
support sendfile. Callers set timeouts.
"""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Channel"]

T = TypeVar("T")
PIECE_BYTES = 65536
"""Maximum size of a TLS write: a few records."""


class Channel:
    """One connection."""

    def __init__(
        self, sock: socket.socket, context: ssl.SSLContext | None = None, server_name: str | None = None
    ) -> None:
        """Takes ownership of the socket. With a context: a TLS client if `server_name` is given, else a server."""
        sock.setblocking(False)
        self.sock = sock
        if context is not None:
            self.sock = context.wrap_socket(
                sock,
                server_side=server_name is None,
                server_hostname=server_name,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=False,
            )

    @property
    def encrypted(self) -> bool:
        """Does it use TLS?"""
        return isinstance(self.sock, ssl.SSLSocket)

    async def handshake(self) -> None:
        """The TLS handshake; does nothing without TLS."""
        if isinstance(self.sock, ssl.SSLSocket):
            await self._tried(self.sock.do_handshake, write=False)

    async def receive_into(self, buffer: memoryview, *, unread: bool = False) -> int:
        """Receive bytes into the buffer, 0 at the end; with `unread` the kernel may discard them (MSG_TRUNC)."""
        if unread and not self.encrypted:
            # tcp(7): with MSG_TRUNC the kernel drops the bytes instead of copying them.
            return await self._tried(lambda: self.sock.recv_into(buffer, len(buffer), socket.MSG_TRUNC), write=False)
        try:
            return await self._tried(lambda: self.sock.recv_into(buffer), write=False)
        except ssl.SSLZeroReturnError:
            return 0

    async def send(self, data: memoryview) -> int:
        """Send some of the bytes, at least one."""
        piece = data[:PIECE_BYTES] if self.encrypted else data
        return await self._tried(lambda: self.sock.send(piece), write=True)

    async def send_all(self, data: bytes) -> None:
        """Send all bytes; for heads and short bodies."""
        view = memoryview(data)
        while view:
            view = view[await self.send(view) :]

    async def send_pages(self, file: int, offset: int, count: int) -> int:
        """Send bytes of a file with sendfile(2), not with TLS; 0 at the end of the file."""
        return await self._tried(lambda: os.sendfile(self.sock.fileno(), file, offset, count), write=True)

    async def readable(self) -> None:
        """Wait until there is data to read, or the end."""
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
            return
        await self._wait(write=False)

    def end_sending(self) -> None:
        """Close the sending direction."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self, *, reset: bool = False) -> None:
        """Close; with `reset`, discard unsent data and send a RST."""
        if reset:
            linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
            with contextlib.suppress(OSError):
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.sock.close()

    async def _tried(self, call: Callable[[], T], *, write: bool) -> T:
        while True:
            try:
                return call()
            except (BlockingIOError, InterruptedError):
                await self._wait(write=write)
            except ssl.SSLWantReadError:
                await self._wait(write=False)
            except ssl.SSLWantWriteError:
                await self._wait(write=True)

    async def _wait(self, *, write: bool) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        file = self.sock.fileno()
        add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
        add(file, _wake, ready)
        try:
            await ready
        finally:
            remove(file)


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
