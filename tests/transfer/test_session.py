"""Downloads against a real server: what is measured, when it stops, what is told, what is kept."""

import asyncio
import json
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from conftest import COMMAND, Dumbbell
from dumbbell.analysis import summary
from dumbbell.analysis.sequential import Answer
from dumbbell.errors import TransferError
from dumbbell.plots import draw, save
from dumbbell.results import result
from dumbbell.transfer import tcp_socket
from dumbbell.transfer.ab_session import Session, SessionOptions, Stopped, Transfer, compared, measure
from dumbbell.transfer.client import Download, DownloadRequest, download, parse_url
from dumbbell.transfer.server import Serving, tls_context
from dumbbell.transfer.server_limits import Limits
from dumbbell.transfer.session_result import write
from dumbbell.transfer.session_text import as_json, hints, verdicts
from transfer.running_server import RunningServer, everything, running_server

CCS = tuple(cc for cc in ("reno", "cubic", "bbr") if cc in tcp_socket.allowed())[:2]


@pytest.fixture(scope="module")
def plain() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def fetched(url: str, cc: str | None = None, **more: object) -> Download:
    wanted = DownloadRequest(parse_url(url), silence_s=5, **more)  # type: ignore[arg-type]
    return asyncio.run(download(wanted, cc, 0))


def measured(url: str, asked: SessionOptions, size: int | None = 200_000) -> Session:
    return asyncio.run(measure(asked, DownloadRequest(parse_url(url), size_bytes=size, silence_s=5), lambda _: None))


@contextmanager
def stranger(*answers: bytes) -> Iterator[str]:
    """A server of another program: each connection gets the next answer, and a close."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)

    def work() -> None:
        for answer in answers:
            sock, _ = listener.accept()
            with sock, suppress(ConnectionError):
                sock.settimeout(20)
                sock.recv(65536)
                sock.sendall(answer)

    thread = threading.Thread(target=work)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
    thread.join(20)
    listener.close()
    assert not thread.is_alive()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("cc", CCS)
def test_a_download_knows_its_times_its_bytes_and_both_ends(plain: RunningServer, cc: str) -> None:
    one = fetched(plain.url(), cc, size_bytes=3_000_000)
    assert (one.cc_requested, one.cc, one.bytes, one.status) == (cc, cc, 3_000_000, 200)
    assert 0 < one.connect_ns <= one.requested_ns <= one.first_byte_ns <= one.total_ns
    assert (one.dns_ns, one.tls_ns) == (0, None)
    assert [count for _, count in one.bins] == sorted(count for _, count in one.bins)
    assert one.bins[-1] == (one.total_ns, 3_000_000)
    assert one.ours[-1]["rcv_space_bytes"] > 0
    assert one.server is not None
    assert one.server["samples"][-1]["bytes_acked"] >= 3_000_000


def test_a_session_compares_in_blocks_in_random_order(plain: RunningServer) -> None:
    session = measured(plain.url(), SessionOptions(CCS, repeats=8))
    assert session.stopped is Stopped.REPEATS
    blocks = [[trial.cc for trial in session.transfers if trial.block == block] for block in range(8)]
    assert all(sorted(map(str, block)) == sorted(CCS) for block in blocks)
    assert len({tuple(block) for block in blocks}) == 2
    found = compared(session)[0]
    assert found.estimate.low <= found.estimate.median <= found.estimate.high
    assert verdicts(session)[0].startswith(f"{CCS[0]} took ")
    assert session.about["server"] == "dumbbell"


def test_it_stops_when_the_difference_is_known(plain: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first controller's downloads begin with a pause that the other's don't have."""
    slow = download

    async def paused(wanted: DownloadRequest, cc: str | None, epoch_ns: int) -> Download:
        found = await slow(wanted, cc, epoch_ns)
        return replace(found, total_ns=found.total_ns + 10**9) if cc == CCS[0] else found

    monkeypatch.setattr("dumbbell.transfer.ab_session.download", paused)
    session = measured(plain.url(), SessionOptions(CCS, most=30), size=1000)
    assert (session.stopped, session.blocks) == (Stopped.KNOWN, 6)
    assert compared(session)[0].answer is Answer.SECOND
    assert verdicts(session)[0].endswith(f"{CCS[1]} is faster")


def test_without_controllers_it_only_measures_and_says_what_the_server_tells(plain: RunningServer) -> None:
    session = measured(plain.url("/bytes/50kB"), SessionOptions(repeats=6), size=None)
    assert [trial.downloads[0].cc for trial in session.transfers] == [tcp_socket.default()] * 6
    assert "a download took" in verdicts(session)[0]


def test_connections_at_once_each_download_it_all(plain: RunningServer) -> None:
    session = measured(plain.url(), SessionOptions(repeats=2, connections=3), size=100_000)
    assert [trial.bytes for trial in session.transfers] == [300_000, 300_000]
    assert all(trial.time_s >= max(each.total_ns for each in trial.downloads) / 1e9 for trial in session.transfers)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 5\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        OK + b"\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
    ],
)
def test_a_stranger_s_server_is_measured_however_it_frames_the_body(answer: bytes) -> None:
    with stranger(answer) as url:
        one = fetched(url)
    assert (one.bytes, one.cc, one.server) == (5, None, None)


def test_a_stranger_s_controller_is_never_guessed() -> None:
    with stranger(OK + b"Content-Length: 2\r\n\r\nab") as url:
        session = measured(url, SessionOptions(repeats=1), size=None)
    assert "the server doesn't report its congestion control" in hints(session)
    with stranger(OK + b"Content-Length: 2\r\n\r\nab") as url, pytest.raises(TransferError, match="remove --cc"):
        fetched(url, "bbr")


def test_a_server_that_uses_another_controller_is_no_comparison(tmp_path: Path) -> None:
    answer = OK + b"Dumbbell-CC: reno\r\nContent-Length: 2\r\n\r\nab"
    with stranger(answer) as url:
        session = measured(url, SessionOptions(("bbr", "cubic"), repeats=3), size=None)
    assert session.stopped is Stopped.FAILED
    assert "the server used reno" in session.fault
    assert verdicts(session) == []
    assert as_json(session)["comparisons"] == []
    manifest = result.load_manifest(write(session, tmp_path / "run", "x"))
    assert not manifest["valid"]
    assert (manifest["flows"][0]["cc"], manifest["flows"][0]["cc_asked"]) != ("bbr", "bbr")


def test_so_many_bytes_of_a_stranger_s_file_are_enough() -> None:
    with stranger(OK + b"Content-Length: 500000\r\n\r\n" + b"x" * 500_000) as url:
        assert fetched(url, size_bytes=1000).bytes == 1000


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OK + b"Content-Length: 9\r\n\r\nhello", "ended after 5 of 9 bytes"),
        (b"", "closed the connection without a response"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "invalid HTTP"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno!", "answers 404: no!"),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", "too busy"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n", "not an http or https URL"),
    ],
)
def test_what_goes_wrong_is_said_with_the_url(answer: bytes, words: str) -> None:
    with stranger(answer) as url, pytest.raises(TransferError, match=words) as caught:
        fetched(url)
    assert "127.0.0.1" in str(caught.value) or "ftp" in str(caught.value)


def test_redirects_are_followed_and_bounded() -> None:
    turn = b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
    with stranger(turn, turn, OK + b"Content-Length: 1\r\n\r\na") as url:
        assert fetched(url).redirects == 2
    with stranger(*[turn] * 6) as url, pytest.raises(TransferError, match="more than 5 redirects"):
        fetched(url)


def test_nobody_there_and_no_such_name_are_told_apart() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(TransferError, match=rf"port {port}: can't connect: 127\.0\.0\.1: Connection refused"):
        fetched(f"http://127.0.0.1:{port}/")
    with pytest.raises(TransferError, match=r"no\.such\.name\.invalid: no address"):
        fetched("http://no.such.name.invalid/")


def test_a_server_that_falls_silent_is_given_up_after_a_while() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(TransferError, match="no data for"):
        asyncio.run(
            download(DownloadRequest(parse_url(f"http://127.0.0.1:{mute.getsockname()[1]}/"), silence_s=0.2), None, 0)
        )


def test_a_download_that_takes_too_long_is_given_up() -> None:
    with running_server(Serving(limits=Limits(rate_bps=100_000))) as running:
        wanted = DownloadRequest(parse_url(running.url()), size_bytes=10_000_000, timeout_s=0.5)
        with pytest.raises(TransferError, match=r"not complete after 0\.5 s"):
            asyncio.run(download(wanted, None, 0))


def test_limits_of_the_server_that_held_a_download_back_are_told() -> None:
    with running_server(Serving(limits=Limits(rate_bps=8_000_000))) as running:
        session = measured(running.url(), SessionOptions(repeats=1))
    assert any("limits delayed 1 of 1" in note for note in hints(session))


def test_tls_and_ipv6_and_whom_to_trust(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1", "::1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with running_server(Serving(tls=tls_context(tmp_path / "server.pem", None))) as running:
        one = fetched(running.url(), CCS[0], size_bytes=3_000_000, tls=trusting)
        assert (one.bytes, one.cc) == (3_000_000, CCS[0])
        assert one.tls_ns is not None
        assert one.server is not None
        with pytest.raises(TransferError, match=r"not trusted.*--cacert"):
            fetched(running.url(), tls=ssl.create_default_context())
        if len(running.urls) == 2:
            assert fetched(running.url(host="[::1]"), size_bytes=1000, tls=trusting).address == "::1"
        with pytest.raises(TransferError, match=r"TLS failed|without a response|invalid HTTP|reset"):
            fetched(running.url().replace("https", "http"))


def test_a_result_is_one_that_stats_and_figures_read(plain: RunningServer, tmp_path: Path) -> None:
    session = measured(plain.url(), SessionOptions(CCS, repeats=2), size=5_000_000)
    run = result.load(write(session, tmp_path / "run", "dumbbell fetch"))
    assert run.manifest["engine"] == "fetch"
    numbers = summary(run)
    assert {flow["cc"] for flow in numbers["flows"]} == set(CCS)
    assert [flow["bytes"] for flow in numbers["flows"]] == [5_000_000] * 4
    assert all(flow["fct_s"] > 0 and flow["throughput_mbps"] > 0 for flow in numbers["flows"])
    assert run.flows["cwnd_packets"].drop_nulls().len() >= 8
    assert run.flows["rcv_space_bytes"].drop_nulls().len() >= 8
    save(draw([run], "downloads"), tmp_path / "figure.svg")
    assert f"{CCS[0]} ÷ {CCS[1]}" in (tmp_path / "figure.svg").read_text()


@pytest.mark.parametrize(
    "samples", ["x", [1], [{"time_ns": -1}], [{"time_ns": 2**80}], [{"time_ns": 1, "rtt_ns": "fast"}], [{"rtt_ns": 1}]]
)
def test_a_stranger_s_statistics_are_left_out_where_they_can_t_be(samples: object, tmp_path: Path) -> None:
    one = Download(
        None, None, "http://a/", "a", 0, 0, 1, None, 2, 3, 10, 5, 200, 0, ((3, 0), (10, 5)), (), {"samples": samples}
    )
    session = Session(
        SessionOptions(repeats=1),
        DownloadRequest(parse_url("http://a/")),
        0.0,
        [Transfer(None, 0, (one,))],
        Stopped.REPEATS,
    )
    run = result.load(write(session, tmp_path / "run", "x"))
    assert run.flows["rtt_ns"].null_count() == len(run.flows)
    assert not isinstance(samples, list) or samples == [1] or "ignored" in " ".join(run.manifest["warnings"])


def test_the_command_prints_one_object_and_writes_a_run(dumbbell: Dumbbell, plain: RunningServer) -> None:
    words = ["fetch", plain.url(), "--cc", ",".join(CCS), "--size", "1MB", "--repeats", "6", "--json", "--out", "run"]
    done = dumbbell(*words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [kind["downloads"] for kind in told["kinds"]] == [6, 6]
    assert told["comparisons"][0]["pairs"] == 6
    assert len(told["downloads"]) == 12
    assert "retrans" in dumbbell("stats", "run").stdout
    again = dumbbell(*words)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cc", "bbr,bbr"], "a congestion control is listed twice"),
        (["--repeats", "3", "--until", "5%"], "--repeats and --until exclude each other"),
        (["--size", "0"], "--size: a size of zero"),
        (["-4", "-6"], "-4 and -6 exclude each other"),
        (["--until", "0%"], "the width must be positive"),
    ],
)
def test_a_slip_in_an_option_is_named(dumbbell: Dumbbell, words: list[str], said: str) -> None:
    done = dumbbell("fetch", "http://127.0.0.1:1/", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_ctrl_c_gives_what_is_known_so_far_and_ends_the_server_well() -> None:
    """Both commands as processes: the client is interrupted after some downloads, then the server."""
    serving = subprocess.Popen([COMMAND, "serve", "--port", "0", "--quiet"], stderr=subprocess.PIPE, text=True)
    assert serving.stderr is not None
    try:
        url = serving.stderr.readline().split()[-1]
        fetching = subprocess.Popen(
            [COMMAND, "fetch", url, "--cc", ",".join(CCS), "--size", "100kB", "--repeats", "10000", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert fetching.stderr is not None
        for _ in range(20):
            assert fetching.stderr.readline()
        fetching.send_signal(signal.SIGINT)
        said, _ = fetching.communicate(timeout=60)
        told = json.loads(said)
        assert (fetching.returncode, told["stopped"]) == (130, "interrupted")
        assert told["comparisons"][0]["pairs"] >= 9
        with socket.create_connection(("127.0.0.1", int(url.rstrip("/").rsplit(":", 1)[1])), timeout=20) as idle:
            time.sleep(0.1)
            serving.send_signal(signal.SIGINT)
            assert everything(idle) == b""
        assert serving.wait(60) == 0
        assert "dumbbell: ended" in serving.stderr.read()
    finally:
        serving.kill()
        serving.wait()
        serving.stderr.close()
