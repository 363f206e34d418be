"""The server over real sockets: what it sends, and which requests it refuses."""

import json
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.transfer import channel, server
from dumbbell.transfer.responses import BLOCK_BYTES, Limits, block
from dumbbell.transfer.server import Serving, tls_context
from transfer.running_server import RunningServer, parse_response, read_all, running_server


@pytest.fixture(scope="module")
def plain() -> Iterator[RunningServer]:
    with running_server(Serving(limits=Limits(silence_s=5))) as running:
        yield running


def block_bytes(first: int, stop: int) -> bytes:
    with block() as payload:
        assert payload.memory is not None
        memory = bytes(payload.memory)
    return b"".join(memory[at % BLOCK_BYTES : at % BLOCK_BYTES + 1] for at in range(first, stop))


BLOCK = block_bytes(0, 3000)


def test_the_server_sends_exactly_the_requested_bytes(plain: RunningServer) -> None:
    status, fields, body = plain.get("/bytes/61kB")
    assert (status, len(body), fields["content-length"]) == (200, 61000, "61000")
    assert body[:3000] == BLOCK


def test_a_body_longer_than_the_block_repeats_the_block(plain: RunningServer) -> None:
    size = 2 * BLOCK_BYTES + 17
    _, _, body = plain.get(f"/bytes/{size}")
    assert len(body) == size
    assert body[BLOCK_BYTES : BLOCK_BYTES + 3000] == body[:3000] == body[2 * BLOCK_BYTES :][:3000] + BLOCK[17:]


@given(data=st.data(), size=st.integers(1, 3000))
def test_any_range_gives_its_slice(plain: RunningServer, data: st.DataObject, size: int) -> None:
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size + 5))
    text = data.draw(st.sampled_from([f"{first}-{last}", f"{first}-", f"-{size - first}"]))
    status, fields, body = plain.get(f"/bytes/{size}", f"Range: bytes={text}")
    stop = min(last + 1, size) if text == f"{first}-{last}" else size
    assert (status, body) == (206, BLOCK[first:stop])
    assert fields["content-range"] == f"bytes {first}-{stop - 1}/{size}"


def test_a_range_without_a_byte_is_416_with_the_size(plain: RunningServer) -> None:
    for text in ("100-", "100-200", "-0"):
        status, fields, _ = plain.get("/bytes/100", f"Range: bytes={text}")
        assert (status, fields["content-range"]) == (416, "bytes */100")


@pytest.mark.parametrize("text", ["bytes=0-1,3-4", "lines=0-1", "bytes=5-2", "bytes=-", "bytes", "bytes=a-b"])
def test_a_range_that_is_not_one_byte_range_is_ignored(plain: RunningServer, text: str) -> None:
    status, _, body = plain.get("/bytes/100", f"Range: {text}")
    assert (status, len(body)) == (200, 100)


def test_a_range_of_a_changed_resource_is_ignored(plain: RunningServer) -> None:
    assert plain.get("/bytes/100", "Range: bytes=0-1", 'If-Range: "other"')[0] == 200
    assert plain.get("/bytes/100", "Range: bytes=0-1", 'If-Range: "random"')[0] == 206


@pytest.mark.parametrize("cc", channel.allowed())
def test_a_requested_controller_is_set_on_the_socket(plain: RunningServer, cc: str) -> None:
    for path, field in ((f"/bytes/100?cc={cc}", "X: y"), ("/bytes/100", f"Dumbbell-CC: {cc}")):
        status, fields, _ = plain.get(path, field)
        assert (status, fields["dumbbell-cc"]) == (200, cc)
        assert plain.log[-1].cc == cc


def test_a_request_without_a_controller_resets_the_default(plain: RunningServer) -> None:
    other = next(cc for cc in channel.allowed() if cc != channel.default())
    with plain.connect() as sock:
        sock.sendall(f"GET /bytes/10?cc={other} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        sock.sendall(b"GET /bytes/10 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        responses = read_all(sock).split(b"HTTP/1.1 200 ")
    assert [
        f"Dumbbell-CC: {cc}".encode() in response
        for cc, response in zip((other, channel.default()), responses[1:], strict=True)
    ]
    assert f"Dumbbell-CC: {channel.default()}".encode() in responses[2]


@pytest.mark.parametrize("cc", ["nosuch", "", "a b", "x" * 40, "cubic%00"])
def test_an_unknown_controller_is_400_with_the_available_ones(plain: RunningServer, cc: str) -> None:
    status, _, body = plain.get(f"/bytes/100?cc={cc.replace(' ', '%20')}")
    assert status == 400
    assert cc != "nosuch" or ", ".join(channel.allowed()).encode() in body


def test_a_server_may_offer_fewer_controllers_and_none_that_the_kernel_lacks() -> None:
    with running_server(Serving(controllers=("reno",))) as running:
        assert running.get("/bytes/1?cc=cubic")[0] == 400
        assert json.loads(running.get("/about")[2])["controllers"] == ["reno"]
    with (
        pytest.raises(ExperimentError, match="unavailable congestion control"),
        running_server(Serving(controllers=("nosuch",))),
    ):
        pass


def test_statistics_are_those_of_the_socket(plain: RunningServer) -> None:
    with plain.connect() as sock:
        sock.sendall(b"GET /bytes/3MB?sample=10ms HTTP/1.1\r\nHost: a\r\n\r\n")
        reader = sock.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += reader.readline()
        reader.read(3_000_000)
        token = parse_response(head)[1]["dumbbell-stats"]
        sock.sendall(f"GET {token} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        statistics = json.loads(reader.read().partition(b"\r\n\r\n")[2])
    assert (statistics["bytes"], statistics["complete"], statistics["cc"]) == (3_000_000, True, channel.default())
    last = statistics["samples"][-1]
    assert last["bytes_acked"] >= 3_000_000
    assert last["rtt_ns"] > 0
    assert last["cwnd_packets"] > 0
    assert [row["time_ns"] for row in statistics["samples"]] == sorted(row["time_ns"] for row in statistics["samples"])
    assert plain.get("/stats/nosuch")[0] == 404


def test_head_has_the_fields_and_no_body(plain: RunningServer) -> None:
    status, fields, body = plain.get("/bytes/61MB", method="HEAD")
    assert (status, fields["content-length"], body) == (200, "61000000", b"")


def test_a_connection_is_closed_after_its_limit_of_requests() -> None:
    with running_server(Serving(limits=Limits(requests=3))) as running:
        response = running.exchange(b"GET /bytes/5 HTTP/1.1\r\nHost: a\r\n\r\n" * 5)
    assert response.count(b"HTTP/1.1 200") == 3
    assert response.count(b"Connection: close") == 1


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /bytes/1\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET bytes HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"x" * 30000 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405),
        (b"GET /nosuch HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"GET /files/a HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"GET /bytes/2GB HTTP/1.1\r\nHost: a\r\n\r\n", 413),
        (b"GET /bytes/many HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /bytes/0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /bytes/5?sample=never HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET http://elsewhere/about HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ],
)
def test_each_invalid_request_has_its_status(plain: RunningServer, message: bytes, status: int) -> None:
    assert parse_response(plain.exchange(message))[0] == status


def test_an_incomplete_request_is_408() -> None:
    with running_server(Serving(limits=Limits(silence_s=0.3))) as running, running.connect() as sock:
        sock.sendall(b"GET / HT")
        assert parse_response(read_all(sock))[0] == 408


def test_an_idle_connection_is_closed_without_a_response() -> None:
    with running_server(Serving(limits=Limits(silence_s=0.3))) as running, running.connect() as sock:
        assert read_all(sock) == b""


@pytest.mark.slow
def test_a_client_that_stops_reading_is_closed_and_others_are_served() -> None:
    with running_server(Serving(limits=Limits(silence_s=3.0))) as running, running.connect() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /bytes/900MB HTTP/1.1\r\nHost: a\r\n\r\n")
        assert running.get("/bytes/1MB")[0] == 200
        until = time.monotonic() + 60
        while not any(each.fault for each in running.log) and time.monotonic() < until:
            time.sleep(0.05)
    assert "stalled for 3 s" in [each.fault for each in running.log]


def test_a_connection_beyond_the_limit_is_refused() -> None:
    for limits, status in ((Limits(clients=2), 503), (Limits(address_clients=2), 429)):
        with running_server(Serving(limits=limits)) as running, running.connect() as one, running.connect() as two:
            for sock in (one, two):  # A response shows that the connection was accepted.
                sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                assert sock.recv(12) == b"HTTP/1.1 200"
            refused, fields, _ = running.get("/bytes/1")
            assert (refused, fields["retry-after"]) == (status, "5")


@pytest.mark.parametrize("limits", [Limits(rate_bps=8_000_000), Limits(address_rate_bps=8_000_000)])
def test_a_rate_limit_is_kept_and_reported(limits: Limits) -> None:
    with running_server(Serving(limits=limits)) as running:
        start_s = time.monotonic()
        _, fields, body = running.get("/bytes/400kB")
        duration_s = time.monotonic() - start_s
        statistics = json.loads(running.get(fields["dumbbell-stats"])[2])
    assert len(body) == 400_000
    # 0.4 s at 1 MB/s, less the initial burst.
    assert duration_s > 0.3
    # On a busy host the server itself is slow, and the limit delays it less.
    assert statistics["held_back_s"] > 0


def test_a_request_that_would_wait_long_for_the_rate_limit_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    """At one byte per second, a client that would wait for more than ten others is refused."""
    monkeypatch.setattr(server, "GRACE_S", 0.1)
    with ExitStack() as stack:
        running = stack.enter_context(running_server(Serving(limits=Limits(rate_bps=8))))
        statuses = []
        for _ in range(14):
            sock = stack.enter_context(running.connect())
            sock.sendall(b"GET /bytes/100 HTTP/1.1\r\nHost: a\r\n\r\n")
            statuses.append(sock.recv(12)[-3:])
        status, fields, _ = running.get("/bytes/100")
    assert statuses[:8] == [b"200"] * 8
    assert (status, statuses[-1]) == (503, b"503")
    assert int(fields["retry-after"]) >= 9


def test_only_files_of_the_folder_are_served(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "ä b").write_bytes(b"hello")
    (root / ".hidden").write_text("no")
    (root / "big").write_bytes(b"x" * 2000)
    (tmp_path / "secret").write_text("no")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "way").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    with running_server(Serving(root=root, limits=Limits(size_bytes=1000))) as running:
        status, fields, body = running.get("/files/deep/%C3%A4%20b")
        assert (status, body) == (200, b"hello")
        assert running.get("/files/deep/%C3%A4%20b", "Range: bytes=1-2", f"If-Range: {fields['etag']}")[2] == b"el"
        assert running.get("/files/big")[0] == 413
        for path in (
            "link", "way/secret", "../secret", "%2e%2e/secret", "..%2fsecret", "deep/../../secret", ".hidden", "pipe",
            "deep", "", "/etc/passwd", "deep/%C3%A4%20b/x", "nosuch", "a%00b", "%ff",
        ):  # fmt: skip
            assert running.get(f"/files/{path}")[0] in (400, 404), path


def test_the_server_listens_on_the_loopback_addresses_only(plain: RunningServer) -> None:
    assert {url.rsplit(":", 1)[0] for url in plain.urls} <= {"http://127.0.0.1", "http://[::1]"}


def test_one_socket_serves_both_families() -> None:
    try:
        with running_server(Serving(hosts=("::",))) as running:
            for host in ("127.0.0.1", "::1"):
                with socket.create_connection((host, running.port), timeout=10) as sock:
                    sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    assert parse_response(read_all(sock))[0] == 200
            assert [each.address for each in running.log] == ["127.0.0.1", "::1"]
    except DumbbellError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_a_port_in_use_is_an_error_with_its_number(plain: RunningServer) -> None:
    with pytest.raises(DumbbellError, match=f"port {plain.port}"), running_server(Serving(port=plain.port)):
        pass


def test_tls_sends_the_same_bytes(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    tls = ssl.create_default_context()
    authority.configure_trust(tls)
    with running_server(Serving(tls=tls_context(tmp_path / "server.pem", None))) as running:
        with tls.wrap_socket(running.connect(), server_hostname="localhost") as sock:
            sock.sendall(b"GET /bytes/9MB?cc=reno HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            status, fields, body = parse_response(read_all(sock))
        assert (status, len(body), fields["dumbbell-cc"]) == (200, 9_000_000, "reno")
        assert body[:3000] == BLOCK
        assert body[BLOCK_BYTES : BLOCK_BYTES + 3000] == BLOCK
        with running.connect() as plaintext:  # Without TLS: the server closes, and serves the next client.
            plaintext.sendall(b"GET / HTTP/1.1\r\n\r\n")
            read_all(plaintext)
        with tls.wrap_socket(running.connect(), server_hostname="localhost") as sock:
            sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert parse_response(read_all(sock))[0] == 200


def test_an_invalid_tls_certificate_is_an_error_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "server.pem").write_text("nonsense")
    with pytest.raises(DumbbellError, match=r"server\.pem"):
        tls_context(tmp_path / "server.pem", None)


@pytest.mark.slow
def test_responses_in_progress_are_completed_when_the_server_ends() -> None:
    with running_server(Serving(limits=Limits(rate_bps=1_000_000))) as running:
        sock = running.connect()
        sock.sendall(b"GET /bytes/50kB HTTP/1.1\r\nHost: a\r\n\r\n")
        assert sock.recv(12) == b"HTTP/1.1 200"
    with sock:
        assert len(read_all(sock)) > 50_000
