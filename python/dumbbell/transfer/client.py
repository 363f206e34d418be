"""One download over its own connection, and its measurements: times, bytes over time, socket samples of both ends.

`ab_session` decides which downloads to make, `http_messages` parses responses.
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
from urllib.request import getproxies, proxy_bypass

from dumbbell.errors import TransferError, UrlError
from dumbbell.transfer.channel import Channel, Sample, rows, sample
from dumbbell.transfer.http_messages import CC, SAMPLE, STATS, Head, Reading, Target

__all__ = ["Download", "DownloadRequest", "Url", "about", "download", "parse_url", "unused_proxy"]

NS = 1_000_000_000
BIN_NS = 100_000_000
MOST_REDIRECTS = 5
MOST_SAMPLES = 5_000
REDIRECTS = (301, 302, 303, 307, 308)
BUSY = (429, 503)
MOST_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Url:
    """A parsed URL."""

    url: str
    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_field(self) -> str:
        """The value of the Host field (RFC 9110 section 7.2)."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return name if self.port == usual else f"{name}:{self.port}"


@dataclass(frozen=True)
class DownloadRequest:
    """Settings of all downloads in a session."""

    location: Url
    size_bytes: int | None = None
    """Download only this many bytes; a Dumbbell server's root provides any number."""
    family: int = socket.AF_UNSPEC
    tls: ssl.SSLContext | None = None
    timeout_s: float = 300.0
    silence_s: float = 30.0
    sample: str = "100ms"


@dataclass(frozen=True)
class Download:
    """One download. Times are nanoseconds; `began_ns` is on the session's clock, all others are relative to it."""

    cc_requested: str | None
    cc: str | None
    """Congestion control reported by the server; None if it reports none."""
    url: str
    address: str
    began_ns: int
    dns_ns: int
    """Duration of the DNS lookup, before the connection; 0 for an address."""
    connect_ns: int
    tls_ns: int | None
    requested_ns: int
    first_byte_ns: int
    """Arrival of the response's head."""
    total_ns: int
    """From the connection's first packet to the body's last byte."""
    bytes: int
    status: int
    redirects: int
    bins: tuple[tuple[int, int], ...]
    """Cumulative bytes of the body, every 100 ms."""
    ours: tuple[dict[str, Any], ...]
    """Samples of the client's socket, in columns of `channel.rows`."""
    server: dict[str, Any] | None = field(default=None, repr=False)
    """The server's statistics; None if it offers none."""
    waited_s: float = 0.0
    """How long a busy server (429, 503) made it wait before `began_ns`."""


def parse_url(url: str) -> Url:
    """Parse a URL. Raises `UrlError` unless it is a valid http or https URL."""
    try:
        split = urlsplit(url if "://" in url else f"http://{url}")
        host, port = split.hostname, split.port
    except ValueError as error:
        raise UrlError(f"{url}: not a URL: {error}") from None
    if split.scheme not in ("http", "https") or not host:
        raise UrlError(f"{url}: not an http or https URL; use for example http://server:8080/ or https://server/file")
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    if not path.isascii() or any(sign <= " " or sign == "\x7f" for sign in path):
        raise UrlError(f"{url}: the path has characters that must be percent-encoded")
    return Url(url, split.scheme, host, port or {"http": 80, "https": 443}[split.scheme], path)


async def download(request: DownloadRequest, cc: str | None, epoch_ns: int) -> Download:
    """Download once, with this congestion control if given; follows redirects and honours Retry-After.

    Raises `TransferError` with the URL and the problem.
    """
    location, redirects, waited_s = request.location, 0, 0.0
    try:
        async with asyncio.timeout(request.timeout_s):
            while True:
                attempt = _Attempt(request, location, cc, epoch_ns, redirects)
                found = await attempt.run()
                if isinstance(found, Download):
                    return replace(found, waited_s=waited_s)
                if isinstance(found, float):
                    waited_s += found
                    if waited_s > MOST_PATIENCE_S:
                        raise TransferError(
                            f"{location.url}: the server is too busy: it requested to wait {waited_s:.0f} s"
                        )
                    await asyncio.sleep(found)
                    continue
                redirects += 1
                if redirects > MOST_REDIRECTS:
                    raise TransferError(
                        f"{request.location.url}: more than {MOST_REDIRECTS} redirects, the last to {found}"
                    )
                location = _redirected(location, found)
    except TimeoutError:
        raise TransferError(f"{request.location.url}: not complete after {request.timeout_s:g} s (--timeout)") from None


async def about(request: DownloadRequest) -> dict[str, Any]:
    """The /about object of a Dumbbell server; empty for other servers."""
    location = replace(request.location, path="/about")
    with contextlib.suppress(TransferError, OSError, ValueError, RecursionError):
        async with asyncio.timeout(request.silence_s):
            body = await _Attempt(replace(request, location=location), location, None, time.monotonic_ns(), 0).page()
        found = json.loads(body)
        return found if isinstance(found, dict) else {}
    return {}


def unused_proxy(location: Url) -> str:
    """The environment's variable with a proxy for this URL, which downloads don't use; empty if none."""
    proxies = getproxies()
    kind = next((kind for kind in (location.scheme, "all") if proxies.get(kind)), "")
    # The name without the value, which may have a password.
    return f"{kind}_proxy" if kind and not proxy_bypass(location.host) else ""


def _redirected(location: Url, found: str) -> Url:
    following = parse_url(urljoin(location.url, found))
    if location.scheme == "https" and following.scheme == "http":
        raise TransferError(
            f"{location.url}: the server redirects from https to {following.url}; use that URL if you trust it"
        )
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

    def __init__(self, request: DownloadRequest, location: Url, cc: str | None, epoch_ns: int, redirects: int) -> None:
        self._request, self._location, self._cc, self._redirects = request, location, cc, redirects
        self._epoch_ns = epoch_ns
        self._samples: list[Sample] = []
        self._bins: list[tuple[int, int]] = []
        self._began_ns = 0

    async def run(self) -> Download | str | float:
        """The download; or the URL of a redirect; or the seconds of Retry-After."""
        async with self._opened() as (channel, opening):
            return await self._exchange(channel, opening)

    async def page(self) -> bytes:
        """Fetch a short body."""
        async with self._opened() as (channel, _):
            reading = Reading(channel)
            head = await reading.send_request(Target(self._location.host_field, self._location.path))
            return await reading.page() if head.status == HTTPStatus.OK else b""

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Channel, "_Opening"]]:
        """Open a connection and measure its times."""
        before_ns = time.monotonic_ns()
        addresses = await self._addresses()
        dns_ns = time.monotonic_ns() - before_ns if not _literal(self._location.host) else 0
        sock, address = await self._connected(addresses)
        connect_ns = self._now_ns()
        with contextlib.ExitStack() as stack:
            stack.callback(sock.close)
            tls = self._request.tls if self._location.scheme == "https" else None
            with self._explained("TLS"):
                channel = Channel(sock, tls, self._location.host)
                stack.callback(channel.close)
                async with asyncio.timeout(self._request.silence_s):
                    await channel.handshake()
            yield channel, _Opening(address, dns_ns, connect_ns, None if tls is None else self._now_ns() - connect_ns)

    async def _exchange(self, channel: Channel, opening: _Opening) -> Download | str | float:
        reading = Reading(channel)
        requested_ns = self._now_ns()
        with self._explained("the request"):
            async with asyncio.timeout(self._request.silence_s):
                head = await reading.send_request(self._target())
        first_ns = self._now_ns()
        if head.status in REDIRECTS and "location" in head.fields:
            return head.fields["location"]
        if head.status in BUSY and head.fields.get("retry-after", "").isdigit():
            return max(1.0, float(head.fields["retry-after"]))
        await self._check(head, reading)
        with self._explained("the body"):
            more = await self._body(channel, reading, first_ns)
        total_ns = self._now_ns()
        self._sample(channel, total_ns)
        self._bins.append((total_ns, reading.bytes))
        server = await self._statistics(channel, head) if more else None
        return Download(
            cc_requested=self._cc, cc=(server or {}).get("cc") or head.fields.get(CC.lower()), url=self._location.url,
            address=opening.address, began_ns=self._began_ns - self._epoch_ns, dns_ns=opening.dns_ns,
            connect_ns=opening.connect_ns, tls_ns=opening.tls_ns, requested_ns=requested_ns, first_byte_ns=first_ns,
            total_ns=total_ns, bytes=reading.bytes, status=head.status, redirects=self._redirects,
            bins=tuple(self._bins), ours=tuple(rows(self._samples)),
            server=server,
        )  # fmt: skip

    def _target(self) -> Target:
        """Path and fields. A size becomes /bytes/SIZE at a Dumbbell server's root, and a Range elsewhere."""
        path, size = self._location.path, self._request.size_bytes
        fields = [(SAMPLE, self._request.sample)]
        if self._cc is not None:
            fields.append((CC, self._cc))
        if size is not None and path == "/":
            path = f"/bytes/{size}"
        elif size is not None:
            fields.append(("Range", f"bytes=0-{size - 1}"))
        return Target(self._location.host_field, path, tuple(fields))

    async def _check(self, head: Head, reading: Reading) -> None:
        """Raises `TransferError` unless the response is successful and names its congestion control if one was set."""
        url = self._location.url
        if not 200 <= head.status < 300:
            explanation = await self._first_line(head, reading)
            raise TransferError(f"{url}: the server answers {head.status}{explanation}")
        if self._cc is not None and CC.lower() not in head.fields:
            raise TransferError(
                f"{url}: the server doesn't report its congestion control, so {self._cc} can't be requested; "
                "remove --cc to measure the server's default"
            )

    async def _first_line(self, head: Head, reading: Reading) -> str:
        """The first line of a text/plain error response."""
        if not head.fields.get("content-type", "").startswith("text/plain"):
            return ""
        try:
            async with asyncio.timeout(self._request.silence_s):
                lines = (await reading.page()).decode("utf-8", "replace").strip().splitlines()
        except (TransferError, OSError):
            return ""
        return f": {lines[0][:200]}" if lines else ""

    async def _body(self, channel: Channel, reading: Reading, first_ns: int) -> bool:
        """Read the body, sampling every 100 ms; fails when no data arrives within the timeout."""
        self._sample(channel, first_ns)
        self._bins.append((first_ns, 0))
        sampling = asyncio.ensure_future(self._keep_sampling(channel, reading))
        watching = asyncio.ensure_future(reading.skip(self._request.size_bytes))
        try:
            before = -1
            while True:
                done, _ = await asyncio.wait([watching], timeout=self._request.silence_s)
                if done:
                    return watching.result()
                if reading.bytes == before:
                    of = "" if reading.length is None else f" of {reading.length}"
                    why = f"no data for {self._request.silence_s:g} s, after {reading.bytes}{of} bytes"
                    raise TransferError(why)
                before = reading.bytes
        finally:
            for task in (sampling, watching):
                task.cancel()
            await asyncio.gather(sampling, watching, return_exceptions=True)

    async def _keep_sampling(self, channel: Channel, reading: Reading) -> None:
        while len(self._bins) < MOST_SAMPLES:
            await asyncio.sleep(BIN_NS / NS)
            now_ns = self._now_ns()
            self._sample(channel, now_ns)
            self._bins.append((now_ns, reading.bytes))

    def _sample(self, channel: Channel, now_ns: int) -> None:
        seen = sample(channel.sock, now_ns)
        if seen is not None:
            self._samples.append(seen)

    async def _statistics(self, channel: Channel, head: Head) -> dict[str, Any] | None:
        """The server's statistics of its socket, over the same connection; None if it offers none."""
        path = head.fields.get(STATS.lower())
        if path is None or not path.startswith("/") or not path.isascii():
            return None
        try:
            async with asyncio.timeout(self._request.silence_s):
                reading = Reading(channel)
                found = await reading.send_request(Target(self._location.host_field, path))
                statistics = json.loads(await reading.page()) if found.status == HTTPStatus.OK else None
        except (OSError, ValueError, RecursionError, TransferError):
            return None
        return statistics if isinstance(statistics, dict) else None

    async def _addresses(self) -> list[tuple[int, tuple[Any, ...]]]:
        loop = asyncio.get_running_loop()
        location = self._location
        try:
            async with asyncio.timeout(self._request.silence_s):
                found = await loop.getaddrinfo(
                    location.host, location.port, family=self._request.family, type=socket.SOCK_STREAM
                )
        except (socket.gaierror, UnicodeError) as error:
            why = error.strerror if isinstance(error, socket.gaierror) else str(error)
            raise TransferError(f"{location.host}: no address: {why}") from None
        except TimeoutError:
            raise TransferError(f"{location.host}: no address after {self._request.silence_s:g} s") from None
        return [(family, address) for family, _, _, _, address in found]

    async def _connected(self, addresses: list[tuple[int, tuple[Any, ...]]]) -> tuple[socket.socket, str]:
        """Connect to the first address that answers; `began_ns` is the start of that attempt."""
        loop = asyncio.get_running_loop()
        why: list[str] = []
        for family, address in addresses:
            sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            self._began_ns = time.monotonic_ns()
            try:
                async with asyncio.timeout(self._request.silence_s):
                    await loop.sock_connect(sock, address)
            except TimeoutError:
                sock.close()
                why.append(f"{address[0]}: no answer for {self._request.silence_s:g} s")
            except OSError as error:
                sock.close()
                why.append(f"{address[0]}: {os.strerror(error.errno) if error.errno else error}")
            except BaseException:
                sock.close()
                raise
            else:
                return sock, str(address[0])
        direct = "; the proxy of the environment is not used" if unused_proxy(self._location) else ""
        raise TransferError(
            f"{self._location.host}, port {self._location.port}: can't connect: {'; '.join(why)}{direct}"
        )

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._began_ns

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Convert socket and TLS errors to `TransferError` with the URL."""
        url = self._location.url
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            right = "use --cacert FILE to trust its issuer, or --insecure to skip the check"
            raise TransferError(f"{url}: the certificate is not trusted: {error.verify_message}; {right}") from None
        except ssl.SSLError as error:
            raise TransferError(f"{url}: {what}: TLS failed: {error.reason or error}") from None
        except TimeoutError:
            raise TransferError(f"{url}: {what}: no data for {self._request.silence_s:g} s") from None
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
