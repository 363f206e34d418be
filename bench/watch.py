"""Measure `dumbbell watch` with many connections: CPU time of agent and screen, key-to-frame latency, memory.

Run it in its own network namespace, as root: `unshare -n python bench/watch.py [CONNECTIONS] [SECONDS]`; figures and
the command are in `watch.md`. The connections go over loopback; all are idle but a few, which send all the time.
"""

import asyncio
import contextlib
import os
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import DataTable

from dumbbell.analysis.filter import parse
from dumbbell.analysis.live_sockets import Live
from dumbbell.cli.watch_fields import fitting
from dumbbell.cli.watch_screen import Watch
from dumbbell.cli.watch_table import LISTED, chosen
from dumbbell.cli.watch_widgets import Grid
from dumbbell.host.tcp_connections import Frame, Stream, table

BUSY = 5
SIZE = (120, 40)
KEYS = ("down", "pagedown", "up", "pageup", "greater_than_sign", "r")
WARM_UP_SAMPLES = 4
TICKS = os.sysconf("SC_CLK_TCK")


def serve(connections: int) -> None:
    """Child process: accept connections and read from the busy ones, until it is killed."""
    connections_open = []
    server = socket.create_server(("127.0.0.1", 5201), backlog=4096)
    for number in range(connections // 2):
        connections_open.append(server.accept()[0])
        if number < BUSY:
            threading.Thread(target=drain, args=connections_open[-1:], daemon=True).start()
    threading.Event().wait()


def connect(connections: int, ready: int) -> None:
    """Child process: open the connections, write a byte to `ready`, and send on a few until it is killed.

    Each child process has half of the sockets, because the number of open files is limited.
    """
    connections_open = []
    for number in range(connections // 2):
        connections_open.append(connection())
        if number < BUSY:
            threading.Thread(target=send, args=connections_open[-1:], daemon=True).start()
    os.write(ready, b"x")
    threading.Event().wait()


def connection() -> socket.socket:
    """A connection; repeated while the server does not listen yet."""
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", 5201))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("the server does not listen")


def send(client: socket.socket) -> None:
    """Send a megabyte per second; this process's CPU time is not measured."""
    with contextlib.suppress(OSError):  # The other child was killed first.
        while True:
            client.sendall(bytes(100_000))
            time.sleep(0.1)


def drain(accepted: socket.socket) -> None:
    """Read until the connection closes."""
    while accepted.recv(1 << 20):
        pass


def spent_s(process: int) -> float:
    """CPU time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process: int) -> float:
    """Memory of a process, in 10⁶ bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


async def use(seconds: float) -> None:
    """Measure the screen: idle, then with keys pressed."""
    with Stream(10**9) as stream:
        app = Watch(stream, sort="rate")
        async with app.run_test(size=SIZE) as pilot:
            while app.live.samples < WARM_UP_SAMPLES:
                await asyncio.sleep(0.1)
            ours, agent = os.getpid(), stream.process_id
            began, cpu, agents = time.monotonic(), spent_s(ours), spent_s(agent)
            samples = app.live.samples
            await asyncio.sleep(seconds)
            passed = time.monotonic() - began
            print(f"connections             {len(app.grid.rows)}")
            print(f"samples in {passed:.1f} s        {app.live.samples - samples}")
            print(f"agent, CPU of a core    {100 * (spent_s(agent) - agents) / passed:.1f} %")
            print(f"screen, CPU of a core   {100 * (spent_s(ours) - cpu) / passed:.1f} %")
            took = await pressed(app, pilot, seconds)
            for clock, milliseconds in zip(("wall", "CPU"), zip(*took, strict=True), strict=True):
                p95 = statistics.quantiles(milliseconds, n=20)[-1]
                median = statistics.median(milliseconds)
                print(f"key to frame, {clock:4}      median {median:.1f} ms, p95 {p95:.1f} ms ({len(took)} keys)")
            print(f"load of the host        {os.getloadavg()[0]:.1f}")
            print(f"memory                  screen {resident_mb(ours):.0f} MB, agent {resident_mb(agent):.0f} MB")
            stream.close()


async def pressed(app: Watch, pilot: Pilot[None], seconds: float) -> list[tuple[float, float]]:
    """Milliseconds from each key to its drawn lines: wall time and the thread's CPU time."""
    took: list[tuple[float, float]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key in KEYS:
            began, cpu = time.perf_counter(), time.thread_time()
            await pilot.press(key)
            for y in range(app.grid.size.height):
                app.grid.render_line(y)
            took.append((1000 * (time.perf_counter() - began), 1000 * (time.thread_time() - cpu)))
            await asyncio.sleep(0.03)
    return took


def steps() -> Live:
    """Measure the steps of one sample, without the screen."""
    with Stream(10**9, 4) as stream:
        live, times = Live(), []
        for frame in stream:
            times.append(_one(live, frame))
    dump, decode, update = (1000 * statistics.median(column) for column in zip(*times[1:], strict=True))
    print(f"one sample              dump {dump:.0f} ms, decoding {decode:.0f} ms, update {update:.0f} ms of CPU time")
    return live


async def widgets(live: Live) -> None:
    """CPU time to show a sample in the list of `watch`, and in textual's DataTable with the same texts.

    DataTable is filled anew, and, which is the least that a sample needs, updated in its busy rows and sorted.
    """
    assert live.table is not None
    rows = chosen(live.table.select(LISTED), parse(""), "rate")
    columns = fitting(SIZE[0])
    grid, other = Grid(live), DataTable[str]()
    app = App[None]()
    async with app.run_test(size=SIZE) as pilot:
        await app.mount(grid, other)
        other.add_columns(*((column.title, column.name) for column, _ in columns))

        def refilled() -> None:
            other.clear()
            for row in rows.iter_rows(named=True):
                other.add_row(*(column.text(row, width) for column, width in columns), key=str(row["cookie"]))

        def updated() -> None:
            for row in rows.head(BUSY).iter_rows(named=True):
                for column, width in columns:
                    other.update_cell(str(row["cookie"]), column.name, column.text(row, width))
            other.sort("rate", key=str, reverse=True)

        for name, show in (
            ("our list", lambda: grid.show(rows, "rate")),
            ("DataTable, filled", refilled),
            ("DataTable, updated", updated),
        ):
            took = []
            for _ in range(3):
                began = time.thread_time()
                show()  # type: ignore[no-untyped-call]
                await pilot.pause()
                took.append(1000 * (time.thread_time() - began))
            print(f"{name:24}{statistics.median(took):.0f} ms of CPU time to show a sample of {len(rows)}")


def _one(live: Live, frame: Frame) -> tuple[float, float, float]:
    begun = time.process_time()
    rows = table(frame)
    decoded = time.process_time()
    live.add_table(rows, frame.monotonic_ns)
    return frame.took_ns / 1e9, decoded - begun, time.process_time() - decoded


def main() -> None:
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    reader, ready = os.pipe()
    children = []
    for serves in (True, False):
        if (child := os.fork()) == 0:
            if serves:
                serve(connections)
            connect(connections, ready)
        children.append(child)
    try:
        os.read(reader, 1)
        live = steps()
        asyncio.run(widgets(live))
        asyncio.run(use(seconds))
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
