"""The server: listeners, connections and shutdown.

`http_connection` handles a connection. The server reports events through callbacks and prints nothing.
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
from dumbbell.host.sources import LocalHost
from dumbbell.transfer import channel
from dumbbell.transfer.channel import Channel
from dumbbell.transfer.http_connection import AccessLogEntry, Exchange, ServerState
from dumbbell.transfer.http_messages import Folder
from dumbbell.transfer.responses import ClientCounter, Entry, Limits, TooSlow, block

__all__ = ["LOOPBACK", "Serving", "serve", "tls_context"]

LOOPBACK = ("127.0.0.1", "::1")
BACKLOG = 1024
ACCEPTED_AT_ONCE = 64
SPARE_FILES = 64
"""Descriptors needed besides those of connections."""
GRACE_S = 5.0
"""Time for responses in progress when the server shuts down."""
REJECTIONS = {
    Entry.FULL: ("503 Service Unavailable", "this server's connection limit is reached"),
    Entry.TOO_MANY: ("429 Too Many Requests", "too many connections from your address"),
}
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
PAUSE_S = 0.1


@dataclass(frozen=True)
class Serving:
    """The server's settings."""

    port: int = 0
    hosts: tuple[str, ...] = LOOPBACK
    root: Path | None = None
    tls: ssl.SSLContext | None = None
    controllers: tuple[str, ...] = ()
    """Congestion controls that clients may request; empty: all that the kernel allows this process."""
    limits: Limits = field(default_factory=Limits)


async def serve(serving: Serving, opened: Callable[[list[str]], None], log: Callable[[AccessLogEntry], None]) -> None:
    """Serve until cancelled; `opened` is called once with the URLs, `log` with every response.

    Raises `TransferError` if it can't listen, `ExperimentError` for an unavailable congestion control.
    """
    controllers = _controllers(serving.controllers)
    with contextlib.ExitStack() as stack:
        listeners = _listeners(serving, stack)
        folder = None if serving.root is None else Folder(serving.root)
        if folder is not None:
            stack.callback(folder.close)
        _raise_file_limit(serving.limits.clients)
        payload = stack.enter_context(block())
        state = ServerState(serving.limits, controllers, channel.default(), payload, folder, log, _metrics_saved())
        opened([_url(listener, encrypted=serving.tls is not None) for listener in listeners])
        await _Acceptor(serving, state).keep(listeners)


def tls_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """TLS 1.2 or later with this certificate. Raises `TransferError` if it can't be loaded."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = " and ".join(str(each) for each in (certificate, key) if each is not None)
        raise TransferError(f"{files}: not a PEM certificate with its key: {error}") from error
    return context


class _Acceptor:
    """Accepts connections, and closes them at shutdown."""

    def __init__(self, serving: Serving, state: ServerState) -> None:
        self._serving = serving
        self._state = state
        self._clients = ClientCounter(serving.limits)
        self._inside: dict[asyncio.Task[None], Exchange | None] = {}

    async def keep(self, listeners: list[socket.socket]) -> None:
        accepting = [asyncio.ensure_future(self._accept(listener)) for listener in listeners]
        try:
            await asyncio.gather(*accepting)
        finally:
            for each in accepting:
                each.cancel()
            await self._shut_down()

    async def _shut_down(self) -> None:
        """Stop accepting requests and wait for responses in progress."""
        self._state.ending = True
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
                # accept(2): the connection failed meanwhile, or a table is full temporarily.
                if error.errno in OUT_OF_FILES:
                    await asyncio.sleep(PAUSE_S)
                continue
            self._admit(sock, _plain(address[0]))
            self._accept_more(listener)

    def _accept_more(self, listener: socket.socket) -> None:
        """Accept further waiting connections; one per loop iteration would delay them for seconds under load."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = listener.accept()
            except OSError:
                return  # None is waiting, or an error that the next sock_accept reports.
            self._admit(sock, _plain(address[0]))

    def _admit(self, sock: socket.socket, address: str) -> None:
        entry = self._clients.enter(address)
        if entry is not Entry.YES:
            self._reject(sock, address, entry)
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
            exchange = Exchange(channel, address, self._state)
            if (task := asyncio.current_task()) is not None:
                self._inside[task] = exchange
            await exchange.run()
            reset = False
        except (OSError, TooSlow):  # TimeoutError and every TLS error are OSErrors.
            pass
        finally:
            # A RST frees the data still buffered for a slow client.
            if channel is None:
                sock.close()
            else:
                channel.close(reset=reset)
            if self._clients.leave(address):
                self._state.throttle.forget(address, time.monotonic_ns())

    def _reject(self, sock: socket.socket, address: str, entry: Entry) -> None:
        """Send a short response without waiting; with TLS close at once, without a handshake."""
        status, why = REJECTIONS[entry]
        body = f"{why}\n"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nRetry-After: 5\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError):
            sock.setblocking(False)
            if self._serving.tls is None:
                # Read pending data first: closing with unread data sends a RST, which discards the response.
                with contextlib.suppress(BlockingIOError):
                    sock.recv(self._serving.limits.head_bytes)
                sock.send((head + body).encode())
            sock.shutdown(socket.SHUT_WR)
        sock.close()
        self._state.log(AccessLogEntry(address, "", int(status[:3]), 0, 0.0, None, None, why))


def _listeners(serving: Serving, stack: contextlib.ExitStack) -> list[socket.socket]:
    """A socket for each address. For the default, loopback, either IPv4 or IPv6 is enough."""
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


def _controllers(requested: tuple[str, ...]) -> tuple[str, ...]:
    available = channel.allowed()
    for name in requested:
        if name not in available:
            right = f"this kernel allows this user: {', '.join(available)}"
            raise ExperimentError("unavailable congestion control", key="--controllers", value=name, right=right)
    return requested or available


def _raise_file_limit(clients: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + SPARE_FILES
    if hard != resource.RLIM_INFINITY and needed > hard:
        right = f"this process may open {hard} files: use at most {hard - SPARE_FILES} clients, or raise ulimit -n"
        raise ExperimentError("exceeds the limit of open files", key="--max-clients", value=clients, right=right)
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _metrics_saved() -> bool | None:
    """Do connections start with metrics of earlier ones to the same address (tcp_metrics)? None: unknown."""
    value = LocalHost().sysctl("net.ipv4.tcp_no_metrics_save").first()
    return None if value is None else value == "0"


def _url(listener: socket.socket, *, encrypted: bool) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if encrypted else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _plain(address: str) -> str:
    """An IPv4 address as itself, even if mapped; an IPv6 address as its /64, one customer's network (RFC 6177)."""
    found = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found) if found.is_loopback else str(ipaddress.ip_network((found, 64), strict=False))
