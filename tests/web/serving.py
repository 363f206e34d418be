"""Servers for tests: the workbench as a separate process with a client for it, and a file server."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2 as httpx

from conftest import COMMAND

TIMEOUT_S = 60.0
"""Time limit of a wait in a test, not a limit of the server."""


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    process: subprocess.Popen[str]

    @property
    def asks(self) -> httpx.Client:
        """Return a client of the server."""
        return httpx.Client(base_url=self.url, timeout=TIMEOUT_S)


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Served]:
    """Run `dumbbell ui` in this folder until the block ends."""
    process = subprocess.Popen(
        [COMMAND, "ui", "--port", "0", "--no-browser", *arguments], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield Served(found[0], process)
    finally:
        # SIGTERM first: the server then deletes its work folder.
        process.terminate()
        try:
            process.wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stderr is not None
        process.stderr.close()


@contextmanager
def event_stream(client: httpx.Client, job: str) -> Iterator[Iterator[str]]:
    """Yield the data of a job's events as they arrive."""
    with client.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield (line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: "))


class _Quiet(SimpleHTTPRequestHandler):
    """A file server without a log."""

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the server's address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
