"""The screenshots of docs/guides/watch.md: four senders behind a tbf qdisc, in their own network namespace.

As root: `unshare -n python bench/watch_screenshots.py FOLDER`; writes watch.png and watch-detail.png there.
"""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import vl_convert

from dumbbell.cli.watch_screen import Watch
from dumbbell.host.tcp_connections import Stream

CONTROLLERS = ("bbr", "cubic", "reno")
SAMPLES = 16
PORT = 5201


def traffic() -> None:
    """Child process: a sender for each controller, and one that sends little, until it is killed."""
    server = socket.create_server(("127.0.0.1", PORT))
    for number, cc in enumerate((*CONTROLLERS, "cubic")):
        client = socket.create_connection(("127.0.0.1", PORT))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        accepted = server.accept()[0]
        threading.Thread(target=read, args=(accepted,)).start()
        pause_s = 0.0 if number < len(CONTROLLERS) else 0.05
        threading.Thread(target=send, args=(client, 500 if pause_s else 65536, pause_s)).start()


def send(client: socket.socket, size: int, pause_s: float) -> None:
    while True:
        client.sendall(bytes(size))
        time.sleep(pause_s)


def read(accepted: socket.socket) -> None:
    while accepted.recv(1 << 16):
        pass


async def screenshots(folder: Path) -> None:
    """The list, then the details of the BBR connection."""
    with Stream(10**9) as stream:
        app = Watch(stream, f"dport {PORT}")
        async with app.run_test(size=(120, 40)) as pilot:
            while app.live.samples < SAMPLES:
                await asyncio.sleep(0.2)
            save(app, folder / "watch.png")
            while app.grid.chosen is not None and "bbr" not in app.grid.render_line(1 + app.grid.cursor).text:
                await pilot.press("down")
            await pilot.press("enter")
            await pilot.pause(1)
            save(app, folder / "watch-detail.png")
            stream.close()


def save(app: Watch, file: Path) -> None:
    """Save a PNG: an SVG would load its fonts from the Internet."""
    file.write_bytes(vl_convert.svg_to_png(app.export_screenshot()))


def main() -> None:
    # A packet of loopback's default MTU exceeds the bucket.
    for command in (
        "ip link set lo up mtu 1500",
        "tc qdisc add dev lo root tbf rate 100mbit burst 128k latency 20ms",
    ):
        subprocess.run(command.split(), check=True)
    child = os.fork()
    if child == 0:
        traffic()
    try:
        asyncio.run(screenshots(Path(sys.argv[1])))
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
