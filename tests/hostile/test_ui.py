"""`dumbbell ui` under attack: slow, endless and malformed requests, too many connections, other users, pipes."""

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from starlette.testclient import TestClient

from conftest import COMMAND
from dumbbell.web import access
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.handlers import Limits
from dumbbell.web.results import Opened
from dumbbell.web.server import PAGE, make_app
from hostile.fuzzing import search

SERVE = """
import json, sys
from dumbbell.web.handlers import Limits
from dumbbell.web.server import Serving, serve
serving, limits = json.loads(sys.argv[1]), Limits(**json.loads(sys.argv[2]))
serve(Serving(browser=False, limits=limits, **serving), lambda url: print(url, flush=True))
"""
SHORT: dict[str, Any] = {"head_s": 1.0, "body_s": 1.0, "rest_s": 1.0, "taking_s": 1.0}
PATIENCE_S = 30.0
"""How long a test waits; an idle host needs only moments."""
SCRIPT = max((PAGE / "assets").glob("*.js"), key=lambda file: file.stat().st_size)
OTHER_USER = 65534


@dataclass
class Workbench:
    """A running workbench."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def host(self) -> str:
        return self.url.split("/")[2].split(":")[0]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=PATIENCE_S)

    def head(self, request_line: str, *fields: str) -> bytes:
        return "\r\n".join([f"{request_line} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *fields, "", ""]).encode()

    def exchange(self, data: bytes) -> bytes:
        """Send data, and return what the server sends until it closes the connection."""
        with self.connect() as sock:
            sock.sendall(data)
            return read_all(sock)

    def responds(self) -> bool:
        return self.exchange(self.head("GET /", "Connection: close")).startswith(b"HTTP/1.1 200")

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


def read_all(sock: socket.socket) -> bytes:
    """Everything received until the connection is closed or reset."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := sock.recv(65536):
            received += data
    return received


@contextmanager
def started_workbench(folder: Path, limits: dict[str, Any], **serving: Any) -> Iterator[Workbench]:
    log = folder / "log"
    with log.open("w") as log_file:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, json.dumps(serving), json.dumps(limits)],
            cwd=folder, stdout=subprocess.PIPE, stderr=log_file, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, log.read_text()
        yield Workbench(url, process, log)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A workbench with short timeouts; at the end its log must be empty."""
    with started_workbench(tmp_path_factory.mktemp("hasty"), SHORT) as workbench:
        yield workbench
        assert workbench.responds()
        assert workbench.log.read_text() == ""


JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.slow(keep="-fields0--")
@pytest.mark.parametrize(
    ("request_line", "fields", "chunk", "status"),
    [
        ("", [], b"", b""),
        ("GET / HT", [], b"", b"HTTP/1.1 408"),
        ("GET / HTTP/1.1\r\nX: ", [], b"a", b"HTTP/1.1 408"),
        ("POST /api/state", [JSON, "Content-Length: 900000"], b" ", b"HTTP/1.1 408"),
        ("POST /api/state", [JSON, CHUNKED], b"1\r\n \r\n", b"HTTP/1.1 408"),
        ("POST /api/state", [JSON, CHUNKED], b"10000\r\n" + b" " * 65536 + b"\r\n", b"HTTP/1.1 413"),
        ("POST /nothing", [CHUNKED], b"1\r\n \r\n", b"HTTP/1.1 405"),
        ("GET /", [], b"", b"HTTP/1.1 200"),
    ],
)
def test_a_slow_or_endless_request_is_ended(
    impatient: Workbench, request_line: str, fields: list[str], chunk: bytes, status: bytes
) -> None:
    """A client that sends slowly or without end is disconnected; once it could stay for days."""
    with impatient.connect() as sock:
        sock.sendall(
            request_line.encode() if "HT" in request_line or not request_line else impatient.head(request_line, *fields)
        )
        sock.settimeout(0.05)
        received, deadline = b"", time.monotonic() + PATIENCE_S
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                try:
                    sock.sendall(chunk)
                    data = sock.recv(65536)
                except TimeoutError:
                    continue
                if not data:
                    break
                received += data
        assert time.monotonic() < deadline, "the connection is still open"
    assert received.startswith(status)


@pytest.mark.slow
def test_a_client_that_does_not_read_is_disconnected(impatient: Workbench) -> None:
    times = 200
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(PATIENCE_S)
        sock.connect(("127.0.0.1", impatient.port))
        sock.sendall(impatient.head(f"GET /assets/{SCRIPT.name}") * times)
        sock.recv(1)
        before = impatient.descriptors
        deadline = time.monotonic() + PATIENCE_S
        while impatient.descriptors >= before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(read_all(sock)) < times * SCRIPT.stat().st_size


@pytest.mark.slow
def test_new_connections_are_served_while_idle_ones_fill_the_server(tmp_path: Path) -> None:
    with started_workbench(tmp_path, {"connections": 8}) as workbench, ExitStack() as held:
        assert workbench.responds()
        before = workbench.descriptors
        for _ in range(200):
            held.enter_context(workbench.connect()).sendall(b"GET / HT")
        assert workbench.responds()
        assert workbench.descriptors < before + 50


@pytest.mark.slow
def test_a_new_connection_gets_503_while_all_are_busy(tmp_path: Path) -> None:
    with started_workbench(tmp_path, {"connections": 2}) as workbench, ExitStack() as held:
        for _ in range(2):
            sock = held.enter_context(workbench.connect())
            sock.sendall(workbench.head("POST /api/state", JSON, "Content-Length: 9", "Expect: 100-continue"))
            assert sock.recv(12) == b"HTTP/1.1 100", "the server waits for the body"
        assert b"503 Service Unavailable" in workbench.exchange(b"")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /api/start HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n", b"400"),
        ("GET /api/start HTTP/1.0\r\nHost: {host}\r\nHost: evil.example\r\n\r\n", b"400"),
        ("GET /api/start HTTP/1.1\r\n\r\n", b"400"),
        ("GET /api/start HTTP/1.0\r\n\r\n", b"421"),
        ("GET /api/start\r\n\r\n", b"400"),
        ("GET /api/start HTTP/1.1\r\nHost: {host}\r\nX: " + "a" * 65536 + "\r\nConnection: close\r\n\r\n", b"400"),
        ("GET /" + "a" * 65536 + " HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", b"400"),
        ("GET /\xff\xfe HTTP/1.1\r\nHost: {host}\r\n\r\n", b"400"),
        ("GET http://evil.example/api/start HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", b"404"),
        ("CONNECT evil.example:80 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", b"404"),
        ("GET /%ff%00 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", b"404"),
        ("GET /assets/..%2f..%2fapp.py HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", b"404"),
        ("POST /api/state HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", b"400"),
        (
            "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n"
            "Sec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n\r\n",
            b"200",
        ),
        (
            "POST /api/state HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n{{}}",
            b"403",
        ),
    ],
)  # fmt: skip
def test_each_invalid_request_has_its_status(impatient: Workbench, request_: str, status: bytes) -> None:
    response = impatient.exchange(request_.format(host=f"127.0.0.1:{impatient.port}").encode("latin-1"))
    assert response.split(b" ", 2)[1] == status


def test_pipelined_requests_are_answered_in_order(impatient: Workbench) -> None:
    response = impatient.exchange(
        impatient.head("GET /api/kernel") * 100 + impatient.head("GET /nothing", "Connection: close")
    )
    assert response.count(b"HTTP/1.1 200") == 100
    assert response.rpartition(b"HTTP/1.1 ")[2].startswith(b"404")


def test_an_aborted_request_is_not_logged_as_an_error(impatient: Workbench) -> None:
    """Once it printed a stack trace."""
    with impatient.connect() as sock:
        sock.sendall(impatient.head("POST /api/state", JSON, "Content-Length: 900") + b"{")
    assert impatient.responds()
    assert impatient.log.read_text() == ""


@pytest.mark.slow
def test_a_second_import_waits_until_the_first_ends(tmp_path: Path) -> None:
    """Each log may need 64 MB of memory."""
    fields = ["Content-Type: application/octet-stream", "Connection: close"]
    with started_workbench(tmp_path, {"imports": 1, "body_s": 2.0}) as workbench, workbench.connect() as first:
        first.sendall(workbench.head("POST /api/import", *fields, "Content-Length: 9", "Expect: 100-continue"))
        assert first.recv(12) == b"HTTP/1.1 100", "the server reads it"
        response = workbench.exchange(workbench.head("POST /api/import", *fields, "Content-Length: 3") + b"abc")
        assert b" 422 " in response.split(b"\r\n")[0]
        first.setblocking(False)
        assert b"408 Request Timeout" in first.recv(65536), "the second was read before the first ended"


def test_a_pipe_in_place_of_an_experiment_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    client = TestClient(make_app(opened=Opened(tmp_path)))
    assert client.post("/api/results", json={"path": "x.toml"}).status_code == 422


@pytest.mark.kernel
def test_a_refused_run_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TestClient(make_app(limits=Limits(jobs_waiting=0))) as client:
        assert client.post("/api/kernel", json={"toml": BLANK, "seeds": 3}).status_code == 503
        assert list(tmp_path.glob("dumbbell-ui-*/*")) == []


REQUEST = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30) as sock:
    sock.sendall(sys.argv[2].encode())
    print(sock.recv(100).split()[1].decode())
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def status_for_another_user(workbench: Workbench, target: str, *fields: str) -> int:
    """Status of the response to another user of this host."""
    request = workbench.head(f"GET {target}", *fields, "Connection: close").decode()
    command = ["/usr/bin/python3", "-I", "-c", REQUEST, str(workbench.port), request]
    done = subprocess.run(command, user=OTHER_USER, capture_output=True, text=True, check=True, cwd="/")
    return int(done.stdout)


@needs_root
def test_another_user_of_the_host_is_refused(impatient: Workbench) -> None:
    """Once every user could read this user's results."""
    for target in ("/", "/api/results"):
        assert status_for_another_user(impatient, target) == 403
        assert status_for_another_user(impatient, target, "X-Forwarded-For: 127.0.0.1") == 403


@pytest.mark.slow
@needs_root
def test_another_user_needs_the_token_and_this_one_does_not(tmp_path: Path) -> None:
    with started_workbench(tmp_path, {}, token=True) as workbench:
        secret = workbench.url.partition("token=")[2]
        assert len(secret) > 20
        assert status_for_another_user(workbench, "/api/results") == 403
        assert status_for_another_user(workbench, "/?token=" + "x" * len(secret)) == 403
        assert status_for_another_user(workbench, f"/?token={secret}") == 303
        assert status_for_another_user(workbench, "/api/results", f"Cookie: dumbbell-token={secret}") == 200
        assert workbench.responds()
        assert secret not in workbench.log.read_text()


@pytest.mark.slow
def test_this_user_needs_the_token_under_a_foreign_name(tmp_path: Path) -> None:
    """Another site's name can resolve to this address, so that this user's browser sends the request (DNS rebinding).

    127.0.0.2 is served like an address of the network.
    """
    with started_workbench(tmp_path, {}, host="127.0.0.2") as workbench:
        assert workbench.responds()
        foreign = workbench.head("GET /api/results", "Connection: close").replace(b"127.0.0.1", b"evil.example")
        assert workbench.exchange(foreign).startswith(b"HTTP/1.1 403")


@pytest.mark.slow
def test_the_token_is_on_no_command_line(tmp_path: Path) -> None:
    """Every user of a host can read command lines."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$@" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    command = [str(COMMAND), "ui", "--port", "0", "--token"]
    environment = os.environ | {"BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "token=" in process.stderr.readline()
        deadline = time.monotonic() + PATIENCE_S
        while not opened.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.terminate()
    assert opened.read_text().startswith("http://127.0.0.1:")
    assert "token" not in opened.read_text()


def test_a_connection_has_an_owner_until_it_is_closed() -> None:
    for host in ("127.0.0.1", "::1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            server = socket.create_server((host, 0), family=family)
        except OSError:
            continue  # No IPv6 here.
        with server:
            client = socket.create_connection(server.getsockname()[:2])
            ends = client.getsockname()[:2], server.getsockname()[:2]
            assert access.owner(*ends) == os.geteuid()
            client.close()
            assert access.owner(*ends) is None, "an orphaned socket reads as root's"
    assert access.owner(("192.0.2.1", 1), ("127.0.0.1", 2)) is None
    assert access.owner(("testclient", 1), ("127.0.0.1", 2)) is None


def test_the_server_s_folder_is_private_to_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TestClient(make_app()) as client:
        client.post("/api/import?name=x", content=b"abc", headers={"Content-Type": "application/octet-stream"})
        (kept,) = tmp_path.iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert not kept.exists()


def test_fuzz_any_bytes_are_answered_or_closed(impatient: Workbench) -> None:
    tokens = [
        b"GET ",
        b"/ ",
        b"HTTP/1.1\r\n",
        b"Host: a\r\n",
        b"\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"5\r\n",
    ]
    pieces = st.lists(st.one_of(st.sampled_from(tokens), st.binary(max_size=30)), max_size=12)

    def check(parts: list[bytes]) -> None:
        with impatient.connect() as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"".join(parts))
                sock.shutdown(socket.SHUT_WR)
            assert read_all(sock)[:5] in {b"", b"HTTP/"}

    search(pieces, check)
    assert impatient.responds()
    assert impatient.log.read_text() == ""
