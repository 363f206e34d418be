"""A non-blocking stream socket for asyncio, its congestion control, and samples of its TCP_INFO.

It has no buffer: unsent bytes stay with the caller or in the kernel. asyncio's streams buffer per connection and don't
support sendfile. Callers set timeouts.

A sample (Linux include/uapi/linux/tcp.h) keeps the kernel's bytes, which are decoded into a result's columns later. The
samples of a response's socket are recorded, and a store keeps recorders for a while. Both are bounded: a full recorder
drops every other sample and halves its rate, the store drops the oldest recorder.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import ssl
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.host.kernel_modules import TCP_CC_INFO, controller
from dumbbell.linux import BBR, DCTCP, FLOW_RECORD, TCP_INFO, VEGAS

__all__ = [
    "Channel",
    "Recorder",
    "Sample",
    "StatisticsStore",
    "allowed",
    "controller",
    "default",
    "retransmits",
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
    table = pl.DataFrame(_sim.socket_table(records.tobytes())).with_columns(
        time_ns=pl.Series([each.time_ns for each in samples]),
        rcv_space_bytes=pl.Series(values=records["info"]["rcv_space"].astype(np.int64)),
    )
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


NS = 1_000_000_000
MOST_SAMPLES = 2_000
"""Samples per response: 0.6 MB; 200 s at 100 ms before samples are dropped."""
SHORTEST_INTERVAL_S = 0.001
LONGEST_INTERVAL_S = 0.1


@dataclass
class Recorder:
    """Samples the socket of a response, from the end of the request on."""

    channel: Channel
    interval_ns: int | None
    """None: only the first and the last sample."""
    began_ns: int = field(default_factory=time.monotonic_ns)
    samples: list[Sample] = field(default_factory=list)
    bytes_sent: int = 0
    held_back_s: float = 0.0
    """How long the server's limits delayed it."""
    complete: bool = False
    """Was all data written to the socket?"""
    seconds: float | None = None
    """Time until then."""

    def sample(self) -> Sample | None:
        """Take a sample now."""
        seen = sample(self.channel.sock, time.monotonic_ns() - self.began_ns)
        if seen is not None:
            self.samples.append(seen)
        if len(self.samples) >= MOST_SAMPLES:
            del self.samples[1:-1:2]
            self.interval_ns = None if self.interval_ns is None else 2 * self.interval_ns
        return seen

    async def keep_sampling(self) -> None:
        """Sample until cancelled."""
        while self.interval_ns is not None:
            await asyncio.sleep(self.interval_ns / NS)
            self.sample()

    async def last_sample(self, max_s: float) -> None:
        """Wait until all data is acknowledged, the peer sends data, or the timeout; then take the last sample.

        Polls every half RTT: faster polling gains nothing, and in virtual time waiting is free.
        """
        end_s = time.monotonic() + max_s
        while (seen := self.sample()) is not None and unacked(seen) and time.monotonic() < end_s:
            pause_s = min(max(round_trip_s(seen) / 2, SHORTEST_INTERVAL_S), LONGEST_INTERVAL_S)
            try:
                async with asyncio.timeout(pause_s):
                    await self.channel.readable()
            except TimeoutError:
                continue
            self.sample()
            return

    @property
    def retransmits(self) -> int | None:
        """Retransmitted segments since the first sample; None without samples."""
        return retransmits(self.samples[-1]) - retransmits(self.samples[0]) if self.samples else None

    @property
    def cc(self) -> str | None:
        """The congestion control of the last sample."""
        return self.samples[-1].cc if self.samples else None

    def as_json(self) -> dict[str, Any]:
        """The JSON object of the statistics."""
        return {
            "cc": self.cc,
            "complete": self.complete,
            "bytes": self.bytes_sent,
            "seconds": self.seconds,
            "held_back_s": round(self.held_back_s, 6),
            "retransmits": self.retransmits,
            "samples": rows(self.samples),
        }


class StatisticsStore:
    """Recorders by token."""

    def __init__(self, most: int = 256, keep_s: float = 120.0) -> None:
        self._most = most
        self._keep_ns = int(keep_s * NS)
        self._kept: OrderedDict[str, Recorder] = OrderedDict()

    def put(self, recorder: Recorder) -> str:
        """Store a recorder; returns an unguessable token."""
        self._drop_old()
        while len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        token = secrets.token_urlsafe(16)
        self._kept[token] = recorder
        return token

    def get(self, token: str) -> Recorder | None:
        """The recorder of a token; None if it has expired."""
        self._drop_old()
        return self._kept.get(token)

    def _drop_old(self) -> None:
        now_ns = time.monotonic_ns()
        while self._kept and now_ns - next(iter(self._kept.values())).began_ns > self._keep_ns:
            self._kept.popitem(last=False)
