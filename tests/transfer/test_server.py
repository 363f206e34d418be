"""The server over real sockets: what it sends, to whom, and what it refuses."""

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
from dumbbell.transfer import server, tcp_socket
from dumbbell.transfer.payload import BLOCK_BYTES, block
from dumbbell.transfer.server import Serving, tls_context
from dumbbell.transfer.server_limits import Limits
from transfer.running_server import RunningServer, everything, parsed, running_server


@pytest.fixture(scope="module")
def plain() -> Iterator[RunningServer]:
    with running_server(Serving(limits=Limits(silence_s=5))) as running:
        yield running


def block_bytes(first: int, stop: int) -> bytes:
    with block() as payload:
        assert payload.memory is not None
        whole = bytes(payload.memory)
    return b"".join(whole[at % BLOCK_BYTES : at % BLOCK_BYTES + 1] for at in range(first, stop))


BLOCK = block_bytes(0, 3000)


def test_it_sends_exactly_the_bytes_that_are_asked_for(plain: RunningServer) -> None:
    status, fields, body = plain.get("/bytes/61kB")
    assert (status, len(body), fields["content-length"]) == (200, 61000, "61000")
    assert body[:3000] == BLOCK


def test_a_body_longer_than_the_block_goes_on_with_the_block_s_beginning(plain: RunningServer) -> None:
    size = 2 * BLOCK_BYTES + 17
    _, _, body = plain.get(f"/bytes/{size}")
    assert len(body) == size
    assert body[BLOCK_BYTES : BLOCK_BYTES + 3000] == body[:3000] == body[2 * BLOCK_BYTES :][:3000] + BLOCK[17:]


@given(data=st.data(), size=st.integers(1, 3000))
def test_any_range_is_the_slice_that_it_names(plain: RunningServer, data: st.DataObject, size: int) -> None:
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size + 5))
    text = data.draw(st.sampled_from([f"{first}-{last}", f"{first}-", f"-{size - first}"]))
    status, fields, body = plain.get(f"/bytes/{size}", f"Range: bytes={text}")
    stop = min(last + 1, size) if text == f"{first}-{last}" else size
    assert (status, body) == (206, BLOCK[first:stop])
    assert fields["content-range"] == f"bytes {first}-{stop - 1}/{size}"


def test_a_range_without_a_byte_is_416_and_says_how_many_there_are(plain: RunningServer) -> None:
    for text in ("100-", "100-200", "-0"):
        status, fields, _ = plain.get("/bytes/100", f"Range: bytes={text}")
        assert (status, fields["content-range"]) == (416, "bytes */100")


@pytest.mark.parametrize("text", ["bytes=0-1,3-4", "lines=0-1", "bytes=5-2", "bytes=-", "bytes", "bytes=a-b"])
def test_what_is_no_single_range_of_bytes_is_ignored(plain: RunningServer, text: str) -> None:
    status, _, body = plain.get("/bytes/100", f"Range: {text}")
    assert (status, len(body)) == (200, 100)


def test_a_range_of_something_that_has_changed_is_ignored(plain: RunningServer) -> None:
    assert plain.get("/bytes/100", "Range: bytes=0-1", 'If-Range: "other"')[0] == 200
    assert plain.get("/bytes/100", "Range: bytes=0-1", 'If-Range: "random"')[0] == 206


@pytest.mark.parametrize("cc", tcp_socket.allowed())
def test_the_controller_that_is_named_is_the_socket_s(plain: RunningServer, cc: str) -> None:
    for path, field in ((f"/bytes/100?cc={cc}", "X: y"), ("/bytes/100", f"Dumbbell-CC: {cc}")):
        status, fields, _ = plain.get(path, field)
        assert (status, fields["dumbbell-cc"]) == (200, cc)
        assert plain.told[-1].cc == cc


def test_a_connection_goes_back_to_the_default_when_nothing_is_named(plain: RunningServer) -> None:
    other = next(cc for cc in tcp_socket.allowed() if cc != tcp_socket.default())
    with plain.connect() as sock:
        sock.sendall(f"GET /bytes/10?cc={other} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        sock.sendall(b"GET /bytes/10 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        both = everything(sock).split(b"HTTP/1.1 200 ")
    assert [
        f"Dumbbell-CC: {cc}".encode() in part for cc, part in zip((other, tcp_socket.default()), both[1:], strict=True)
    ]
    assert f"Dumbbell-CC: {tcp_socket.default()}".encode() in both[2]


@pytest.mark.parametrize("cc", ["nosuch", "", "a b", "x" * 40, "cubic%00"])
def test_an_unknown_controller_is_400_with_those_that_there_are(plain: RunningServer, cc: str) -> None:
    status, _, body = plain.get(f"/bytes/100?cc={cc.replace(' ', '%20')}")
    assert status == 400
    assert cc != "nosuch" or ", ".join(tcp_socket.allowed()).encode() in body


def test_a_server_may_offer_fewer_and_never_what_the_kernel_lacks() -> None:
    with running_server(Serving(controllers=("reno",))) as running:
        assert running.get("/bytes/1?cc=cubic")[0] == 400
        assert json.loads(running.get("/about")[2])["controllers"] == ["reno"]
    with (
        pytest.raises(ExperimentError, match="unavailable congestion control"),
        running_server(Serving(controllers=("nosuch",))),
    ):
        pass


def test_statistics_tell_what_the_socket_did(plain: RunningServer) -> None:
    with plain.connect() as sock:
        sock.sendall(b"GET /bytes/3MB?sample=10ms HTTP/1.1\r\nHost: a\r\n\r\n")
        reader = sock.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += reader.readline()
        reader.read(3_000_000)
        token = parsed(head)[1]["dumbbell-stats"]
        sock.sendall(f"GET {token} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        told = json.loads(reader.read().partition(b"\r\n\r\n")[2])
    assert (told["bytes"], told["complete"], told["cc"]) == (3_000_000, True, tcp_socket.default())
    last = told["samples"][-1]
    assert last["bytes_acked"] >= 3_000_000
    assert last["rtt_ns"] > 0
    assert last["cwnd_packets"] > 0
    assert [row["time_ns"] for row in told["samples"]] == sorted(row["time_ns"] for row in told["samples"])
    assert plain.get("/stats/nosuch")[0] == 404


def test_head_has_the_fields_and_no_body(plain: RunningServer) -> None:
    status, fields, body = plain.get("/bytes/61MB", method="HEAD")
    assert (status, fields["content-length"], body) == (200, "61000000", b"")


def test_a_connection_is_kept_for_so_many_requests() -> None:
    with running_server(Serving(limits=Limits(requests=3))) as running:
        answer = running.say(b"GET /bytes/5 HTTP/1.1\r\nHost: a\r\n\r\n" * 5)
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.count(b"Connection: close") == 1


@pytest.mark.parametrize(
    ("request_", "status"),
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
def test_each_wrong_request_has_its_status(plain: RunningServer, request_: bytes, status: int) -> None:
    assert parsed(plain.say(request_))[0] == status


def test_who_doesn_t_finish_a_request_is_told_so() -> None:
    with running_server(Serving(limits=Limits(silence_s=0.3))) as running, running.connect() as sock:
        sock.sendall(b"GET / HT")
        assert parsed(everything(sock))[0] == 408


def test_who_says_nothing_is_closed_without_a_word() -> None:
    with running_server(Serving(limits=Limits(silence_s=0.3))) as running, running.connect() as sock:
        assert everything(sock) == b""


def test_who_takes_nothing_is_cut_off_and_others_are_not() -> None:
    with running_server(Serving(limits=Limits(silence_s=3.0))) as running, running.connect() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /bytes/900MB HTTP/1.1\r\nHost: a\r\n\r\n")
        assert running.get("/bytes/1MB")[0] == 200
        until = time.monotonic() + 60
        while not any(each.fault for each in running.told) and time.monotonic() < until:
            time.sleep(0.05)
    assert "stalled for 3 s" in [each.fault for each in running.told]


def test_one_connection_more_than_allowed_is_turned_away() -> None:
    for limits, status in ((Limits(clients=2), 503), (Limits(address_clients=2), 429)):
        with running_server(Serving(limits=limits)) as running, running.connect() as one, running.connect() as two:
            for sock in (one, two):  # An answer says that it has been let in.
                sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                assert sock.recv(12) == b"HTTP/1.1 200"
            answer, fields, _ = running.get("/bytes/1")
            assert (answer, fields["retry-after"]) == (status, "5")


@pytest.mark.parametrize("limits", [Limits(rate_bps=8_000_000), Limits(address_rate_bps=8_000_000)])
def test_a_rate_is_kept_and_told(limits: Limits) -> None:
    with running_server(Serving(limits=limits)) as running:
        began = time.monotonic()
        _, fields, body = running.get("/bytes/400kB")
        took = time.monotonic() - began
        told = json.loads(running.get(fields["dumbbell-stats"])[2])
    assert len(body) == 400_000
    # 0.4 s at 1 MB/s, less what may go at once.
    assert took > 0.3
    # On a busy machine the server is slow by itself, and held back for less.
    assert told["held_back_s"] > 0


def test_a_rate_that_is_promised_to_others_for_long_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte a second: a client that would wait for more than ten others is refused."""
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


def test_files_of_the_folder_are_served_and_nothing_else_is(tmp_path: Path) -> None:
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


def test_it_listens_on_both_loopbacks_and_on_nothing_else(plain: RunningServer) -> None:
    assert {url.rsplit(":", 1)[0] for url in plain.urls} <= {"http://127.0.0.1", "http://[::1]"}


def test_one_socket_serves_both_families() -> None:
    try:
        with running_server(Serving(hosts=("::",))) as running:
            for host in ("127.0.0.1", "::1"):
                with socket.create_connection((host, running.port), timeout=10) as sock:
                    sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    assert parsed(everything(sock))[0] == 200
            assert [each.address for each in running.told] == ["127.0.0.1", "::1"]
    except DumbbellError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_a_port_that_is_taken_is_an_error_with_its_number(plain: RunningServer) -> None:
    with pytest.raises(DumbbellError, match=f"port {plain.port}"), running_server(Serving(port=plain.port)):
        pass


def test_tls_sends_the_same_bytes(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with running_server(Serving(tls=tls_context(tmp_path / "server.pem", None))) as running:
        with trusting.wrap_socket(running.connect(), server_hostname="localhost") as sock:
            sock.sendall(b"GET /bytes/9MB?cc=reno HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            status, fields, body = parsed(everything(sock))
        assert (status, len(body), fields["dumbbell-cc"]) == (200, 9_000_000, "reno")
        assert body[:3000] == BLOCK
        assert body[BLOCK_BYTES : BLOCK_BYTES + 3000] == BLOCK
        with running.connect() as bare:  # No TLS: closed, and the next one is served.
            bare.sendall(b"GET / HTTP/1.1\r\n\r\n")
            everything(bare)
        with trusting.wrap_socket(running.connect(), server_hostname="localhost") as sock:
            sock.sendall(b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert parsed(everything(sock))[0] == 200


def test_a_certificate_that_is_none_is_an_error_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "server.pem").write_text("nonsense")
    with pytest.raises(DumbbellError, match=r"server\.pem"):
        tls_context(tmp_path / "server.pem", None)


def test_what_is_under_way_is_finished_when_the_server_ends() -> None:
    with running_server(Serving(limits=Limits(rate_bps=1_000_000))) as running:
        sock = running.connect()
        sock.sendall(b"GET /bytes/50kB HTTP/1.1\r\nHost: a\r\n\r\n")
        assert sock.recv(12) == b"HTTP/1.1 200"
    with sock:
        assert len(everything(sock)) > 50_000
