"""The server: listeners, connections, and the end of both.

What one connection says is `exchange`'s, what it may cost `limits`'. Nothing is printed: whoever runs it is told by
calls.
"""

import asyncio
import contextlib
import errno
import ipaddress
import resource
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.errors import ExperimentError, TransferError
from dumbbell.machine.sources import Machine
from dumbbell.transfer import sockets
from dumbbell.transfer.channel import Channel
from dumbbell.transfer.exchange import Exchange, House, Told
from dumbbell.transfer.files import Folder
from dumbbell.transfer.limits import Census, Entry, Limits
from dumbbell.transfer.payload import block
from dumbbell.transfer.sending import TooSlow

__all__ = ["LOOPBACK", "Serving", "serve", "tls_context"]

LOOPBACK = ("127.0.0.1", "::1")
BACKLOG = 1024
ACCEPTED_AT_ONCE = 64
SPARE_FILES = 64
"""Descriptors beside the connections'."""
GRACE_S = 5.0
"""What is under way gets so long when the server is asked to end."""
TURNED_AWAY = {
    Entry.FULL: ("503 Service Unavailable", "this server has as many clients as it takes"),
    Entry.TOO_MANY: ("429 Too Many Requests", "too many connections from your address"),
}
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
PAUSE_S = 0.1


@dataclass(frozen=True)
class Serving:
    """What to serve, and to whom."""

    port: int = 0
    hosts: tuple[str, ...] = LOOPBACK
    root: Path | None = None
    tls: ssl.SSLContext | None = None
    controllers: tuple[str, ...] = ()
    """Which may be asked for; none named: all that the kernel lets this process use."""
    limits: Limits = field(default_factory=Limits)


async def serve(serving: Serving, opened: Callable[[list[str]], None], tell: Callable[[Told], None]) -> None:
    """Serve until cancelled; `opened` hears the URLs once, `tell` of every response.

    Raises `TransferError` where it can't listen, `ExperimentError` for a controller that this kernel doesn't offer.
    """
    controllers = _controllers(serving.controllers)
    with contextlib.ExitStack() as stack:
        listeners = _listeners(serving, stack)
        folder = None if serving.root is None else Folder(serving.root)
        if folder is not None:
            stack.callback(folder.close)
        _raise_file_limit(serving.limits.clients)
        payload = stack.enter_context(block())
        house = House(serving.limits, controllers, sockets.default(), payload, folder, tell, _metrics_saved())
        opened([_url(listener, encrypted=serving.tls is not None) for listener in listeners])
        await _Door(serving, house).keep(listeners)


def tls_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """TLS 1.2 and later with this certificate. Raises `TransferError` naming the file that doesn't do."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = " and ".join(str(each) for each in (certificate, key) if each is not None)
        raise TransferError(f"{files}: no certificate with its key, as PEM: {error}") from error
    return context


class _Door:
    """Lets connections in, and sees them out."""

    def __init__(self, serving: Serving, house: House) -> None:
        self._serving = serving
        self._house = house
        self._census = Census(serving.limits)
        self._inside: dict[asyncio.Task[None], Exchange | None] = {}

    async def keep(self, listeners: list[socket.socket]) -> None:
        accepting = [asyncio.ensure_future(self._accept(listener)) for listener in listeners]
        try:
            await asyncio.gather(*accepting)
        finally:
            for each in accepting:
                each.cancel()
            await self._see_out()

    async def _see_out(self) -> None:
        """No more requests; responses that are under way get their time."""
        self._house.ending = True
        responding = []
        for task, exchange in self._inside.items():
            if exchange is not None and exchange.responding:
                responding.append(task)
            else:
                task.cancel()
        if responding:
            await asyncio.wait(responding, timeout=GRACE_S)
        for task in responding:
            task.cancel()
        await asyncio.gather(*self._inside, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, address = await loop.sock_accept(listener)
            except OSError as error:
                # accept(2): errors of the connection that is no more; and of a table that is full, which passes.
                if error.errno in OUT_OF_FILES:
                    await asyncio.sleep(PAUSE_S)
                continue
            self._let_in(sock, _plain(address[0]))
            self._accept_more(listener)

    def _accept_more(self, listener: socket.socket) -> None:
        """Those who wait too: one for each turn of a busy loop would keep newcomers for seconds."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = listener.accept()
            except OSError:
                return  # Nobody waits; whatever else it was, the next turn hears it too.
            self._let_in(sock, _plain(address[0]))

    def _let_in(self, sock: socket.socket, address: str) -> None:
        entry = self._census.enter(address)
        if entry is not Entry.YES:
            self._turn_away(sock, address, entry)
            return
        task = asyncio.ensure_future(self._attend(sock, address))
        self._inside[task] = None
        task.add_done_callback(self._inside.pop)

    async def _attend(self, sock: socket.socket, address: str) -> None:
        reset = True
        channel: Channel | None = None
        try:
            channel = Channel(sock, self._serving.tls)
            async with asyncio.timeout(self._serving.limits.silence_s):
                await channel.handshake()
            exchange = Exchange(channel, address, self._house)
            if (task := asyncio.current_task()) is not None:
                self._inside[task] = exchange
            await exchange.run()
            reset = False
        except (OSError, TooSlow):  # TimeoutError and every TLS error are OSErrors.
            pass
        finally:
            # A RST frees what a slow client's socket still holds.
            if channel is None:
                sock.close()
            else:
                channel.close(reset=reset)
            if self._census.leave(address):
                self._house.throttle.forget(address, time.monotonic_ns())

    def _turn_away(self, sock: socket.socket, address: str, entry: Entry) -> None:
        """One short answer, as far as the socket takes it at once; no TLS handshake for who may not come in."""
        status, why = TURNED_AWAY[entry]
        body = f"{why}\n"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nRetry-After: 5\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError):
            sock.setblocking(False)
            if self._serving.tls is None:
                # What has come already is read, or the close would be a RST that takes the answer with it.
                with contextlib.suppress(BlockingIOError):
                    sock.recv(self._serving.limits.head_bytes)
                sock.send((head + body).encode())
            sock.shutdown(socket.SHUT_WR)
        sock.close()
        self._house.tell(Told(address, "", int(status[:3]), 0, 0.0, None, None, why))


def _listeners(serving: Serving, stack: contextlib.ExitStack) -> list[socket.socket]:
    """A socket for each host. Of loopback's two addresses one is enough, where a machine has no other."""
    found: list[socket.socket] = []
    port = serving.port
    refused: OSError | None = None
    for host in serving.hosts:
        try:
            listener = _listener(host, port)
        except OSError as error:
            refused = error
            if serving.hosts == LOOPBACK and error.errno != errno.EADDRINUSE:
                continue
            break
        stack.callback(listener.close)
        found.append(listener)
        port = listener.getsockname()[1]
    if not found or (refused is not None and serving.hosts != LOOPBACK):
        why = (refused.strerror or str(refused)) if refused is not None else "no address"
        raise TransferError(f"can't listen at {' and '.join(serving.hosts)}, port {serving.port}: {why}")
    return found


def _listener(host: str, port: int) -> socket.socket:
    """A listening socket; `::` is for IPv4 too (RFC 3493 section 5.3)."""
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG * (host not in LOOPBACK)
    )[0]
    listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _controllers(asked: tuple[str, ...]) -> tuple[str, ...]:
    there = sockets.allowed()
    for name in asked:
        if name not in there:
            right = f"this kernel lets this user choose: {', '.join(there)}"
            raise ExperimentError("no such controller here", key="--controllers", value=name, right=right)
    return asked or there


def _raise_file_limit(clients: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = clients + SPARE_FILES
    if hard != resource.RLIM_INFINITY and wanted > hard:
        right = f"this process may have {hard} files open: at most {hard - SPARE_FILES} clients, or a higher ulimit -n"
        raise ExperimentError("more clients than files", key="--max-clients", value=clients, right=right)
    if soft != resource.RLIM_INFINITY and wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _metrics_saved() -> bool | None:
    """Does a connection begin with what the last one to that address learnt (tcp_metrics)? None: unknown."""
    value = Machine().sysctl("net.ipv4.tcp_no_metrics_save").first()
    return None if value is None else value == "0"


def _url(listener: socket.socket, *, encrypted: bool) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if encrypted else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _plain(address: str) -> str:
    """An IPv4 address as itself, mapped or not; IPv6's as its /64, which is one customer's (RFC 6177)."""
    found = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found) if found.is_loopback else str(ipaddress.ip_network((found, 64), strict=False))
