"""A non-blocking stream socket for asyncio, its congestion control and TCP_INFO (Linux include/uapi/linux/tcp.h).

It has no buffer: unsent bytes stay with the caller or in the kernel. asyncio's streams buffer per connection and don't
support sendfile. Callers set timeouts.

A sample keeps the kernel's bytes, which are decoded into a result's columns later.
"""

import asyncio
import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from dumbbell.engines.decode import controller_columns, transport_columns
from dumbbell.host.kernel_modules import TCP_CC_INFO, controller
from dumbbell.linux import BBR, DCTCP, FLOW_RECORD, TCP_INFO, VEGAS

__all__ = [
    "Channel",
    "Sample",
    "allowed",
    "controller",
    "default",
    "retransmits",
    "round_trip_s",
    "rows",
    "sample",
    "set_controller",
    "unacked",
]


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


CC_INFO_BYTES = FLOW_RECORD["cc"].itemsize
NEEDED_BYTES = TCP_INFO.fields["rcv_wnd"][1] if TCP_INFO.fields is not None else 0
"""Up to `tcpi_snd_wnd`, added in Linux 5.4: with less, missing fields would be reported as zero."""
IPV4 = Path("proc/sys/net/ipv4")


@dataclass(frozen=True)
class Sample:
    """One sample of a socket."""

    time_ns: int
    cc: str
    info: bytes
    cc_info: bytes


def set_controller(sock: socket.socket, name: str) -> str:
    """Set the socket's congestion control; returns the one in use. Raises `OSError` if the kernel refuses."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode("ascii"))
    return controller(sock)


def default(root: Path = Path("/")) -> str:
    """The default congestion control."""
    return (root / IPV4 / "tcp_congestion_control").read_text(encoding="ascii").strip()


def allowed(root: Path = Path("/")) -> tuple[str, ...]:
    """The congestion controls that this process may use, tested one by one."""
    known = (root / IPV4 / "tcp_available_congestion_control").read_text(encoding="ascii").split()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        return tuple(name for name in known if _is_allowed(sock, name))


def sample(sock: socket.socket, time_ns: int) -> Sample | None:
    """Sample a socket; None if it is closed, or if the kernel is too old."""
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.itemsize)
        cc_info = sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, CC_INFO_BYTES)
        name = controller(sock)
    except OSError:
        return None
    return None if len(info) < NEEDED_BYTES else Sample(time_ns, name, info, cc_info)


def rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Samples in the columns of a result's `flows` (docs/result.md), without nulls."""
    if not samples:
        return []
    records = np.zeros(len(samples), FLOW_RECORD)
    for record, each in zip(records, samples, strict=True):
        record["info"] = np.frombuffer(each.info.ljust(TCP_INFO.itemsize, b"\0"), TCP_INFO)[0]
        record["cc"] = each.cc_info.ljust(CC_INFO_BYTES, b"\0")
        record["cc_kind"] = _kind(each)
    columns = transport_columns(records["info"], np.ones(len(samples), dtype=bool)) | controller_columns(records)
    columns["rcv_space_bytes"] = pl.Series(values=records["info"]["rcv_space"].astype(np.int64))
    table = pl.DataFrame({"time_ns": [each.time_ns for each in samples], **columns})
    return [{key: value for key, value in row.items() if value is not None} for row in table.to_dicts()]


def round_trip_s(each: Sample) -> float:
    """The smoothed RTT of a sample."""
    return float(_field(each, "rtt")) / 1e6


def unacked(each: Sample) -> int:
    """Unsent bytes plus unacknowledged packets: 0 when everything has arrived."""
    return _field(each, "notsent_bytes") + _field(each, "unacked")


def retransmits(each: Sample) -> int:
    """Retransmitted segments so far."""
    return _field(each, "total_retrans")


def _field(each: Sample, name: str) -> int:
    assert TCP_INFO.fields is not None
    kind, offset = TCP_INFO.fields[name][:2]
    return int.from_bytes(each.info[offset : offset + kind.itemsize], "little")


def _kind(each: Sample) -> int:
    """The type of the `TCP_CC_INFO` structure, by congestion control and length."""
    for prefix, kind in (("bbr", BBR), ("dctcp", DCTCP), ("vegas", VEGAS)):
        if each.cc.startswith(prefix) and len(each.cc_info) >= struct.calcsize("<4I"):
            return kind
    return 0


def _is_allowed(sock: socket.socket, name: str) -> bool:
    try:
        return set_controller(sock, name) == name
    except OSError:
        return False
