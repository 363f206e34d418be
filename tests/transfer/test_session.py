"""Downloads from a real server: what is measured, when a session stops, its output and its result folder."""

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
from html import escape
from pathlib import Path

import pytest
import trustme

from conftest import COMMAND, Dumbbell
from dumbbell.analysis.sequential import Answer
from dumbbell.analysis.summary import measures, summary
from dumbbell.cli.console import out
from dumbbell.cli.run_summary import show_run
from dumbbell.errors import TransferError
from dumbbell.plots import draw, save
from dumbbell.reports.page import page
from dumbbell.results import result
from dumbbell.transfer import channel
from dumbbell.transfer.ab_session import Session, SessionOptions, Stopped, Transfer, compared, measure
from dumbbell.transfer.client import Download, DownloadRequest, download, parse_url
from dumbbell.transfer.responses import Limits
from dumbbell.transfer.server import Serving, tls_context
from dumbbell.transfer.session_output import as_json, hints, verdicts, write
from transfer.running_server import RunningServer, read_all, running_server

CCS = tuple(cc for cc in ("reno", "cubic", "bbr") if cc in channel.allowed())[:2]


@pytest.fixture(scope="module")
def plain() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def fetch(url: str, cc: str | None = None, **more: object) -> Download:
    request = DownloadRequest(parse_url(url), silence_s=5, **more)  # type: ignore[arg-type]
    return asyncio.run(download(request, cc, 0))


def run_session(url: str, options: SessionOptions, size: int | None = 200_000) -> Session:
    return asyncio.run(measure(options, DownloadRequest(parse_url(url), size_bytes=size, silence_s=5), lambda _: None))


@contextmanager
def other_server(*responses: bytes) -> Iterator[str]:
    """Another program's server: each connection gets the next response, and is closed."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)

    def serve_responses() -> None:
        for response in responses:
            sock, _ = listener.accept()
            with sock, suppress(ConnectionError):
                sock.settimeout(20)
                sock.recv(65536)
                sock.sendall(response)

    thread = threading.Thread(target=serve_responses)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
    thread.join(20)
    listener.close()
    assert not thread.is_alive()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("cc", CCS)
def test_a_download_has_its_times_its_bytes_and_both_ends_statistics(plain: RunningServer, cc: str) -> None:
    one = fetch(plain.url(), cc, size_bytes=3_000_000)
    assert (one.cc_requested, one.cc, one.bytes, one.status) == (cc, cc, 3_000_000, 200)
    assert 0 < one.connect_ns <= one.requested_ns <= one.first_byte_ns <= one.total_ns
    assert (one.dns_ns, one.tls_ns) == (0, None)
    assert [count for _, count in one.bins] == sorted(count for _, count in one.bins)
    assert one.bins[-1] == (one.total_ns, 3_000_000)
    assert one.ours[-1]["rcv_space_bytes"] > 0
    assert one.server is not None
    assert one.server["samples"][-1]["bytes_acked"] >= 3_000_000


def test_a_session_compares_in_blocks_in_random_order(plain: RunningServer) -> None:
    session = run_session(plain.url(), SessionOptions(CCS, repeats=8))
    assert session.stopped is Stopped.REPEATS
    blocks = [[transfer.cc for transfer in session.transfers if transfer.block == block] for block in range(8)]
    assert all(sorted(map(str, block)) == sorted(CCS) for block in blocks)
    assert len({tuple(block) for block in blocks}) == 2
    found = compared(session)[0]
    assert found.estimate.low <= found.estimate.median <= found.estimate.high
    assert verdicts(session)[0].startswith(f"{CCS[0]} took ")
    assert session.about["server"] == "dumbbell"


def test_a_session_stops_when_the_difference_is_known(plain: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first controller's downloads take a second longer."""
    slow = download

    async def paused(request: DownloadRequest, cc: str | None, epoch_ns: int) -> Download:
        found = await slow(request, cc, epoch_ns)
        return replace(found, total_ns=found.total_ns + 10**9) if cc == CCS[0] else found

    monkeypatch.setattr("dumbbell.transfer.ab_session.download", paused)
    session = run_session(plain.url(), SessionOptions(CCS, most=30), size=1000)
    assert (session.stopped, session.blocks) == (Stopped.KNOWN, 6)
    assert compared(session)[0].answer is Answer.SECOND
    assert verdicts(session)[0].endswith(f"{CCS[1]} is faster")


def test_without_controllers_a_session_measures_the_server_s_default(plain: RunningServer) -> None:
    session = run_session(plain.url("/bytes/50kB"), SessionOptions(repeats=6), size=None)
    assert [transfer.downloads[0].cc for transfer in session.transfers] == [channel.default()] * 6
    assert "a download took" in verdicts(session)[0]


def test_parallel_connections_each_download_the_full_size(plain: RunningServer) -> None:
    session = run_session(plain.url(), SessionOptions(repeats=2, connections=3), size=100_000)
    assert [transfer.bytes for transfer in session.transfers] == [300_000, 300_000]
    assert all(
        transfer.time_s >= max(each.total_ns for each in transfer.downloads) / 1e9 for transfer in session.transfers
    )


def test_more_connections_than_the_server_allows_are_refused() -> None:
    with running_server(Serving(limits=Limits(address_clients=3))) as running:
        message = r"--connections 4: the server allows 3 from one address.*--max-per-address 4"
        with pytest.raises(TransferError, match=message):
            run_session(running.url(), SessionOptions(repeats=1, connections=4))


@pytest.mark.slow
def test_pairs_in_which_a_busy_server_made_a_connection_wait_are_discarded() -> None:
    """Another client has one of three connections during the first download: 429, retry after 5 s."""
    with running_server(Serving(limits=Limits(address_clients=3))) as running, running.connect() as other:

        async def release() -> None:
            await asyncio.sleep(1)
            other.close()

        async def both() -> Session:
            request = DownloadRequest(parse_url(running.url()), size_bytes=100_000, silence_s=10)
            leaving = asyncio.ensure_future(release())
            session = await measure(SessionOptions(CCS, repeats=3, connections=3), request, lambda _: None)
            await leaving
            return session

        session = asyncio.run(both())
    assert [transfer.waited for transfer in session.transfers] == [True, False, False, False, False, False]
    assert session.blocks == 2
    assert max(session.times_s(CCS[0]) + session.times_s(CCS[1])) < 1
    assert "a busy server (429, 503) made connections wait in 1 of 6 downloads: their pairs don't count" in str(
        hints(session)
    )
    assert sum(kind["downloads"] for kind in as_json(session)["kinds"]) == 5


def test_a_proxy_of_the_environment_is_named(plain: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    session = run_session(plain.url(), SessionOptions(repeats=1))
    assert "the environment's http_proxy was not used" in str(hints(session))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert "proxy" not in str(hints(session))


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Length: 5\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        OK + b"\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
    ],
)
def test_another_server_is_measured_with_every_framing(response: bytes) -> None:
    with other_server(response) as url:
        one = fetch(url)
    assert (one.bytes, one.cc, one.server) == (5, None, None)


def test_another_server_s_controller_is_unknown() -> None:
    with other_server(OK + b"Content-Length: 2\r\n\r\nab") as url:
        session = run_session(url, SessionOptions(repeats=1), size=None)
    assert "the server doesn't report its congestion control" in hints(session)
    with other_server(OK + b"Content-Length: 2\r\n\r\nab") as url, pytest.raises(TransferError, match="remove --cc"):
        fetch(url, "bbr")


def test_a_server_that_uses_another_controller_ends_the_session(tmp_path: Path) -> None:
    response = OK + b"Dumbbell-CC: reno\r\nContent-Length: 2\r\n\r\nab"
    with other_server(response) as url:
        session = run_session(url, SessionOptions(("bbr", "cubic"), repeats=3), size=None)
    assert session.stopped is Stopped.FAILED
    assert "the server used reno" in session.fault
    assert verdicts(session) == []
    assert as_json(session)["comparisons"] == []
    manifest = result.load_manifest(write(session, tmp_path / "run", "x"))
    assert not manifest["valid"]
    assert (manifest["flows"][0]["cc"], manifest["flows"][0]["cc_asked"]) != ("bbr", "bbr")


def test_a_download_may_stop_after_the_requested_bytes() -> None:
    with other_server(OK + b"Content-Length: 500000\r\n\r\n" + b"x" * 500_000) as url:
        assert fetch(url, size_bytes=1000).bytes == 1000


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (OK + b"Content-Length: 9\r\n\r\nhello", "ended after 5 of 9 bytes"),
        (b"", "closed the connection without a response"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "invalid HTTP"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno!", "answers 404: no!"),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", "too busy"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n", "not an http or https URL"),
    ],
)
def test_errors_contain_the_url(response: bytes, message: str) -> None:
    with other_server(response) as url, pytest.raises(TransferError, match=message) as caught:
        fetch(url)
    assert "127.0.0.1" in str(caught.value) or "ftp" in str(caught.value)


def test_redirects_are_followed_and_bounded() -> None:
    redirect = b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
    with other_server(redirect, redirect, OK + b"Content-Length: 1\r\n\r\na") as url:
        assert fetch(url).redirects == 2
    with other_server(*[redirect] * 6) as url, pytest.raises(TransferError, match="more than 5 redirects"):
        fetch(url)


def test_a_refused_connection_and_an_unknown_name_are_different_errors() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(TransferError, match=rf"port {port}: can't connect: 127\.0\.0\.1: Connection refused"):
        fetch(f"http://127.0.0.1:{port}/")
    with pytest.raises(TransferError, match=r"no\.such\.name\.invalid: no address"):
        fetch("http://no.such.name.invalid/")


def test_a_silent_server_is_an_error_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TransferError, match="no data for"):
        asyncio.run(
            download(DownloadRequest(parse_url(f"http://127.0.0.1:{silent.getsockname()[1]}/"), silence_s=0.2), None, 0)
        )


def test_a_download_beyond_its_time_limit_is_an_error() -> None:
    with running_server(Serving(limits=Limits(rate_bps=100_000))) as running:
        request = DownloadRequest(parse_url(running.url()), size_bytes=10_000_000, timeout_s=0.5)
        with pytest.raises(TransferError, match=r"not complete after 0\.5 s"):
            asyncio.run(download(request, None, 0))


def test_rate_limits_of_the_server_are_reported() -> None:
    with running_server(Serving(limits=Limits(rate_bps=8_000_000))) as running:
        session = run_session(running.url(), SessionOptions(repeats=1))
    assert any("limits delayed 1 of 1" in note for note in hints(session))


def test_tls_needs_a_trusted_certificate_and_works_over_ipv6(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1", "::1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    tls = ssl.create_default_context()
    authority.configure_trust(tls)
    with running_server(Serving(tls=tls_context(tmp_path / "server.pem", None))) as running:
        one = fetch(running.url(), CCS[0], size_bytes=3_000_000, tls=tls)
        assert (one.bytes, one.cc) == (3_000_000, CCS[0])
        assert one.tls_ns is not None
        assert one.server is not None
        with pytest.raises(TransferError, match=r"not trusted.*--cacert"):
            fetch(running.url(), tls=ssl.create_default_context())
        if len(running.urls) == 2:
            assert fetch(running.url(host="[::1]"), size_bytes=1000, tls=tls).address == "::1"
        with pytest.raises(TransferError, match=r"TLS failed|without a response|invalid HTTP|reset"):
            fetch(running.url().replace("https", "http"))


def test_a_session_s_result_has_statistics_and_plots(plain: RunningServer, tmp_path: Path) -> None:
    session = run_session(plain.url(), SessionOptions(CCS, repeats=2), size=5_000_000)
    run = result.load(write(session, tmp_path / "run", "dumbbell fetch"))
    assert run.manifest.engine == "fetch"
    numbers = summary(run)
    assert {flow["cc"] for flow in numbers["flows"]} == set(CCS)
    assert [flow["bytes"] for flow in numbers["flows"]] == [5_000_000] * 4
    assert all(flow["fct_s"] > 0 and flow["throughput_mbps"] > 0 for flow in numbers["flows"])
    assert run.flows["cwnd_packets"].drop_nulls().len() >= 8
    assert run.flows["rcv_space_bytes"].drop_nulls().len() >= 8
    save(draw([run], "downloads"), tmp_path / "figure.svg")
    assert f"{CCS[0]} ÷ {CCS[1]}" in (tmp_path / "figure.svg").read_text()


def test_a_saved_session_shows_its_own_answer_and_no_shares(plain: RunningServer, tmp_path: Path) -> None:
    session = run_session(plain.url(), SessionOptions(CCS, repeats=6))
    run = result.load(write(session, tmp_path / "run", "dumbbell fetch"))
    (sentence,) = verdicts(session)
    numbers = summary(run)
    assert numbers["fetch"]["verdicts"] == [sentence]
    assert ({group["share"] for group in numbers["groups"].values()}, numbers["jain"]) == ({None}, None)
    assert not any(name.endswith(("share", "jain")) for name in measures(run))
    with out.capture() as captured:
        show_run(out, run, numbers)
    shown = captured.get()
    assert shown.index(sentence) < shown.index("divided by that of") < shown.index(f"{CCS[0]}-1")
    assert "share" not in shown
    assert "Jain" not in shown
    html = page([run])
    assert html.index(escape(sentence)) < html.index(">Summary<")
    assert "of the goodput" not in html


@pytest.mark.parametrize(
    "samples", ["x", [1], [{"time_ns": -1}], [{"time_ns": 2**80}], [{"time_ns": 1, "rtt_ns": "fast"}], [{"rtt_ns": 1}]]
)
def test_invalid_statistics_of_another_server_are_ignored(samples: object, tmp_path: Path) -> None:
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
    assert not isinstance(samples, list) or samples == [1] or "ignored" in " ".join(run.manifest.warnings)


@pytest.mark.slow
def test_the_command_prints_one_object_and_writes_a_run(dumbbell: Dumbbell, plain: RunningServer) -> None:
    arguments = [
        "fetch",
        plain.url(),
        "--cc",
        ",".join(CCS),
        "--size",
        "1MB",
        "--repeats",
        "6",
        "--json",
        "--out",
        "run",
    ]
    process = dumbbell(*arguments)
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert [kind["downloads"] for kind in report["kinds"]] == [6, 6]
    assert report["comparisons"][0]["pairs"] == 6
    assert len(report["downloads"]) == 12
    assert "retrans" in dumbbell("stats", "run").stdout
    repeated = dumbbell(*arguments)
    assert (repeated.returncode, "exists already" in repeated.stderr) == (2, True)


@pytest.mark.slow(keep="arguments0-a congestion control is listed twice")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cc", "bbr,bbr"], "a congestion control is listed twice"),
        (["--repeats", "3", "--until", "5%"], "--repeats and --until exclude each other"),
        (["--size", "0"], "--size: a size of zero"),
        (["-4", "-6"], "-4 and -6 exclude each other"),
        (["--until", "0%"], "the width must be positive"),
    ],
)
def test_an_invalid_option_is_an_error(dumbbell: Dumbbell, arguments: list[str], message: str) -> None:
    process = dumbbell("fetch", "http://127.0.0.1:1/", *arguments)
    assert process.returncode == 2
    assert message in process.stderr


@pytest.mark.slow
def test_ctrl_c_prints_the_results_so_far_and_stops_the_server() -> None:
    """Both commands as processes: the client is interrupted after some downloads, then the server."""
    server = subprocess.Popen([COMMAND, "serve", "--port", "0", "--quiet"], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        url = server.stderr.readline().split()[-1]
        client = subprocess.Popen(
            [COMMAND, "fetch", url, "--cc", ",".join(CCS), "--size", "100kB", "--repeats", "10000", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert client.stderr is not None
        for _ in range(20):
            assert client.stderr.readline()
        client.send_signal(signal.SIGINT)
        output, _ = client.communicate(timeout=60)
        report = json.loads(output)
        assert (client.returncode, report["stopped"]) == (130, "interrupted")
        assert report["comparisons"][0]["pairs"] >= 9
        with socket.create_connection(("127.0.0.1", int(url.rstrip("/").rsplit(":", 1)[1])), timeout=20) as idle:
            time.sleep(0.1)
            server.send_signal(signal.SIGINT)
            assert read_all(idle) == b""
        assert server.wait(60) == 0
        assert "dumbbell: ended" in server.stderr.read()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
