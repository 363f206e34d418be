"""`dumbbell watch`: the screen, its keys, recordings and JSON."""

import asyncio
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, Static

from dumbbell.analysis.summary import summary
from dumbbell.cli.app import app
from dumbbell.cli.watch_screen import Help, Watch
from dumbbell.cli.watch_widgets import Detail
from dumbbell.errors import DumbbellError
from dumbbell.host.tcp_connections import Stream
from dumbbell.results.result import load

DUMBBELL = [sys.executable, "-m", "dumbbell"]
ROOT = Path(__file__).parents[2]
EVERY_NS = 20_000_000
FIRST, SECOND = b"reno", b"cubic"


class Connections:
    """A listener, and connections to it: one that sends all the time, two that are idle."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.clients = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(3)]
        self.accepted = [self.server.accept()[0] for _ in self.clients]
        for client, cc in zip(self.clients, (FIRST, SECOND, SECOND), strict=True):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
        self.ended = threading.Event()
        self.sender = threading.Thread(target=self._send)
        self.sender.start()

    def _send(self) -> None:
        while not self.ended.wait(0.005):
            self.clients[0].sendall(b"x" * 10_000)
            self.accepted[0].recv(10_000, socket.MSG_WAITALL)

    def port_of(self, number: int) -> int:
        return int(self.clients[number].getsockname()[1])

    def close(self) -> None:
        self.ended.set()
        self.sender.join()
        for each in (*self.clients, *self.accepted, self.server):
            each.close()


@pytest.fixture
def connections() -> Iterator[Connections]:
    connections = Connections()
    yield connections
    connections.close()


def with_watch(
    connections: Connections, check: Callable[[Watch, Pilot[None]], Awaitable[None]], filter_: str = ""
) -> None:
    """Run the application on the clients' ends of the connections, and a check of it."""

    async def main() -> None:
        with Stream(EVERY_NS) as stream:
            screen = Watch(stream, f"dport {connections.port} {filter_}")
            async with screen.run_test(size=(120, 30)) as pilot:
                await wait_until(lambda: screen.live.samples > 2 and len(screen.grid.rows) > 0, pilot)
                await check(screen, pilot)
                stream.close()

    asyncio.run(main())


async def wait_until(condition: Callable[[], bool], pilot: Pilot[None]) -> None:
    for _ in range(1500):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError("the condition stayed false for 30 s")


def on_screen(watch: Watch) -> list[str]:
    return [watch.grid.render_line(y).text for y in range(len(watch.grid.rows) + 1)]


def test_the_busiest_connection_is_first_and_the_header_counts_all(connections: Connections) -> None:
    async def check(screen: Watch, _: Pilot[None]) -> None:
        head, *rows = on_screen(screen)
        assert "peer" in head
        assert [f"127.0.0.1:{connections.port_of(number)}" in rows[0] for number in range(3)] == [True, False, False]
        totals = str(screen.query_one("#totals", Static).render())
        assert "3 of" in totals
        assert "cubic 2" in totals
        assert "reno 1" in totals

    with_watch(connections, check)


@pytest.mark.slow
def test_keys_select_the_sort_column_and_reverse_the_order(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        screen.sort = "peer"
        await pilot.press("greater_than_sign")
        assert screen.sort == "cc"
        assert screen.grid.rows["cc"].to_list() == ["cubic", "cubic", "reno"]
        await pilot.press("r")
        assert screen.grid.rows["cc"].to_list() == ["reno", "cubic", "cubic"]
        await pilot.press("less_than_sign")
        assert (screen.sort, screen.reversed) == ("peer", False)

    with_watch(connections, check)


@pytest.mark.slow
def test_a_filter_applies_while_it_is_typed_and_escape_removes_it(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        line = screen.query_one("#filter", Input)
        assert line.has_focus
        line.value += " and cc ren"
        await pilot.pause()
        assert screen.grid.rows.is_empty()
        line.value += "o"
        await pilot.pause()
        assert screen.grid.rows["cc"].to_list() == ["reno"]
        line.value += " and rtz > 5"
        await pilot.pause()
        wrong = screen.query_one("#wrong", Static)
        assert wrong.display
        assert "'rtz' is not a filter key" in str(wrong.render())
        # The last valid filter stays in effect.
        assert screen.grid.rows["cc"].to_list() == ["reno"]
        await pilot.press("enter")
        assert line.display
        await pilot.press("escape")
        assert not line.display
        assert len(screen.grid.rows) == 3
        assert screen.grid.has_focus

    with_watch(connections, check)


@pytest.mark.slow
def test_what_is_typed_at_once_after_the_slash_is_part_of_the_filter(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        # As a terminal sends it: all keys before the first one is handled.
        for key, character in (("slash", "/"), *((each, each) for each in "qrp"), ("slash", "/")):
            screen.post_message(Key(key, character))
        line = screen.query_one("#filter", Input)
        await wait_until(lambda: line.value.endswith("/"), pilot)
        assert line.value == "qrp/"
        assert not screen.paused

    with_watch(connections, check)


@pytest.mark.slow
def test_enter_keeps_a_filter(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        screen.query_one("#filter", Input).value = f"dport {connections.port} cc reno"
        await pilot.press("enter")
        await pilot.pause()
        assert screen.filter_text.endswith("cc reno")
        samples = screen.live.samples
        await wait_until(lambda: screen.live.samples > samples + 1, pilot)
        assert screen.grid.rows["cc"].to_list() == ["reno"]

    with_watch(connections, check)


@pytest.mark.slow
def test_the_detail_shows_every_field_and_closes(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(screen.screen, Detail)
        assert str(connections.port_of(0)) in str(screen.screen.query_one("#who", Static).render())
        assert screen.screen.row["bytes_acked"] > 0
        samples = screen.live.samples
        await wait_until(lambda: screen.live.samples > samples + 2, pilot)
        await pilot.press("escape")
        assert not isinstance(screen.screen, Detail)
        await pilot.press("question_mark")
        assert isinstance(screen.screen, Help)
        await pilot.press("escape")
        assert screen.grid.has_focus

    with_watch(connections, check)


@pytest.mark.slow
def test_a_sample_before_the_detail_is_drawn_waits_for_it(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        assert screen.table_shown is not None
        screen.action_detail()
        opened = screen.screen_stack[-1]
        assert isinstance(opened, Detail)
        assert not opened.is_mounted
        opened.show_sample(screen.table_shown)
        await pilot.pause()
        assert str(connections.port_of(0)) in str(opened.query_one("#who", Static).render())

    with_watch(connections, check)


@pytest.mark.slow
def test_pause_freezes_the_table_while_sampling_continues(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        before = screen.table_shown
        samples = screen.live.samples
        await wait_until(lambda: screen.live.samples > samples + 3, pilot)
        assert screen.table_shown is before
        assert "PAUSED" in str(screen.query_one("#totals", Static).render())
        await pilot.press("space")
        await wait_until(lambda: screen.table_shown is not before, pilot)

    with_watch(connections, check)


@pytest.mark.slow
def test_the_cursor_stays_with_its_connection_and_closed_ones_fade(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        chosen = screen.grid.chosen
        assert chosen == screen.grid.rows["cookie"][1]
        await pilot.press("r")
        assert screen.grid.chosen == chosen
        assert screen.grid.rows["cookie"][1] == chosen or screen.grid.rows["cookie"][0] == chosen
        # A reset closes the connection without TIME_WAIT.
        connections.clients[2].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        closed_port = connections.clients[2].getsockname()[1]
        connections.clients[2].close()
        is_closed = pl.col("local_port") == closed_port
        await wait_until(lambda: screen.grid.rows.filter(is_closed)["closed"].to_list() == [True], pilot)
        await wait_until(lambda: screen.grid.rows.filter(is_closed).is_empty(), pilot)

    with_watch(connections, check)


@pytest.mark.slow
def test_the_table_fits_any_terminal_size(connections: Connections) -> None:
    async def check(screen: Watch, pilot: Pilot[None]) -> None:
        for size in ((40, 8), (80, 24), (250, 60), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert {len(line) for line in on_screen(screen)} == {screen.grid.size.width}

    with_watch(connections, check)


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*DUMBBELL, "watch", *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_once_prints_one_table(connections: Connections) -> None:
    done = command("--once", "--every", "50ms", f"dport = :{connections.port}", "and", "cc", "reno")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split()[:3] == ["local", "peer", "cc"]
    assert row.split()[:3] == [f"127.0.0.1:{connections.port_of(0)}", f"127.0.0.1:{connections.port}", "reno"]


def test_json_has_every_number_of_a_sample_and_a_recording_is_a_run(connections: Connections, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = command("--once", "--json", "--every", "200ms", "--out", str(out), "dport", str(connections.port))
    assert done.returncode == 0, done.stderr
    sample = json.loads(done.stdout)
    assert [row["cc"] for row in sample["connections"]] == ["reno", "cubic", "cubic"]
    assert sample["connections"][0]["send_bps"] > 0
    for old, new in (("retransmits", "retrans_timer"), ("forward_bytes", "fwd_alloc_bytes")):
        assert sample["connections"][0][old] == sample["connections"][0][new] is not None
    assert {row["cc"]: row["connections"] for row in sample["totals"]} == {"reno": 1, "cubic": 2}
    run = load(out)
    assert sorted(flow.name for flow in run.manifest.flows) == ["cubic-1", "cubic-2", "reno"]
    assert len(run.flows) == 6
    first, last = run.flows.filter(pl.col("flow") == "reno")["bytes_acked"]
    assert last > first
    assert [flow["name"] for flow in summary(run)["flows"]]
    assert not list(out.glob(".*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--once", "dprt", "443"], "filter, at character 1: 'dprt' is not a filter key"),
        (["--once", "--every", "1"], "--every"),
        (["--once", "--every", "1us"], "at least 10ms"),
        (["--once", "--sort", "rat"], "'rat'; did you mean 'rate'?"),
        ([], "watch needs a terminal; add --once or --json"),
        (["--once", "--netns", "no-such-one"], "'no-such-one'"),
        (["--once", "--out", "/tmp"], "exists already"),
    ],
)
def test_invalid_arguments_are_errors(arguments: list[str], message: str) -> None:
    error = CliRunner().invoke(app, ["watch", *arguments]).exception
    assert isinstance(error, DumbbellError)
    assert error.exit_status == 2
    assert message in str(error)


@pytest.mark.slow
def test_q_ends_and_leaves_a_complete_recording(connections: Connections, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, _ = in_terminal(["--every", "50ms", "--out", str(out), f"dport {connections.port}"], out, b"q")
    assert status == 0
    assert len(load(out).flows) >= 3


@pytest.mark.slow
def test_a_killed_watch_leaves_no_agent_and_no_partial_result(connections: Connections, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, agents = in_terminal(
        ["--every", "50ms", "--out", str(out), f"dport {connections.port}"], out, signal.SIGKILL
    )
    assert status == -signal.SIGKILL
    assert not out.exists()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{agent}").exists() for agent in agents):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_terminal(arguments: list[str], out: Path, end: bytes | signal.Signals) -> tuple[int, list[int]]:
    """Runs the command in a pseudo-terminal until it records, then ends it; returns its status and its agents."""
    master, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [*DUMBBELL, "watch", *arguments], stdin=terminal, stdout=terminal, stderr=terminal, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    seen = bytearray()
    reader = threading.Thread(target=drain, args=(master, seen))
    reader.start()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        deadline = time.monotonic() + 90
        # A row with its controller shows that a sample has been read, recorded and printed.
        while not (out.with_name(f".{out.name}.running").exists() and SECOND in seen):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        agents = children.read_text().split()
        assert agents
        if isinstance(end, bytes):
            os.write(master, end)
        else:
            process.send_signal(end)
        return process.wait(60), [int(agent) for agent in agents]
    finally:
        process.kill()
        process.wait()
        os.close(master)
        reader.join()


def drain(terminal: int, seen: bytearray) -> None:
    try:
        while read := os.read(terminal, 65536):
            seen += read
    except OSError:
        return


@pytest.mark.kernel
def test_watch_in_a_guest_shows_bbr_s_state(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = "12s"\n[path]\nrtt = "40ms"\n[path.bottleneck]\nrate = "20mbit"\nqdisc = "pfifo limit 100"\n'
        '[[flows]]\ncc = "bbr"\n[[flows]]\ncc = "cubic"\nbytes = "10kB"\n'
    )
    watch = [*DUMBBELL, "watch", "--once", "cc", "bbr", "and", "rate", ">", "1mbit"]
    arguments = ["exec", str(file), "--host", "sender", "--start", "3s", "--out", str(tmp_path / "run"), "--", *watch]
    # Run in the checkout, so that the guest finds this Python.
    done = subprocess.run([*DUMBBELL, *arguments], capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert "bbrbw" in head
    assert "probe_" in row
