"""One download over a connection of its own, and what is known of it: times, bytes over time, both ends' sockets.

Which to make, and in what order, is `session`'s; framing is `reading`'s.
"""

import asyncio
import contextlib
import json
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

from dumbbell.errors import TransferError
from dumbbell.transfer.channel import Channel
from dumbbell.transfer.reading import Head, Reading, Target
from dumbbell.transfer.sockets import Sample, rows, sample
from dumbbell.transfer.wire import CC, SAMPLE, STATS

__all__ = ["Download", "Place", "Wanted", "about", "download", "place_of"]

NS = 1_000_000_000
BIN_NS = 100_000_000
MOST_REDIRECTS = 5
MOST_SAMPLES = 5_000
REDIRECTS = (301, 302, 303, 307, 308)
BUSY = (429, 503)
MOST_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Place:
    """Where a URL leads."""

    url: str
    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_field(self) -> str:
        """As the Host field has it (RFC 9110 section 7.2)."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return name if self.port == usual else f"{name}:{self.port}"


@dataclass(frozen=True)
class Wanted:
    """How every download of a session is made."""

    place: Place
    size_bytes: int | None = None
    """So many bytes, not all; of a Dumbbell's root any number."""
    family: int = socket.AF_UNSPEC
    tls: ssl.SSLContext | None = None
    timeout_s: float = 300.0
    silence_s: float = 30.0
    sample: str = "100ms"


@dataclass(frozen=True)
class Download:
    """One download. Times are nanoseconds; `began_ns` is of the session's clock, all others since then."""

    cc_asked: str | None
    cc: str | None
    """As the server told it; None where it tells nothing."""
    url: str
    address: str
    began_ns: int
    dns_ns: int
    """How long the name took to look up, before all else; 0 for an address."""
    connect_ns: int
    tls_ns: int | None
    asked_ns: int
    first_byte_ns: int
    """Of the response's head."""
    total_ns: int
    """From the connection's first packet to the body's last byte."""
    bytes: int
    status: int
    redirects: int
    bins: tuple[tuple[int, int], ...]
    """Bytes of the body by then, every 100 ms."""
    ours: tuple[dict[str, Any], ...]
    """This end's socket, in columns of `sockets.rows`."""
    server: dict[str, Any] | None = field(default=None, repr=False)
    """What the server's statistics say; None where it offers none."""


def place_of(url: str) -> Place:
    """A URL, taken apart. Raises `TransferError` for what isn't one of http or https."""
    try:
        split = urlsplit(url if "://" in url else f"http://{url}")
        host, port = split.hostname, split.port
    except ValueError as error:
        raise TransferError(f"{url}: not a URL: {error}") from None
    if split.scheme not in ("http", "https") or not host:
        raise TransferError(f"{url}: not a URL that can be fetched; such as http://server:8080/ or https://server/file")
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    if not path.isascii() or any(sign <= " " or sign == "\x7f" for sign in path):
        raise TransferError(f"{url}: a path with signs that a URL writes with percent signs")
    return Place(url, split.scheme, host, port or {"http": 80, "https": 443}[split.scheme], path)


async def download(wanted: Wanted, cc: str | None, epoch_ns: int) -> Download:
    """Download once, with this controller where one is asked for; follows redirects, waits when it is told to.

    Raises `TransferError`, which says what went wrong and where.
    """
    place, redirects, waited_s = wanted.place, 0, 0.0
    try:
        async with asyncio.timeout(wanted.timeout_s):
            while True:
                attempt = _Attempt(wanted, place, cc, epoch_ns, redirects)
                found = await attempt.run()
                if isinstance(found, Download):
                    return found
                if isinstance(found, float):
                    waited_s += found
                    if waited_s > MOST_PATIENCE_S:
                        raise TransferError(f"{place.url}: the server is too busy: it said to wait {waited_s:.0f} s")
                    await asyncio.sleep(found)
                    continue
                redirects += 1
                if redirects > MOST_REDIRECTS:
                    raise TransferError(
                        f"{wanted.place.url}: more than {MOST_REDIRECTS} redirects, the last to {found}"
                    )
                place = _next_place(place, found)
    except TimeoutError:
        raise TransferError(f"{wanted.place.url}: not done after {wanted.timeout_s:g} s (--timeout)") from None


async def about(wanted: Wanted) -> dict[str, Any]:
    """What a Dumbbell says of itself; nothing where it doesn't."""
    place = replace(wanted.place, path="/about")
    with contextlib.suppress(TransferError, OSError, ValueError, RecursionError):
        async with asyncio.timeout(wanted.silence_s):
            said = await _Attempt(replace(wanted, place=place), place, None, time.monotonic_ns(), 0).page()
        found = json.loads(said)
        return found if isinstance(found, dict) else {}
    return {}


def _next_place(place: Place, found: str) -> Place:
    following = place_of(urljoin(place.url, found))
    if place.scheme == "https" and following.scheme == "http":
        raise TransferError(f"{place.url}: the server leads from https to {following.url}; name that if you trust it")
    return following


@dataclass(frozen=True)
class _Opening:
    """A new connection's address and times."""

    address: str
    dns_ns: int
    connect_ns: int
    tls_ns: int | None


class _Attempt:
    """One connection and one request."""

    def __init__(self, wanted: Wanted, place: Place, cc: str | None, epoch_ns: int, redirects: int) -> None:
        self._wanted, self._place, self._cc, self._redirects = wanted, place, cc, redirects
        self._epoch_ns = epoch_ns
        self._samples: list[Sample] = []
        self._bins: list[tuple[int, int]] = []
        self._began_ns = 0

    async def run(self) -> Download | str | float:
        """The download; or where the server sends us instead; or for how many seconds."""
        async with self._opened() as (channel, opening):
            return await self._exchange(channel, opening)

    async def page(self) -> bytes:
        """A short body itself."""
        async with self._opened() as (channel, _):
            reading = Reading(channel)
            head = await reading.ask(Target(self._place.host_field, self._place.path))
            return await reading.page() if head.status == HTTPStatus.OK else b""

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Channel, "_Opening"]]:
        """A connection, and how long it took."""
        before_ns = time.monotonic_ns()
        addresses = await self._addresses()
        dns_ns = time.monotonic_ns() - before_ns if not _literal(self._place.host) else 0
        sock, address = await self._connected(addresses)
        connect_ns = self._now_ns()
        with contextlib.ExitStack() as stack:
            stack.callback(sock.close)
            tls = self._wanted.tls if self._place.scheme == "https" else None
            with self._explained("TLS"):
                channel = Channel(sock, tls, self._place.host)
                stack.callback(channel.close)
                async with asyncio.timeout(self._wanted.silence_s):
                    await channel.handshake()
            yield channel, _Opening(address, dns_ns, connect_ns, None if tls is None else self._now_ns() - connect_ns)

    async def _exchange(self, channel: Channel, opening: _Opening) -> Download | str | float:
        reading = Reading(channel)
        asked_ns = self._now_ns()
        with self._explained("the request"):
            async with asyncio.timeout(self._wanted.silence_s):
                head = await reading.ask(self._target())
        first_ns = self._now_ns()
        if head.status in REDIRECTS and "location" in head.fields:
            return head.fields["location"]
        if head.status in BUSY and head.fields.get("retry-after", "").isdigit():
            return max(1.0, float(head.fields["retry-after"]))
        await self._check(head, reading)
        with self._explained("the body"):
            more = await self._body(channel, reading, first_ns)
        total_ns = self._now_ns()
        self._look(channel, total_ns)
        self._bins.append((total_ns, reading.bytes))
        server = await self._statistics(channel, head) if more else None
        return Download(
            cc_asked=self._cc, cc=(server or {}).get("cc") or head.fields.get(CC.lower()), url=self._place.url,
            address=opening.address, began_ns=self._began_ns - self._epoch_ns, dns_ns=opening.dns_ns,
            connect_ns=opening.connect_ns, tls_ns=opening.tls_ns, asked_ns=asked_ns, first_byte_ns=first_ns,
            total_ns=total_ns, bytes=reading.bytes, status=head.status, redirects=self._redirects,
            bins=tuple(self._bins), ours=tuple(rows(self._samples)),
            server=server,
        )  # fmt: skip

    def _target(self) -> Target:
        """The path and fields. A size is a number of bytes at a Dumbbell's root, and a range of everything else."""
        path, size = self._place.path, self._wanted.size_bytes
        fields = [(SAMPLE, self._wanted.sample)]
        if self._cc is not None:
            fields.append((CC, self._cc))
        if size is not None and path == "/":
            path = f"/bytes/{size}"
        elif size is not None:
            fields.append(("Range", f"bytes=0-{size - 1}"))
        return Target(self._place.host_field, path, tuple(fields))

    async def _check(self, head: Head, reading: Reading) -> None:
        """Raises `TransferError` where the answer isn't what was asked for."""
        url = self._place.url
        if not 200 <= head.status < 300:
            said = await self._first_line(head, reading)
            raise TransferError(f"{url}: the server answers {head.status}{said}")
        if self._cc is None:
            return
        told = head.fields.get(CC.lower())
        if told is None:
            raise TransferError(
                f"{url}: the server doesn't say which controller it uses, so it can't be asked for {self._cc}; "
                "leave --cc away to measure what it does"
            )

    async def _first_line(self, head: Head, reading: Reading) -> str:
        """What a server says of a status that isn't success, where it says it plainly."""
        if not head.fields.get("content-type", "").startswith("text/plain"):
            return ""
        try:
            async with asyncio.timeout(self._wanted.silence_s):
                words = (await reading.page()).decode("utf-8", "replace").strip().splitlines()
        except (TransferError, OSError):
            return ""
        return f": {words[0][:200]}" if words else ""

    async def _body(self, channel: Channel, reading: Reading, first_ns: int) -> bool:
        """Read it, with a look every 100 ms; fails when nothing comes for too long."""
        self._look(channel, first_ns)
        self._bins.append((first_ns, 0))
        looking = asyncio.ensure_future(self._keep_looking(channel, reading))
        watching = asyncio.ensure_future(reading.skip(self._wanted.size_bytes))
        try:
            before = -1
            while True:
                done, _ = await asyncio.wait([watching], timeout=self._wanted.silence_s)
                if done:
                    return watching.result()
                if reading.bytes == before:
                    of = "" if reading.length is None else f" of {reading.length}"
                    why = f"no byte for {self._wanted.silence_s:g} s, after {reading.bytes}{of}"
                    raise TransferError(why)
                before = reading.bytes
        finally:
            for task in (looking, watching):
                task.cancel()
            await asyncio.gather(looking, watching, return_exceptions=True)

    async def _keep_looking(self, channel: Channel, reading: Reading) -> None:
        while len(self._bins) < MOST_SAMPLES:
            await asyncio.sleep(BIN_NS / NS)
            now_ns = self._now_ns()
            self._look(channel, now_ns)
            self._bins.append((now_ns, reading.bytes))

    def _look(self, channel: Channel, now_ns: int) -> None:
        seen = sample(channel.sock, now_ns)
        if seen is not None:
            self._samples.append(seen)

    async def _statistics(self, channel: Channel, head: Head) -> dict[str, Any] | None:
        """What the server saw at its socket, on the same connection; None where it doesn't say."""
        path = head.fields.get(STATS.lower())
        if path is None or not path.startswith("/") or not path.isascii():
            return None
        try:
            async with asyncio.timeout(self._wanted.silence_s):
                reading = Reading(channel)
                found = await reading.ask(Target(self._place.host_field, path))
                said = json.loads(await reading.page()) if found.status == HTTPStatus.OK else None
        except (OSError, ValueError, RecursionError, TransferError):
            return None
        return said if isinstance(said, dict) else None

    async def _addresses(self) -> list[tuple[int, tuple[Any, ...]]]:
        loop = asyncio.get_running_loop()
        place = self._place
        try:
            async with asyncio.timeout(self._wanted.silence_s):
                found = await loop.getaddrinfo(
                    place.host, place.port, family=self._wanted.family, type=socket.SOCK_STREAM
                )
        except (socket.gaierror, UnicodeError) as error:
            why = error.strerror if isinstance(error, socket.gaierror) else str(error)
            raise TransferError(f"{place.host}: no address: {why}") from None
        except TimeoutError:
            raise TransferError(f"{place.host}: no address after {self._wanted.silence_s:g} s") from None
        return [(family, address) for family, _, _, _, address in found]

    async def _connected(self, addresses: list[tuple[int, tuple[Any, ...]]]) -> tuple[socket.socket, str]:
        """The first of the addresses that answers; `began_ns` is when that one was tried."""
        loop = asyncio.get_running_loop()
        why: list[str] = []
        for family, address in addresses:
            sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            self._began_ns = time.monotonic_ns()
            try:
                async with asyncio.timeout(self._wanted.silence_s):
                    await loop.sock_connect(sock, address)
            except TimeoutError:
                sock.close()
                why.append(f"{address[0]}: no answer for {self._wanted.silence_s:g} s")
            except OSError as error:
                sock.close()
                why.append(f"{address[0]}: {os.strerror(error.errno) if error.errno else error}")
            except BaseException:
                sock.close()
                raise
            else:
                return sock, str(address[0])
        raise TransferError(f"{self._place.host}, port {self._place.port}: can't connect: {'; '.join(why)}")

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._began_ns

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Errors of sockets and TLS as our own, with the URL."""
        url = self._place.url
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            right = "--cacert FILE names whom to trust, --insecure trusts anybody"
            raise TransferError(f"{url}: the certificate can't be trusted: {error.verify_message}; {right}") from None
        except ssl.SSLError as error:
            raise TransferError(f"{url}: {what}: TLS failed: {error.reason or error}") from None
        except TimeoutError:
            raise TransferError(f"{url}: {what}: nothing came for {self._wanted.silence_s:g} s") from None
        except OSError as error:
            raise TransferError(f"{url}: {what}: {error.strerror or error}") from None
        except TransferError as error:
            raise TransferError(f"{url}: {error}") from None


def _literal(host: str) -> bool:
    try:
        ip_address(host.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    return True
