"""What `dumbbell watch` costs with many connections: CPU of the agent and of the screen, key to frame, memory.

Run it in a namespace of its own, as root: `unshare -n python bench/watch.py [CONNECTIONS] [SECONDS]`; figures and the
command are in `watch.md`. The connections are idle ones over loopback, and a few that send all the time.
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

from textual.pilot import Pilot

from dumbbell.analysis.live_sockets import Live
from dumbbell.cli.watching.screen import Watch
from dumbbell.host.stream import Frame, Stream
from dumbbell.host.tcp_connections import table

BUSY = 5
KEYS = ("down", "pagedown", "up", "pageup", "greater_than_sign", "r")
WARM_UP_SAMPLES = 4
TICKS = os.sysconf("SC_CLK_TCK")


def serve(connections: int) -> None:
    """Child: accepts, and reads what the first ones send, until it is killed."""
    held = []
    server = socket.create_server(("127.0.0.1", 5201), backlog=4096)
    for number in range(connections // 2):
        held.append(server.accept()[0])
        if number < BUSY:
            threading.Thread(target=drain, args=held[-1:], daemon=True).start()
    threading.Event().wait()


def connect(connections: int, ready: int) -> None:
    """Child: opens them, says so, and lets a few talk until it is killed; half of all files are here, half there."""
    held = []
    for number in range(connections // 2):
        held.append(patiently())
        if number < BUSY:
            threading.Thread(target=talk, args=held[-1:], daemon=True).start()
    os.write(ready, b"x")
    threading.Event().wait()


def patiently() -> socket.socket:
    """A connection; the server may not listen yet."""
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", 5201))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("nobody listens")


def talk(client: socket.socket) -> None:
    """A megabyte a second: what it costs to send isn't measured here."""
    with contextlib.suppress(OSError):  # The other child was killed first.
        while True:
            client.sendall(bytes(100_000))
            time.sleep(0.1)


def drain(accepted: socket.socket) -> None:
    """Read until the end."""
    while accepted.recv(1 << 20):
        pass


def spent_s(process: int) -> float:
    """CPU time of a process."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS


def resident_mb(process: int) -> float:
    """Memory of a process, in 10⁶ bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


async def use(seconds: float) -> None:
    """The screen, with keys pressed all the while."""
    with Stream(10**9) as stream:
        app = Watch(stream, sort="rate")
        async with app.run_test(size=(120, 40)) as pilot:
            while app.live.samples < WARM_UP_SAMPLES:
                await asyncio.sleep(0.1)
            ours, agent = os.getpid(), stream.process_id
            began, cpu, agents = time.monotonic(), spent_s(ours), spent_s(agent)
            idle_looks = app.live.samples
            await asyncio.sleep(seconds)
            passed = time.monotonic() - began
            print(f"connections             {len(app.grid.rows)}")
            print(f"looks in {passed:.1f} s          {app.live.samples - idle_looks}")
            print(f"agent, CPU of a core    {100 * (spent_s(agent) - agents) / passed:.1f} %")
            print(f"screen, CPU of a core   {100 * (spent_s(ours) - cpu) / passed:.1f} %")
            took = await pressed(app, pilot, seconds)
            for what, milliseconds in zip(("wall", "CPU"), zip(*took, strict=True), strict=True):
                p95 = statistics.quantiles(milliseconds, n=20)[-1]
                middle = statistics.median(milliseconds)
                print(f"key to frame, {what:4}      median {middle:.1f} ms, p95 {p95:.1f} ms ({len(took)} keys)")
            print(f"load of the machine     {os.getloadavg()[0]:.1f}")
            print(f"memory                  screen {resident_mb(ours):.0f} MB, agent {resident_mb(agent):.0f} MB")
            stream.close()


async def pressed(app: Watch, pilot: Pilot[None], seconds: float) -> list[tuple[float, float]]:
    """Milliseconds from a key to its drawn lines, by the wall's clock and the thread's, key after key."""
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


def pieces() -> None:
    """One look's parts, without the screen."""
    with Stream(10**9, 4) as stream:
        live, times = Live(), []
        for frame in stream:
            times.append(_one(live, frame))
    dump, decode, beside = (1000 * statistics.median(column) for column in zip(*times[1:], strict=True))
    print(
        f"one look                dump {dump:.0f} ms, decoding {decode:.0f} ms, beside the last {beside:.0f} ms of CPU"
    )


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
    heard, ready = os.pipe()
    children = []
    for serves in (True, False):
        if (child := os.fork()) == 0:
            if serves:
                serve(connections)
            connect(connections, ready)
        children.append(child)
    try:
        os.read(heard, 1)
        pieces()
        asyncio.run(use(seconds))
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
