"""On any input the server replies or closes, and serves the next client; the client ends with its own error."""

import asyncio
import contextlib
import random
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.errors import TransferError
from dumbbell.transfer.channel import Channel
from dumbbell.transfer.client import parse_url
from dumbbell.transfer.http_messages import (
    Reading,
    Refusal,
    Target,
    byte_range,
    parse_request,
    path_parts,
    requested_size,
)
from dumbbell.transfer.responses import Limits
from dumbbell.transfer.server import Serving
from transfer.running_server import RunningServer, parse_response, running_server

STATUSES = {200, 206, 400, 404, 405, 408, 413, 416, 431, 501, 505}
PIECES = [
    b"GET ", b"HEAD ", b"POST ", b"/", b"/bytes/", b"1", b"99", b"9GB", b"?cc=", b"bbr", b"reno", b"&sample=", b"10ms",
    b"%2e", b"/stats/", b"/files/", b" HTTP/1.1", b" HTTP/1.0", b" HTTP/9", b"\r\n", b"\n", b"\0", b"\r\n\r\n",
    b"Host: a\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Range: bytes=", b"-", b",",
    b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n", b"Dumbbell-CC: ", b"\xff\xfe",
    b" " * 50, b"x" * 3000,
]  # fmt: skip
messages = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=30)), max_size=25).map(b"".join)


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with running_server(Serving(limits=Limits(silence_s=2, size_bytes=100_000))) as found:
        yield found


def check_response(running: RunningServer, data: bytes) -> None:
    """The server closes without a reply, or replies with a known status."""
    response = running.exchange(data)
    if response:
        assert parse_response(response)[0] in STATUSES, response[:200]


@given(messages)
def test_the_server_replies_to_any_bytes_or_closes(running: RunningServer, data: bytes) -> None:
    check_response(running, data)


def test_the_server_survives_random_bytes_and_serves_the_next_client(running: RunningServer) -> None:
    rng = random.Random(8)
    for _ in range(300):
        check_response(running, rng.randbytes(rng.randrange(1, 400)))
    valid = bytearray(b"GET /bytes/2000?cc=reno&sample=10ms HTTP/1.1\r\nHost: a\r\nRange: bytes=5-900\r\n\r\n")
    for _ in range(300):  # A valid request with a few wrong bytes passes more checks.
        wrong = bytearray(valid)
        for _ in range(rng.randrange(1, 4)):
            wrong[rng.randrange(len(wrong))] = rng.randrange(256)
        check_response(running, bytes(wrong))
    assert running.get("/bytes/1000")[0] == 200


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_in_a_request_are_parsed_or_refused(target: bytes, field: bytes) -> None:
    with contextlib.suppress(Refusal):
        request = parse_request(
            b"GET", target, [(b"range", field), (b"dumbbell-cc", field), (b"dumbbell-sample", field)]
        )
        for read in (lambda: request.cc, lambda: request.sample_ns, lambda: byte_range(request, 1000, '"a"')):
            with contextlib.suppress(Refusal):
                read()
        path_parts(request.path)
        requested_size(request.path, 1000)


async def _read(response: bytes, most: int | None, pieces: int) -> Reading:
    """Read a response from a peer that sends it in pieces and closes."""
    client, peer = socket.socketpair()
    channel = Channel(client)
    peer.setblocking(False)
    loop = asyncio.get_running_loop()

    async def send() -> None:
        size = max(1, len(response) // pieces)
        for at in range(0, len(response), size):
            await loop.sock_sendall(peer, response[at : at + size])
            await asyncio.sleep(0)
        peer.shutdown(socket.SHUT_WR)

    sender = asyncio.ensure_future(send())
    try:
        async with asyncio.timeout(10):
            reading = Reading(channel)
            await reading.send_request(Target("a", "/"))
            await reading.skip(most)
            return reading
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        channel.close()
        peer.close()


RESPONSES = [
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 204 No\r\n",
    b"HTTP/1.1 304 N\r\n", b"Content-Length: 5\r\n", b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: -1\r\n", b"Connection: close\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n", b"hello",
    b"5\r\nhello\r\n", b"0\r\n\r\n", b"ffffffffffffffffff\r\n", b"zz\r\n", b"Transfer-Encoding: gzip\r\n",
    b"X: " + b"y" * 5000 + b"\r\n",
]  # fmt: skip


@given(
    st.lists(st.one_of(st.sampled_from(RESPONSES), st.binary(max_size=20)), max_size=15).map(b"".join),
    st.one_of(st.none(), st.integers(1, 10)),
    st.integers(1, 5),
)
@settings(max_examples=settings().max_examples * 3)
def test_any_bytes_in_a_response_are_a_body_or_a_transfer_error(response: bytes, most: int | None, pieces: int) -> None:
    with contextlib.suppress(TransferError, OSError):
        asyncio.run(_read(response, most, pieces))


@given(st.binary(min_size=1, max_size=3000), st.integers(1, 7), st.sampled_from(["length", "chunked", "close"]))
def test_every_framing_gives_the_whole_body(body: bytes, pieces: int, framing: str) -> None:
    if framing == "length":
        response = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    elif framing == "chunked":
        half = len(body) // 2
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (body[:half], body[half:]) if chunk)
        response = b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    else:
        response = b"\r\n" + body
    assert asyncio.run(_read(b"HTTP/1.1 200 OK\r\n" + response, None, pieces)).bytes == len(body)


@given(st.binary(min_size=2, max_size=300), st.sampled_from(["length", "chunked"]))
def test_a_truncated_body_is_an_error(body: bytes, framing: str) -> None:
    length = b"Content-Length: %d\r\n\r\n%s" % (len(body), body[:-1])
    chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s" % (len(body), body[:-1])
    response = b"HTTP/1.1 200 OK\r\n" + (length if framing == "length" else chunked)
    with pytest.raises(TransferError, match=r"the connection ended after \d+|invalid HTTP"):
        asyncio.run(_read(response, None, 1))


@given(st.text(max_size=60))
def test_any_text_as_a_targetis_parsed_or_a_transfer_error(text: str) -> None:
    with contextlib.suppress(TransferError):
        target = parse_url(text)
        assert target.host
        assert target.path.startswith("/")
