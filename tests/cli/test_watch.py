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
from textual.pilot import Pilot
from textual.widgets import Input, Static

from dumbbell.analysis import summary
from dumbbell.cli.app import app
from dumbbell.cli.watching.detail import Detail
from dumbbell.cli.watching.screen import Help, Watch
from dumbbell.errors import DumbbellError
from dumbbell.host.stream import Stream
from dumbbell.results.result import load

DUMBBELL = [sys.executable, "-m", "dumbbell"]
ROOT = Path(__file__).parents[2]
EVERY_NS = 20_000_000
FIRST, SECOND = b"reno", b"cubic"


class Connections:
    """A listener of our own, and connections to it: one that talks all the time, two that are idle."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.clients = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(3)]
        self.accepted = [self.server.accept()[0] for _ in self.clients]
        for client, cc in zip(self.clients, (FIRST, SECOND, SECOND), strict=True):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
        self.ended = threading.Event()
        self.talk = threading.Thread(target=self._talk)
        self.talk.start()

    def _talk(self) -> None:
        while not self.ended.wait(0.005):
            self.clients[0].sendall(b"x" * 10_000)
            self.accepted[0].recv(10_000, socket.MSG_WAITALL)

    def port_of(self, number: int) -> int:
        return int(self.clients[number].getsockname()[1])

    def close(self) -> None:
        self.ended.set()
        self.talk.join()
        for each in (*self.clients, *self.accepted, self.server):
            each.close()


@pytest.fixture
def ours() -> Iterator[Connections]:
    connections = Connections()
    yield connections
    connections.close()


def watched(ours: Connections, use: Callable[[Watch, Pilot[None]], Awaitable[None]], filter_: str = "") -> None:
    """Uses the application over our connections' own side."""

    async def main() -> None:
        with Stream(EVERY_NS) as stream:
            screen = Watch(stream, f"dport {ours.port} {filter_}")
            async with screen.run_test(size=(120, 30)) as pilot:
                await until(lambda: screen.live.samples > 2 and len(screen.grid.rows) > 0, pilot)
                await use(screen, pilot)
                stream.close()

    asyncio.run(main())


async def until(true: Callable[[], bool], pilot: Pilot[None]) -> None:
    for _ in range(1500):
        if true():
            return
        await pilot.pause(0.02)
    raise AssertionError("it never came")


def on_screen(screen: Watch) -> list[str]:
    return [screen.grid.render_line(y).text for y in range(len(screen.grid.rows) + 1)]


def test_the_one_that_talks_stands_on_top_and_the_head_counts_all(ours: Connections) -> None:
    async def use(screen: Watch, _: Pilot[None]) -> None:
        head, *rows = on_screen(screen)
        assert "peer" in head
        assert [f"127.0.0.1:{ours.port_of(number)}" in rows[0] for number in range(3)] == [True, False, False]
        totals = str(screen.query_one("#totals", Static).render())
        assert "3 of" in totals
        assert "cubic 2" in totals
        assert "reno 1" in totals

    watched(ours, use)


def test_keys_sort_by_the_next_column_and_turn_it_round(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        screen.sort = "peer"
        await pilot.press("greater_than_sign")
        assert screen.sort == "cc"
        assert screen.grid.rows["cc"].to_list() == ["cubic", "cubic", "reno"]
        await pilot.press("r")
        assert screen.grid.rows["cc"].to_list() == ["reno", "cubic", "cubic"]
        await pilot.press("less_than_sign")
        assert (screen.sort, screen.reversed) == ("peer", False)

    watched(ours, use)


def test_a_filter_works_while_it_is_typed_and_escape_takes_it_back(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
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
        # What can't be read leaves the last filter that could.
        assert screen.grid.rows["cc"].to_list() == ["reno"]
        await pilot.press("enter")
        assert line.display
        await pilot.press("escape")
        assert not line.display
        assert len(screen.grid.rows) == 3
        assert screen.grid.has_focus

    watched(ours, use)


def test_a_filter_that_is_kept_stays(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        screen.query_one("#filter", Input).value = f"dport {ours.port} cc reno"
        await pilot.press("enter")
        await pilot.pause()
        assert screen.filter_text.endswith("cc reno")
        looks = screen.live.samples
        await until(lambda: screen.live.samples > looks + 1, pilot)
        assert screen.grid.rows["cc"].to_list() == ["reno"]

    watched(ours, use)


def test_the_detail_shows_every_field_and_closes(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(screen.screen, Detail)
        assert str(ours.port_of(0)) in str(screen.screen.query_one("#who", Static).render())
        assert screen.screen.row["bytes_acked"] > 0
        looks = screen.live.samples
        await until(lambda: screen.live.samples > looks + 2, pilot)
        await pilot.press("escape")
        assert not isinstance(screen.screen, Detail)
        await pilot.press("question_mark")
        assert isinstance(screen.screen, Help)
        await pilot.press("escape")
        assert screen.grid.has_focus

    watched(ours, use)


def test_a_sample_before_the_detail_is_drawn_waits_for_it(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        assert screen.table_shown is not None
        screen.action_detail()
        opened = screen.screen_stack[-1]
        assert isinstance(opened, Detail)
        assert not opened.is_mounted
        opened.show_sample(screen.table_shown)
        await pilot.pause()
        assert str(ours.port_of(0)) in str(opened.query_one("#who", Static).render())

    watched(ours, use)


def test_pause_stands_still_while_looks_go_on(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        before = screen.table_shown
        looks = screen.live.samples
        await until(lambda: screen.live.samples > looks + 3, pilot)
        assert screen.table_shown is before
        assert "PAUSED" in str(screen.query_one("#totals", Static).render())
        await pilot.press("space")
        await until(lambda: screen.table_shown is not before, pilot)

    watched(ours, use)


def test_the_cursor_stays_with_its_connection_and_closed_ones_fade(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        chosen = screen.grid.chosen
        assert chosen == screen.grid.rows["cookie"][1]
        await pilot.press("r")
        assert screen.grid.chosen == chosen
        assert screen.grid.rows["cookie"][1] == chosen or screen.grid.rows["cookie"][0] == chosen
        # An end with a reset is gone at once.
        ours.clients[2].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gone = ours.clients[2].getsockname()[1]
        ours.clients[2].close()
        mine = pl.col("local_port") == gone
        await until(lambda: screen.grid.rows.filter(mine)["closed"].to_list() == [True], pilot)
        await until(lambda: screen.grid.rows.filter(mine).is_empty(), pilot)

    watched(ours, use)


def test_every_size_of_a_screen_can_be_drawn(ours: Connections) -> None:
    async def use(screen: Watch, pilot: Pilot[None]) -> None:
        for size in ((40, 8), (80, 24), (250, 60), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert {len(line) for line in on_screen(screen)} == {screen.grid.size.width}

    watched(ours, use)


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*DUMBBELL, "watch", *words], capture_output=True, text=True, timeout=120, check=False)


def test_once_prints_one_table(ours: Connections) -> None:
    done = command("--once", "--every", "50ms", f"dport = :{ours.port}", "and", "cc", "reno")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split()[:3] == ["local", "peer", "cc"]
    assert row.split()[:3] == [f"127.0.0.1:{ours.port_of(0)}", f"127.0.0.1:{ours.port}", "reno"]


def test_json_tells_every_number_of_a_look_and_a_recording_is_an_ordinary_run(
    ours: Connections, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = command("--once", "--json", "--every", "200ms", "--record", str(out), "dport", str(ours.port))
    assert done.returncode == 0, done.stderr
    look = json.loads(done.stdout)
    assert [row["cc"] for row in look["connections"]] == ["reno", "cubic", "cubic"]
    assert look["connections"][0]["send_bps"] > 0
    assert {row["cc"]: row["connections"] for row in look["totals"]} == {"reno": 1, "cubic": 2}
    run = load(out)
    assert sorted(flow["name"] for flow in run.manifest["flows"]) == ["cubic-1", "cubic-2", "reno"]
    assert len(run.flows) == 6
    first, last = run.flows.filter(pl.col("flow") == "reno")["bytes_acked"]
    assert last > first
    assert [flow["name"] for flow in summary(run)["flows"]]
    assert not list(out.glob(".*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--once", "dprt", "443"], "filter, at character 1: 'dprt' is not a filter key"),
        (["--once", "--every", "1"], "--every"),
        (["--once", "--every", "1us"], "at least 10ms"),
        (["--once", "--sort", "rat"], "'rat'; did you mean 'rate'?"),
        ([], "watch needs a terminal; add --once or --json"),
        (["--once", "--netns", "no-such-one"], "'no-such-one'"),
        (["--once", "--record", "/tmp"], "exists already"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], said: str) -> None:
    error = CliRunner().invoke(app, ["watch", *words]).exception
    assert isinstance(error, DumbbellError)
    assert error.exit_status == 2
    assert said in str(error)


def test_q_in_a_terminal_ends_and_leaves_a_whole_recording(ours: Connections, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, _ = in_terminal(["--every", "50ms", "--record", str(out), f"dport {ours.port}"], out, b"q")
    assert status == 0
    assert len(load(out).flows) >= 3


def test_killed_it_leaves_no_agent_and_no_half_result(ours: Connections, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, agents = in_terminal(["--every", "50ms", "--record", str(out), f"dport {ours.port}"], out, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not out.exists()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{agent}").exists() for agent in agents):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_terminal(words: list[str], out: Path, end: bytes | signal.Signals) -> tuple[int, list[int]]:
    """Runs it in a terminal of its own until it records, then ends it; its status, and the agents that it had."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [*DUMBBELL, "watch", *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = bytearray()
    reader = threading.Thread(target=drain, args=(ours, seen))
    reader.start()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        deadline = time.monotonic() + 90
        # A row with its controller says that a sample has been read, recorded and shown.
        while not (out.with_name(f".{out.name}.running").exists() and SECOND in seen):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        agents = children.read_text().split()
        assert agents
        if isinstance(end, bytes):
            os.write(ours, end)
        else:
            process.send_signal(end)
        return process.wait(60), [int(agent) for agent in agents]
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        reader.join()


def drain(terminal: int, seen: bytearray) -> None:
    try:
        while read := os.read(terminal, 65536):
            seen += read
    except OSError:
        return


@pytest.mark.kernel
def test_inside_a_guest_it_shows_what_bbr_does(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = "12s"\n[path]\nrtt = "40ms"\n[path.bottleneck]\nrate = "20mbit"\nqdisc = "pfifo limit 100"\n'
        '[[flows]]\ncc = "bbr"\n[[flows]]\ncc = "cubic"\nbytes = "10kB"\n'
    )
    watch = [*DUMBBELL, "watch", "--once", "cc", "bbr", "and", "rate", ">", "1mbit"]
    words = ["exec", str(file), "--on", "sender", "--start", "3s", "--out", str(tmp_path / "run"), "--", *watch]
    # Typed here, so that the guest sees this Python wherever it lies.
    done = subprocess.run([*DUMBBELL, *words], capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert "bbrbw" in head
    assert "probe_" in row
