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
from dumbbell.web import peers
from dumbbell.web.asgi import PAGE, make_app
from dumbbell.web.opened import Opened
from dumbbell.web.page_limits import Limits
from dumbbell.web.scenario_catalogue import BLANK
from hostile.fuzzing import search

SERVE = """
import json, sys
from dumbbell.web.page_limits import Limits
from dumbbell.web.serving import Serving, serve
serving, limits = json.loads(sys.argv[1]), Limits(**json.loads(sys.argv[2]))
serve(Serving(browser=False, limits=limits, **serving), lambda url: print(url, flush=True))
"""
SHORT: dict[str, Any] = {"head_s": 1.0, "body_s": 1.0, "rest_s": 1.0, "taking_s": 1.0}
PATIENCE_S = 30.0
"""So long a test waits for what comes at once on an idle machine."""
SCRIPT = next((PAGE / "assets").glob("*.js"))
NOBODY = 65534


@dataclass
class Bench:
    """A workbench that runs."""

    url: str
    process: subprocess.Popen[str]
    complaints: Path

    @property
    def host(self) -> str:
        return self.url.split("/")[2].split(":")[0]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=PATIENCE_S)

    def head(self, words: str, *fields: str) -> bytes:
        return "\r\n".join([f"{words} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *fields, "", ""]).encode()

    def say(self, data: bytes) -> bytes:
        """What it answers until it closes."""
        with self.connect() as sock:
            sock.sendall(data)
            return everything(sock)

    def answers(self) -> bool:
        return self.say(self.head("GET /", "Connection: close")).startswith(b"HTTP/1.1 200")

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


def everything(sock: socket.socket) -> bytes:
    """Until it is closed or reset."""
    whole = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            whole += piece
    return whole


@contextmanager
def bench(folder: Path, limits: dict[str, Any], **serving: Any) -> Iterator[Bench]:
    complaints = folder / "complaints"
    with complaints.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, json.dumps(serving), json.dumps(limits)],
            cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, complaints.read_text()
        yield Bench(url, process, complaints)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One that waits for no one; in the end it must have complained of nothing."""
    with bench(tmp_path_factory.mktemp("hasty"), SHORT) as running:
        yield running
        assert running.answers()
        assert running.complaints.read_text() == ""


JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("words", "fields", "more", "status"),
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
def test_no_request_takes_for_ever(hasty: Bench, words: str, fields: list[str], more: bytes, status: bytes) -> None:
    """Who sends a byte now and then, or never stops, is closed; before, they could stay for days."""
    with hasty.connect() as sock:
        sock.sendall(words.encode() if "HT" in words or not words else hasty.head(words, *fields))
        sock.settimeout(0.05)
        heard, until = b"", time.monotonic() + PATIENCE_S
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until:
                try:
                    sock.sendall(more)
                    piece = sock.recv(65536)
                except TimeoutError:
                    continue
                if not piece:
                    break
                heard += piece
        assert time.monotonic() < until, "it is still open"
    assert heard.startswith(status)


def test_who_takes_nothing_of_an_answer_is_cut_off(hasty: Bench) -> None:
    times = 200
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(PATIENCE_S)
        sock.connect(("127.0.0.1", hasty.port))
        sock.sendall(hasty.head(f"GET /assets/{SCRIPT.name}") * times)
        sock.recv(1)
        before = hasty.descriptors
        until = time.monotonic() + PATIENCE_S
        while hasty.descriptors >= before and time.monotonic() < until:
            time.sleep(0.05)
        assert len(everything(sock)) < times * SCRIPT.stat().st_size


def test_new_connections_are_served_though_others_fill_the_server(tmp_path: Path) -> None:
    with bench(tmp_path, {"connections": 8}) as running, ExitStack() as held:
        assert running.answers()
        before = running.descriptors
        for _ in range(200):
            held.enter_context(running.connect()).sendall(b"GET / HT")
        assert running.answers()
        assert running.descriptors < before + 50


def test_when_all_connections_are_busy_a_new_one_is_told_so(tmp_path: Path) -> None:
    with bench(tmp_path, {"connections": 2}) as running, ExitStack() as held:
        for _ in range(2):
            sock = held.enter_context(running.connect())
            sock.sendall(running.head("POST /api/state", JSON, "Content-Length: 9", "Expect: 100-continue"))
            assert sock.recv(12) == b"HTTP/1.1 100", "it waits for the body"
        assert b"503 Service Unavailable" in running.say(b"")


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
def test_each_wrong_request_has_its_status(hasty: Bench, request_: str, status: bytes) -> None:
    answer = hasty.say(request_.format(host=f"127.0.0.1:{hasty.port}").encode("latin-1"))
    assert answer.split(b" ", 2)[1] == status


def test_pipelined_requests_are_all_answered_in_order(hasty: Bench) -> None:
    answer = hasty.say(hasty.head("GET /api/kernel") * 100 + hasty.head("GET /nothing", "Connection: close"))
    assert answer.count(b"HTTP/1.1 200") == 100
    assert answer.rpartition(b"HTTP/1.1 ")[2].startswith(b"404")


def test_a_request_that_breaks_off_is_no_fault_of_ours(hasty: Bench) -> None:
    """Before, it left a stack trace on the terminal."""
    with hasty.connect() as sock:
        sock.sendall(hasty.head("POST /api/state", JSON, "Content-Length: 900") + b"{")
    assert hasty.answers()
    assert hasty.complaints.read_text() == ""


def test_logs_wait_unread_while_others_come_in(tmp_path: Path) -> None:
    """Each may take 64 MB of memory."""
    log = ["Content-Type: application/octet-stream", "Connection: close"]
    with bench(tmp_path, {"imports": 1, "body_s": 2.0}) as running, running.connect() as first:
        first.sendall(running.head("POST /api/import", *log, "Content-Length: 9", "Expect: 100-continue"))
        assert first.recv(12) == b"HTTP/1.1 100", "it is being read"
        answer = running.say(running.head("POST /api/import", *log, "Content-Length: 3") + b"abc")
        assert b" 422 " in answer.split(b"\r\n")[0]
        first.setblocking(False)
        assert b"408 Request Timeout" in first.recv(65536), "the second was read before the first was over"


def test_a_pipe_that_is_called_an_experiment_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    client = TestClient(make_app(opened=Opened(tmp_path)))
    assert client.post("/api/results", json={"path": "x.toml"}).status_code == 422


@pytest.mark.kernel
def test_a_run_that_is_refused_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TestClient(make_app(limits=Limits(jobs_waiting=0))) as client:
        assert client.post("/api/kernel", json={"toml": BLANK, "seeds": 3}).status_code == 503
        assert list(tmp_path.glob("dumbbell-ui-*/*")) == []


ASK = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30) as sock:
    sock.sendall(sys.argv[2].encode())
    print(sock.recv(100).split()[1].decode())
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def stranger(running: Bench, target: str, *fields: str) -> int:
    """What another user of this machine is answered."""
    asked = running.head(f"GET {target}", *fields, "Connection: close").decode()
    command = ["/usr/bin/python3", "-I", "-c", ASK, str(running.port), asked]
    done = subprocess.run(command, user=NOBODY, capture_output=True, text=True, check=True, cwd="/")
    return int(done.stdout)


@needs_root
def test_another_user_of_the_machine_is_refused(hasty: Bench) -> None:
    """Before, every user could read this one's results."""
    for target in ("/", "/api/results"):
        assert stranger(hasty, target) == 403
        assert stranger(hasty, target, "X-Forwarded-For: 127.0.0.1") == 403


@needs_root
def test_another_user_needs_the_token_and_this_one_does_not(tmp_path: Path) -> None:
    with bench(tmp_path, {}, token=True) as running:
        secret = running.url.partition("token=")[2]
        assert len(secret) > 20
        assert stranger(running, "/api/results") == 403
        assert stranger(running, "/?token=" + "x" * len(secret)) == 403
        assert stranger(running, f"/?token={secret}") == 303
        assert stranger(running, "/api/results", f"Cookie: dumbbell-token={secret}") == 200
        assert running.answers()
        assert secret not in running.complaints.read_text()


def test_under_a_foreign_name_even_this_user_needs_the_token(tmp_path: Path) -> None:
    """A name that another site makes lead here makes this user's browser ask (DNS rebinding).

    127.0.0.2 is served as an address of the network is.
    """
    with bench(tmp_path, {}, host="127.0.0.2") as running:
        assert running.answers()
        foreign = running.head("GET /api/results", "Connection: close").replace(b"127.0.0.1", b"evil.example")
        assert running.say(foreign).startswith(b"HTTP/1.1 403")


def test_the_token_is_on_no_command_line(tmp_path: Path) -> None:
    """Every user of a machine can read those."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$@" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    command = [str(COMMAND), "ui", "--port", "0", "--token"]
    environment = os.environ | {"BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "token=" in process.stderr.readline()
        until = time.monotonic() + PATIENCE_S
        while not opened.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.terminate()
    assert opened.read_text().startswith("http://127.0.0.1:")
    assert "token" not in opened.read_text()


def test_a_connection_s_owner_is_told_while_it_has_one() -> None:
    for host in ("127.0.0.1", "::1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            server = socket.create_server((host, 0), family=family)
        except OSError:
            continue  # No IPv6 here.
        with server:
            client = socket.create_connection(server.getsockname()[:2])
            ends = client.getsockname()[:2], server.getsockname()[:2]
            assert peers.owner(*ends) == os.geteuid()
            client.close()
            assert peers.owner(*ends) is None, "an orphan reads as root's"
    assert peers.owner(("192.0.2.1", 1), ("127.0.0.1", 2)) is None
    assert peers.owner(("testclient", 1), ("127.0.0.1", 2)) is None


def test_what_the_server_keeps_is_its_user_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TestClient(make_app()) as client:
        client.post("/api/import?name=x", content=b"abc", headers={"Content-Type": "application/octet-stream"})
        (kept,) = tmp_path.iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert not kept.exists()


def test_fuzz_any_bytes_are_answered_or_closed(hasty: Bench) -> None:
    words = [b"GET ", b"/ ", b"HTTP/1.1\r\n", b"Host: a\r\n", b"\r\n\r\n", b"Transfer-Encoding: chunked\r\n", b"5\r\n"]
    pieces = st.lists(st.one_of(st.sampled_from(words), st.binary(max_size=30)), max_size=12)

    def check(parts: list[bytes]) -> None:
        with hasty.connect() as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"".join(parts))
                sock.shutdown(socket.SHUT_WR)
            assert everything(sock)[:5] in {b"", b"HTTP/"}

    search(pieces, check)
    assert hasty.answers()
    assert hasty.complaints.read_text() == ""
